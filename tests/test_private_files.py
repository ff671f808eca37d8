"""Files of our own: for their owner only, and never what somebody else has put in their place."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sessionref.ownfile import open_own
from sessionref.sessions.cachefolder import private_file
from support import logs, requests, shell
from support.editor import Editor
from support.sidecar import Sidecar

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")

NOBODY = 65_534
INDEX = "index.sqlite3"

GiveAway = Callable[[Path], None]


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> GiveAway:
    """Makes a file somebody else's; who may not do that becomes somebody else."""

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        else:
            somebody = os.geteuid() + 1
            monkeypatch.setattr(os, "geteuid", lambda: somebody)

    return give


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def reason(path: Path) -> tuple[int | None, str | None]:
    """Why a file is not opened as ours, for the log or for the index."""
    with pytest.raises(OSError, match=r".") as refused:
        os.close(open_own(str(path), os.O_WRONLY | os.O_APPEND))
    with pytest.raises(OSError, match=r"."):
        private_file(str(path.parent), path.name)
    return refused.value.errno, refused.value.strerror


# Whose it is


def test_a_file_is_made_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        os.close(open_own(str(tmp_path / "file"), os.O_WRONLY))
        private_file(str(tmp_path / "parent" / "cache"), INDEX)
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o600
    assert mode(tmp_path / "parent" / "cache" / INDEX) == 0o600
    assert mode(tmp_path / "parent" / "cache") == 0o700
    assert mode(tmp_path / "parent") == 0o700


@pytest.mark.parametrize("open_to", [0o644, 0o666, 0o660])
def test_what_was_open_to_others_is_closed(tmp_path: Path, open_to: int) -> None:
    file = tmp_path / "file"
    file.write_text("before ")
    file.chmod(open_to)
    descriptor = open_own(str(file), os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, b"after")
    os.close(descriptor)
    assert (mode(file), file.read_text()) == (0o600, "before after")


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, give_away: GiveAway) -> None:
    file = tmp_path / "file"
    file.write_text("theirs")
    file.chmod(0o666)
    give_away(file)
    assert reason(file) == (errno.EPERM, "it belongs to somebody else")
    assert (mode(file), file.read_text()) == (0o666, "theirs")


def test_a_cache_folder_of_somebody_else_is_left_alone(tmp_path: Path, give_away: GiveAway) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    give_away(folder)
    with pytest.raises(PermissionError, match="it belongs to somebody else"):
        private_file(str(folder), INDEX)
    assert (mode(folder), list(folder.iterdir())) == (0o777, [])


@pytest.mark.parametrize("place", ["in its place", "in the way", "further up"])
def test_a_link_of_somebody_else_is_never_followed(
    tmp_path: Path, give_away: GiveAway, place: str
) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    (victim / "further").mkdir(parents=True)
    (victim / "file").write_text("precious")
    (victim / "further" / "file").write_text("precious")
    link.symlink_to(victim / "file" if place == "in its place" else victim)
    give_away(link)
    path = {
        "in its place": link,
        "in the way": link / "file",
        "further up": link / "further" / "file",
    }[place]
    assert reason(path)[0] == errno.ELOOP
    assert {each.read_text() for each in victim.rglob("file")} == {"precious"}
    assert mode(victim) != 0o700


def test_a_link_of_the_user_s_own_may_lead_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    private_file(str(tmp_path / "link" / "cache"), INDEX)
    os.close(open_own(str(tmp_path / "link" / "log"), os.O_WRONLY))
    assert sorted(each.name for each in (tmp_path / "disk").iterdir()) == ["cache", "log"]


def test_a_file_with_another_name_is_left_alone(tmp_path: Path) -> None:
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.write_text("precious")
    precious.chmod(0o644)
    os.link(precious, link)
    assert reason(link) == (errno.EMLINK, "it has another name elsewhere")
    assert (mode(precious), precious.read_text()) == (0o644, "precious")


