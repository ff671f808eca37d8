"""Places that are not what they seem: nothing outside of the root is read, nothing is waited for.

One sound session stands beside each of them, and is listed and prepared as if it were alone.
"""

import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hostile import cost, table
from support import logs, requests
from support.sidecar import PROGRAM, Sidecar

pytestmark = cost.needs_proc

SECRET = "kept outside of the root"
SOUND, HOSTILE, CWD = "sound", "hostile", "/work"

UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
"""Begins a program that is not root in so far as files of others are closed to it."""


def write(root: Path, session_id: str = HOSTILE, text: str = SECRET) -> Path:
    return logs.write_log(root, session_id, [logs.user(text)], cwd=CWD)


@pytest.fixture
def world(brief_path: Path) -> Path:
    """A folder with the root `sessions` in it, which has one sound session."""
    write(brief_path / "sessions", SOUND, "hello")
    return brief_path


class Told(NamedTuple):
    """What the program tells of a root."""

    listed: list[str]
    cause: str | None
    """Why the hostile session can't be read, None if it can."""
    previewed: str | None
    answers: str
    """All of it."""


def ask(row: table.Row, root: Path, *, command: list[str] | None = None) -> Told:
    """Ask in every way, within the bounds, and check the sound session on the way."""
    with (
        Sidecar("--log-level", "error", roots=[root], command=command) as sidecar,
        cost.watched(sidecar.process.pid) as watched,
    ):
        listed = sidecar.call("listCandidates", {"agent": requests.AGENT, "limit": 1000})
        prepared = sidecar.answer(sidecar.request("prepare", requests.prepare(HOSTILE)))
        both = [{"sessionId": SOUND}, {"sessionId": HOSTILE}]
        params = {"agent": requests.AGENT, "references": both}
        previewed = sidecar.call("preview", params)
        sound = sidecar.call("prepare", requests.prepare(SOUND))
        watched.lap().charge(row)
        assert sidecar.stderr == b""
    assert sound["additionalContext"]["source"]["references"][0]["originalMessages"] == 1
    first, second = previewed["sources"]
    assert first["status"] == "prepared"
    return Told(
        listed=sorted(each["sessionId"] for each in listed["candidates"]),
        cause=prepared["error"]["data"]["cause"] if "error" in prepared else None,
        previewed=second["error"]["data"]["cause"] if "error" in second else None,
        answers=str((listed, prepared, previewed)),
    )


def examined(row: table.Row, root: Path, home: Path) -> list[tuple[str, str | None]]:
    """What `doctor` finds: causes, and whose."""
    report, spent = cost.doctor(root, home)
    spent.charge(row)
    return [(each["cause"], each.get("sessionId")) for each in report["problems"]]


# Ids that try to leave the root

OUTSIDE = "../outside/--work--/hostile"

IDS = [
    *("", ".", "..", "/", "../..", OUTSIDE, f"--work--/../../{OUTSIDE}", "/etc/passwd"),
    *(
        "sound/../sound",
        "sound/",
        "./sound",
        "~002E~002E",
        "\0",
        "sound\0",
        "a\nb",
        "..\\..",
        "C:\\x",
    ),
    *("x" * 300, "😀" * 100, "\ud800", "../" * 10_000, "con", "nul", "SOUND", "sound "),
]


def test_an_id_leads_nowhere_but_to_its_own_folder(world: Path) -> None:
    write(world / "outside")
    (world / "sessions" / "--work--" / "..%2f..%2foutside").mkdir()
    with (
        Sidecar("--log-level", "error", roots=[world / "sessions"]) as sidecar,
        cost.watched(sidecar.process.pid) as watched,
    ):
        for session_id in IDS:
            error = sidecar.fails("prepare", requests.prepare(session_id))
            assert (error.code, error.data["cause"]) == (-32014, "not_found")
            assert error.data["sessionId"] == session_id
        watched.lap().charge(table.IDS)
        assert sidecar.stderr == b""


@pytest.mark.parametrize(
    ("session_id", "cwd"),
    [
        ("../../outside", "/work"),
        ("..", "/../../outside"),
        (HOSTILE, "/work/../outside"),
        (HOSTILE, "\0"),
        (HOSTILE, "/" * 300),
        (HOSTILE, ""),
        ("", "/work"),
    ],
)
def test_a_header_is_believed_only_in_the_place_that_it_names(
    world: Path, session_id: str, cwd: str
) -> None:
    root = world / "sessions"
    log = write(root)
    log.write_bytes(logs.encode(logs.header(session_id, cwd=cwd), [logs.user(SECRET)]))
    told = ask(table.HEADERS, root)
    assert (told.listed, told.cause, told.previewed) == ([SOUND], "corrupt", "corrupt")
    assert SECRET not in told.answers
    assert examined(table.HEADERS, root, world) == [("corrupt", HOSTILE)]


NAMES = [
    b"\xff\xfe",
    b"a\nb",
    b"\x1b[2J",
    b"x" * 255,
    "\u202etxt".encode(),
    b" ",
    b"~",
    b"-",
    b"%s",
]


def test_names_of_folders_are_only_names(world: Path) -> None:
    """Those that no id spells, or that are no text, in place of a project and of a session."""
    root = world / "sessions"
    outside = write(world / "outside")
    for name in NAMES:
        folder = os.path.join(os.fsencode(root), name, name)
        os.makedirs(folder)
        shutil.copy(outside, os.path.join(folder, os.fsencode(outside.name)))
    told = ask(table.NAMES, root)
    assert (told.listed, told.cause) == ([SOUND], "not_found")
    spelled = {"x" * 255, "-"}  # which an id could be
    assert set(examined(table.NAMES, root, world)) == {
        ("corrupt", each) for each in (*spelled, HOSTILE)
    }


