"""What happens to the sessions themselves while they are read: roots that go, logs that change."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from faults.matrix import (
    LOG_APPENDED,
    LOG_DELETED,
    LOG_FORBIDDEN,
    LOG_MOVED_ON,
    LOG_REPLACED,
    LOG_REWRITTEN,
    LOG_TRUNCATED,
    ROOT_REMOVED,
    ROOT_UNREADABLE,
    Fault,
    shows,
)
from faults.world import OBEYING_MODES, World, wait_until_stopped
from support import logs, requests
from support.answers import everything
from support.live import snapshot
from support.requests import AGENT
from support.sidecar import PROGRAM, TIMEOUT, FramingName, Sidecar, WireError

AS_MODES_SAY = [sys.executable, "-c", OBEYING_MODES, str(PROGRAM)]


def failure(peer: Sidecar, session_id: str) -> str:
    error = peer.fails("prepare", requests.prepare(session_id))
    assert (error.code, error.data["code"]) == (-32014, "SESSION_REFERENCE_READ_FAILED")
    cause: str = error.data["cause"]
    return cause


def listed(peer: Sidecar, query: str = "") -> list[str]:
    """The ids of the candidates, of which none is missing."""
    result = peer.call("listCandidates", {"agent": AGENT, "query": query})
    assert result["isIncomplete"] is False
    return [each["sessionId"] for each in result["candidates"]]


@shows(ROOT_REMOVED)
def test_a_root_is_removed_and_put_back(world: World, framing: FramingName) -> None:
    with world.start(framing) as peer:
        before = everything(peer)
        for _ in range(2):
            world.root.rename(world.base / "elsewhere")
            assert listed(peer) == listed(peer, "title") == []
            assert failure(peer, "alpha") == "not_found"
            assert peer.call("status")["roots"][0]["problem"] == "there is no such folder"
            (world.base / "elsewhere").rename(world.root)
            assert everything(peer) == before
        world.stays(ROOT_REMOVED, peer)


@shows(ROOT_UNREADABLE)
@pytest.mark.parametrize("what", ["root", "project", "folder", "log"])
def test_a_root_is_made_unreadable_and_restored(
    world: World, framing: FramingName, what: str
) -> None:
    """All of it, or a part."""
    log = world.log_of("alpha")
    barred = {"root": world.root, "project": log.parents[1], "folder": log.parent, "log": log}[what]
    mode = barred.stat().st_mode
    with world.start(framing, command=AS_MODES_SAY) as peer:
        before = everything(peer)
        barred.chmod(0)
        try:
            hidden = {"alpha"} if what in ("folder", "log") else {"alpha", "beta", "gamma"}
            assert set(listed(peer)) == {"alpha", "beta", "gamma"} - hidden
            assert failure(peer, "alpha") == "denied"
            root = peer.call("status")["roots"][0]
            assert ("problem" in root) == (what == "root")
        finally:
            barred.chmod(mode)
        assert everything(peer) == before
        world.stays(ROOT_UNREADABLE, peer)


# A log changes while it is read: it is open, and the process does not move, when the change is made

COUNT = 30_000
"""Messages: reading them takes long enough to be caught at it."""

TRIES = 5
OLD, NEW = "a" * 60, "b" * 60

Seen = tuple[str, int, int | None] | str
"""The letter of all messages, their number and the last seq; or why there are none."""


def seen(peer: Sidecar, request_id: object) -> Seen:
    """What an answer to `prepare` is made of."""
    try:
        quoted = snapshot(peer.settle(request_id, timeout=60))
    except WireError as error:
        return str(error.data["cause"])
    (letter,) = {character for text in quoted.texts for character in text}
    return letter, quoted.reference["originalMessages"], quoted.through


def append(log: Path) -> None:
    row = logs.line({"seq": COUNT, "time": 1, **logs.user(OLD)})
    with log.open("ab") as file:
        file.write(logs.frame([row]) if log.suffix == ".zstd" else row)


def truncate(log: Path) -> None:
    os.truncate(log, log.stat().st_size // 2)


def other_log(log: Path, count: int = 1000, version: int = 0) -> bytes:
    head = logs.header(log.parent.name, cwd="/w", version=version)
    rows = [logs.user(NEW)] * count
    return logs.encode(head, rows, zstd=log.suffix == ".zstd", batch=500)


def replace(log: Path) -> None:
    other = log.with_name("session.jsonl.0123456789ab.tmp")
    other.write_bytes(other_log(log))
    other.replace(log)


def rewrite_shorter(log: Path) -> None:
    log.write_bytes(other_log(log))


def rewrite_longer(log: Path) -> None:
    logs.write_long_log(
        log.parents[2], log.parent.name, COUNT + 1, NEW, cwd="/w", zstd=is_zstd(log)
    )


def rewrite_as_long(log: Path) -> None:
    """The same size in bytes, also in the same time, as far as the file tells."""
    before = log.stat()
    logs.write_long_log(log.parents[2], log.parent.name, COUNT, NEW, cwd="/w", zstd=is_zstd(log))
    assert log.stat().st_size == before.st_size or is_zstd(log)


def is_zstd(log: Path) -> bool:
    return log.suffix == ".zstd"


def move_on(log: Path) -> None:
    name = logs.log_name(zstd=is_zstd(log), version=4)
    temporary = log.with_name("session.migration.0123456789abcdef.jsonl.tmp")
    temporary.write_bytes(other_log(log, version=4))
    temporary.rename(log.with_name(name))


def delete(log: Path) -> None:
    log.unlink()


def forbid(log: Path) -> None:
    log.chmod(0)


class Change(NamedTuple):
    """Something that becomes of a log, and whether who reads it just then is told the new state."""

    fault: Fault
    make: Callable[[Path], None]
    is_new: bool


CHANGES = [
    Change(LOG_APPENDED, append, is_new=False),
    Change(LOG_TRUNCATED, truncate, is_new=True),
    Change(LOG_REPLACED, replace, is_new=True),
    Change(LOG_REWRITTEN, rewrite_shorter, is_new=True),
    Change(LOG_REWRITTEN, rewrite_longer, is_new=True),
    Change(LOG_REWRITTEN, rewrite_as_long, is_new=True),
    Change(LOG_MOVED_ON, move_on, is_new=False),
    Change(LOG_DELETED, delete, is_new=False),
    Change(LOG_FORBIDDEN, forbid, is_new=False),
]


@shows(*(change.fault for change in CHANGES))
@pytest.mark.changes_root
@pytest.mark.parametrize("zstd", [True, False], ids=["zstd", "plain"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.make.__name__)
def test_a_log_changes_while_it_is_read(world: World, change: Change, zstd: bool) -> None:
    names = [f"long-{number}" for number in range(TRIES)]
    before: Seen = "a", COUNT, COUNT - 1
    with world.start(command=AS_MODES_SAY) as peer:
        for name in names:
            log = logs.write_long_log(world.root, name, COUNT, OLD, cwd="/w", zstd=zstd)
            request_id = peer.request("prepare", requests.prepare(name))
            if stop_while_open(peer, log, request_id):
                change.make(log)
                peer.signal(signal.SIGCONT)
                break
            peer.signal(signal.SIGCONT)
            assert seen(peer, request_id) == before
        else:
            pytest.fail("it could not be caught while it read")
        told = seen(peer, request_id)
        with world.start(command=AS_MODES_SAY) as fresh:
            after = seen(fresh, fresh.request("prepare", requests.prepare(name)))
        assert after != before
        assert told == (after if change.is_new else before)
        assert seen(peer, peer.request("prepare", requests.prepare(name))) == after
        assert open_files(peer, world.root) == []
        world.stays(change.fault, peer)


def is_answered(peer: Sidecar, request_id: object) -> bool:
    return any(message["id"] == request_id for message in peer.unclaimed())


def open_files(peer: Sidecar, folder: Path) -> list[str]:
    """The files in a folder that the process has open."""
    return [path for path in descriptors(peer) if path.startswith(f"{folder}/")]


def descriptors(peer: Sidecar) -> list[str]:
    found = []
    for descriptor in Path(f"/proc/{peer.process.pid}/fd").iterdir():
        try:
            found.append(str(descriptor.readlink()))
        except FileNotFoundError:  # closed right now
            continue
    return found


def stop_while_open(peer: Sidecar, log: Path, request_id: object) -> bool:
    """Suspend the process as soon as it has a file open; whether it has it open then.

    It has not, if we were so late that the request is answered.
    """
    deadline = time.monotonic() + TIMEOUT
    while str(log) not in descriptors(peer) and not is_answered(peer, request_id):
        assert time.monotonic() < deadline
    peer.signal(signal.SIGSTOP)
    wait_until_stopped(peer)
    return str(log) in descriptors(peer)