@pytest.mark.parametrize("companion", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder"])
def test_nothing_is_put_beside_the_index(tmp_path: Path, companion: str, kind: str) -> None:
    folder, precious = tmp_path / "cache", tmp_path / "precious"
    folder.mkdir()
    precious.write_text("precious")
    beside = folder / (INDEX + companion)
    match kind:
        case "link":
            beside.symlink_to(precious)
        case "hard link":
            os.link(precious, beside)
        case "pipe":
            os.mkfifo(beside)
        case "folder":
            beside.mkdir()
    with pytest.raises(OSError, match=r"it is no regular file|it has another name"):
        private_file(str(folder), INDEX)
    assert precious.read_text() == "precious"
    assert [each.name for each in folder.iterdir()] == [beside.name]


# The installed program


def status_of_a_log_file(home: Path, log: Path) -> subprocess.CompletedProcess[bytes]:
    return shell.run("--root", home, "--log-file", log, home=home)


def test_a_pipe_that_nobody_reads_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    done = status_of_a_log_file(tmp_path, tmp_path / "log")
    assert done.returncode == 2
    assert b"sessionref: --log-file: " in done.stderr


@pytest.mark.parametrize("kind", ["link", "hard link", "folder"])
def test_a_log_goes_to_no_place_that_leads_elsewhere(tmp_path: Path, kind: str) -> None:
    precious, log = tmp_path / "precious", tmp_path / "log"
    precious.write_text("precious")
    if kind == "link":
        log.symlink_to(precious)
    elif kind == "hard link":
        os.link(precious, log)
    else:
        log.mkdir()
    assert status_of_a_log_file(tmp_path, log).returncode == 2
    assert precious.read_text() == "precious"


def test_a_device_is_taken_as_it_is(tmp_path: Path) -> None:
    before = mode(Path(os.devnull))
    assert status_of_a_log_file(tmp_path, Path(os.devnull)).returncode == 0
    assert mode(Path(os.devnull)) == before


def test_a_folder_for_everybody_may_hold_a_log_but_is_no_cache(tmp_path: Path) -> None:
    shared, root = tmp_path / "tmp", tmp_path / "root"
    shared.mkdir()
    shared.chmod(0o1777)
    logs.write_log(root, "a", [logs.user("q")])
    log = shared / "log.txt"
    with Sidecar("--log-file", str(log), roots=[root], cache=shared) as sidecar:
        assert sidecar.call("listCandidates", {"agent": requests.AGENT})["total"] == 1
        assert sidecar.call("status")["index"]["state"] == "memory"
    assert [each.name for each in shared.iterdir()] == ["log.txt"]
    assert (mode(log), mode(shared)) == (0o600, 0o1777)
    assert "its folder is everybody's" in log.read_text()


@pytest.mark.parametrize("kind", ["pipe", "hard link", "device"])
def test_what_lies_in_the_index_s_place_changes_no_answer(tmp_path: Path, kind: str) -> None:
    root, cache, precious = tmp_path / "root", tmp_path / "cache", tmp_path / "precious"
    logs.write_log(root, "a", [logs.user("q")])
    precious.write_text("precious")
    cache.mkdir()
    if kind == "pipe":
        os.mkfifo(cache / INDEX)
    elif kind == "hard link":
        os.link(precious, cache / INDEX)
    else:
        try:
            os.mknod(cache / INDEX, stat.S_IFCHR | 0o600, os.makedev(1, 7))
        except PermissionError:
            pytest.skip("only the system's user may make devices")
    with Sidecar(roots=[root], cache=cache) as sidecar:
        assert sidecar.call("listCandidates", {"agent": requests.AGENT})["total"] == 1
        assert sidecar.call("status")["index"]["state"] == "memory"
    assert precious.read_text() == "precious"


def test_a_preview_for_an_editor_is_for_its_user_only(tmp_path: Path) -> None:
    root, temporary = tmp_path / "root", tmp_path / "tmp"
    logs.write_log(root, "a", [logs.user("q")])
    temporary.mkdir()
    with Editor(root, env={"TMPDIR": str(temporary)}) as editor:
        editor.open("")
        request = {"command": "sessionref.preview", "arguments": ["a"]}
        asked_for = editor.request("workspace/executeCommand", request)
        asked = editor.asked("window/showDocument")
        editor.respond(asked["id"], {"success": True})
        editor.settle(asked_for)
        (folder,) = temporary.iterdir()
        (file,) = folder.iterdir()
        assert (mode(folder), mode(file)) == (0o700, 0o600)
    assert list(temporary.iterdir()) == []