# Links


def linked(world: Path, target: Path | str) -> Path:
    """The root, where the log of the hostile session is a link."""
    log = write(world / "sessions")
    log.unlink()
    log.symlink_to(target)
    return world / "sessions"


def test_a_link_is_followed_to_a_log_whose_header_names_the_place_of_the_link(world: Path) -> None:
    told = ask(table.LINKS_TO_LOGS, linked(world, write(world / "outside")))
    assert (told.listed, told.cause, told.previewed) == ([HOSTILE, SOUND], None, None)


def test_a_link_to_another_log_is_not_followed(world: Path) -> None:
    root = linked(world, write(world / "outside", "other"))
    told = ask(table.LINKS_TO_OTHERS, root)
    assert (told.listed, told.cause, told.previewed) == ([SOUND], "corrupt", "corrupt")
    assert SECRET not in told.answers
    assert examined(table.LINKS_TO_OTHERS, root, world) == [("corrupt", HOSTILE)]


def secret_file(world: Path) -> Path:
    path = world / "passwords"
    path.write_text(f"root:{SECRET}\n" * 100)
    return path


def pipe(world: Path) -> Path:
    os.mkfifo(world / "pipe")
    return world / "pipe"


LINKS: dict[str, tuple[Callable[[Path], Path | str], str]] = {
    "a file that is no log": (secret_file, "corrupt"),
    "itself": (lambda world: "session.jsonl.zstd", "io"),
    "nothing": (lambda world: world / "nowhere", "io"),
    "a folder": (lambda world: world, "io"),
    "a pipe": (pipe, "io"),
    "zeros without end": (lambda world: "/dev/zero", "io"),
    "a terminal": (lambda world: "/dev/tty", "io"),
    "standard input": (lambda world: "/dev/stdin", "io"),
    "its own memory": (lambda world: "/proc/self/mem", "corrupt"),
    "a file without a size": (lambda world: "/proc/self/environ", "corrupt"),
}


@pytest.mark.parametrize("name", LINKS)
def test_a_link_to_what_is_no_log_leads_nowhere(world: Path, name: str) -> None:
    target, cause = LINKS[name]
    told = ask(table.LINKS_TO_NONE, linked(world, target(world)))
    assert told.listed == [SOUND]
    assert (told.cause, told.previewed) == (cause, cause)
    assert SECRET not in told.answers


@pytest.mark.parametrize("depth", ["project", "session"])
def test_links_to_folders_are_no_folders(world: Path, depth: str) -> None:
    root, outside = world / "sessions", write(world / "outside").parent
    if depth == "project":
        (root / "--linked--").symlink_to(outside.parent)
        (root / "--round--").symlink_to(root)
    else:
        (root / "--work--" / HOSTILE).symlink_to(outside)
        (root / "--work--" / "round").symlink_to(root)
    told = ask(table.LINKS_TO_FOLDERS, root)
    assert (told.listed, told.cause, told.previewed) == ([SOUND], "not_found", "not_found")
    assert SECRET not in told.answers


# What is no file, and files of others


def folder(path: Path) -> None:
    path.mkdir()


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listener(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # zeros without end


def disk(path: Path) -> None:
    os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(60, 0))  # which no driver has


def open_and_close(path: Path) -> None:
    """Raises `PermissionError` where the file system has no devices, whoever asks."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except PermissionError:
        raise
    except OSError:
        return  # a socket, or a device without a driver


@pytest.mark.parametrize("put", [folder, fifo, listener, device, disk])
@pytest.mark.parametrize("zstd", [False, True])
def test_only_regular_files_are_read_and_nothing_is_waited_for(
    world: Path, put: Callable[[Path], None], zstd: bool
) -> None:
    root = world / "sessions"
    place = write(root).parent
    for each in place.iterdir():
        each.unlink()
    try:
        put(place / logs.log_name(zstd=zstd))
        open_and_close(place / logs.log_name(zstd=zstd))
    except PermissionError:
        pytest.skip("devices can't be made or opened here: needs root, or another file system")
    told = ask(table.NO_FILES, root)
    assert (told.listed, told.cause, told.previewed) == ([SOUND], "io", "io")
    assert examined(table.NO_FILES, root, world) == [("io", HOSTILE)]


def close(path: Path) -> None:
    """Make a file or folder that of somebody else, or at least one that we may not look at."""
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        path.chmod(0o700 if path.is_dir() else 0o600)
    else:
        path.chmod(0)


@pytest.fixture(scope="module")
def unprivileged() -> list[str]:
    """The program, as somebody to whom files of others are closed."""
    if os.geteuid() != 0:
        return [str(PROGRAM)]
    if shutil.which("setpriv") is None:
        pytest.skip("root may look at everything, and there is no setpriv to be less than root")
    if subprocess.run([*UNPRIVILEGED, "true"], capture_output=True, check=False).returncode:
        pytest.skip("root may look at everything, and may not be less than root here")
    return [*UNPRIVILEGED, str(PROGRAM)]


@pytest.mark.parametrize("what", ["log", "session", "project"])
def test_what_others_do_not_show_is_denied(world: Path, what: str, unprivileged: list[str]) -> None:
    root = world / "sessions"
    log = logs.write_log(root, HOSTILE, [logs.user(SECRET)], cwd="/other")
    closed = {"log": log, "session": log.parent, "project": log.parent.parent}[what]
    try:
        close(closed)
        told = ask(table.OF_OTHERS, root, command=unprivileged)
        assert (told.listed, told.cause, told.previewed) == ([SOUND], "denied", "denied")
        assert SECRET not in told.answers
    finally:
        closed.chmod(0o700)
