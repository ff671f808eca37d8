"""What other systems do differently, as far as this one can play them.

A system that lacks something is played by taking that away from the spawned program. What can't be
played here (the binary mode of pipes, the names that Windows reserves) is not tested.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessionref.sessions import workspace
from sessionref.sessions.paths import decode_segment, encode_segment, project_key
from support import logs, requests
from support.sidecar import Sidecar

PLAYED = """
import asyncio, os, select, socket, sys
def lacks(*_):
    raise NotImplementedError
for name in ("add_reader", "remove_reader", "add_signal_handler"):
    setattr(asyncio.SelectorEventLoop, name, lacks)
for owner, name in ((os, "pidfd_open"), (select, "poll"), (socket, "MSG_DONTWAIT"),
                    (os, "O_NOFOLLOW"), (os, "O_CLOEXEC"), (os, "O_NONBLOCK"), (os, "pread"),
                    (os, "sched_getaffinity")):
    if hasattr(owner, name):
        delattr(owner, name)
sys.platform = PLATFORM
from sessionref.__main__ import main
sys.exit(main())
"""


def playing(platform: str) -> list[str]:
    return [sys.executable, "-c", PLAYED.replace("PLATFORM", repr(platform))]


@pytest.fixture(params=["darwin", "freebsd"])
def sidecar(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sidecar]:
    """A sidecar that can watch neither its pipes nor its parent, nor hear signals on its loop."""
    logs.write_log(tmp_path / "root", "a", [logs.user("q"), logs.title("T")], cwd="/w")
    root = tmp_path / "root"
    with Sidecar(roots=[root], command=playing(request.param)) as spawned:
        yield spawned


def test_a_system_that_watches_no_pipes_is_served(sidecar: Sidecar) -> None:
    assert sidecar.call("listCandidates", {"agent": requests.AGENT})["total"] == 1
    assert "additionalContext" in sidecar.call("prepare", requests.prepare("a"))
    text = "x" * 1_000_000  # more than a pipe holds
    assert sidecar.call("parseText", {"text": text})["text"] == text
    sidecar.close_stdin()
    assert sidecar.wait() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_it_there_too(sidecar: Sidecar, number: signal.Signals, code: int) -> None:
    sidecar.call("status")
    sidecar.signal(number)
    assert sidecar.wait() == code


# Names


@pytest.mark.parametrize(
    ("cwd", "key"),
    [
        ("C:\\Users\\a b", "--C-Users-a~0020b--"),
        ("c:/Users/a", "--c-Users-a--"),
        ("C:\\", "--C---"),
        ("C:", "--C---"),
        ("\\\\server\\share\\x", "--server-share-x--"),
        ("\\\\?\\C:\\x", "--~003F-C-x--"),
        ("/Users/é", "--Users-~00E9--"),
        ("/Users/e\u0301", "--Users-e~0301--"),
        ("/", "--root--"),
    ],
)
def test_folders_of_other_systems_have_the_same_names_everywhere(cwd: str, key: str) -> None:
    assert project_key(cwd) == key == logs.project_folder(cwd)


@pytest.mark.parametrize("id_", ["con", "NUL", "aux.txt", "a.", "a b", "a:b", "x\\y", "*?<>|", "é"])
def test_no_name_holds_what_a_file_system_forbids(id_: str) -> None:
    name = encode_segment(id_)
    assert decode_segment(name) == id_
    assert not set(name) & set('<>:"/\\|?* ')
    assert name.isascii()  # so no file system composes or decomposes its characters


def test_ids_that_differ_in_case_are_two_sessions(tmp_path: Path) -> None:
    """Where a file system takes their folders for one, the header says whose the log is."""
    logs.write_log(tmp_path, "TIE", [logs.user("large")])
    folder = tmp_path / logs.project_folder(None)
    (folder / "tie").symlink_to(folder / "TIE")  # what such a file system shows
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert "additionalContext" in sidecar.call("prepare", requests.prepare("TIE"))
        error = sidecar.fails("prepare", requests.prepare("tie"))
        assert error.data["cause"] in {"not_found", "corrupt"}
        assert sidecar.call("listCandidates", {"agent": requests.AGENT})["total"] == 1


def test_workspaces_on_a_system_that_folds_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def same(one: Path, other: Path) -> bool:
        known = workspace.Workspaces()
        return known.identity(str(one), {}) == known.identity(str(other), {})

    one, other = tmp_path / "Gone" / "Straße", tmp_path / "gone" / "STRASSE"
    assert not same(one, other)
    monkeypatch.setattr(os.path, "samefile", lambda *_: True)
    assert same(one, other)
    assert not same(one, tmp_path / "elsewhere")
