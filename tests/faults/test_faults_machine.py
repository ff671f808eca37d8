"""What happens to the machine below the process: its clock, its descriptors, its cache disk."""

import contextlib
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from faults.matrix import (
    CACHE_FULL,
    CACHE_REMOVED,
    CLOCK_SET,
    NO_DESCRIPTORS,
    NO_DESCRIPTORS_AT_START,
    shows,
)
from faults.world import INDEX, World, opening
from support import logs, requests
from support.answers import Answers, everything
from support.requests import AGENT
from support.sidecar import PROGRAM, TIMEOUT, FramingName, Sidecar, frame

DAY = 86_400


def expected(world: World) -> Answers:
    """What an unharmed process answers."""
    with Sidecar("--no-index", roots=[world.root]) as sidecar:
        return everything(sidecar)


def append(world: World, number: int) -> None:
    """A turn, and a new title."""
    path = world.log_of("alpha")
    rows = [logs.user(f"more {number}"), logs.title(f"Title {number}")]
    seq = 2 * number
    lines = [logs.line({"seq": seq + at, "time": 1, **row}) for at, row in enumerate(rows)]
    with path.open("ab") as log:
        log.write(logs.frame(lines))


CLOCK = """
import sys, time
path, *sys.argv = sys.argv[1:]
real = time.time_ns
def seconds():
    with open(path) as told:
        return int(told.read())
time.time_ns = lambda: real() + seconds() * 10**9
time.time = lambda: time.time_ns() / 1e9
from sessionref.__main__ import main
sys.exit(main())
"""
"""The program with a wall clock of its own, which goes wrong by as many seconds as a file says."""


@shows(CLOCK_SET)
@pytest.mark.changes_root
@pytest.mark.parametrize("jumps", [(-DAY, 0), (DAY, 0), (-1, -2), (3 * DAY, -DAY)])
def test_the_clock_is_set(world: World, jumps: tuple[int, ...]) -> None:
    """A title that is written after that is seen, also by processes that come later."""
    clock = world.base / "clock"
    clock.write_text("0")
    command = [sys.executable, "-c", CLOCK, str(clock), str(PROGRAM)]
    with world.start(command=command) as peer:
        assert everything(peer) == expected(world)
        for number, seconds in enumerate(jumps, 1):
            clock.write_text(str(seconds))
            append(world, number)
            params = requests.prepare("alpha", deadlineMs=60_000)
            assert "additionalContext" in peer.call("prepare", params)
            after = everything(peer)
            assert after == expected(world)
            assert after["title"]["candidates"][-1]["label"] == f"Title {number}"
            assert peer.call("status")["index"]["pending"] == 0
            with world.start() as later:
                assert everything(later) == after
        world.stays(CLOCK_SET, peer)


def limit_descriptors(peer: Sidecar, count: int) -> None:
    _, hard = resource.prlimit(peer.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(peer.process.pid, resource.RLIMIT_NOFILE, (count, hard))


def descriptors(peer: Sidecar) -> int:
    return len(os.listdir(f"/proc/{peer.process.pid}/fd"))


@shows(NO_DESCRIPTORS)
@pytest.mark.parametrize("known", [False, True], ids=["cold", "warm"])
def test_out_of_descriptors(world: World, framing: FramingName, known: bool) -> None:
    with world.start(framing) as peer:
        before = everything(peer) if known else None
        peer.call("parseText", {"text": ""})  # by now it runs
        open_before = descriptors(peer)
        limit_descriptors(peer, 3)
        for query in ("", "title"):
            listed = peer.call("listCandidates", {"agent": AGENT, "query": query})
            assert listed == {"candidates": [], "isIncomplete": True, "total": 0}
        for method, params in (
            ("prepare", requests.prepare("alpha")),
            ("readSnapshot", {"agent": AGENT, "sessionId": "beta"}),
        ):
            error = peer.fails(method, params)
            assert (error.code, error.data["cause"]) == (-32014, "io")
            assert error.data["retryable"] is True
        step = requests.pre_step(
            requests.person("@[A](dsh-session:ImFscGhhIg)"), policy="never-block"
        )
        result = peer.call("preStep", step)
        assert result["decision"] == step["decision"]
        assert [outcome["status"] for outcome in result["outcomes"]] == ["failed"]
        assert peer.call("status")["roots"][0]["problem"] == "Too many open files"
        limit_descriptors(peer, 1024)
        after = everything(peer)
        assert after == expected(world)
        assert before in (None, after)
        if known:
            assert descriptors(peer) == open_before
        world.stays(NO_DESCRIPTORS, peer)


LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


@shows(NO_DESCRIPTORS_AT_START)
@pytest.mark.parametrize("count", [4, 7, 8, 10, 13, 17])
def test_out_of_descriptors_from_the_start(world: World, framing: FramingName, count: int) -> None:
    """It ends, whatever it can answer; what it answers is true."""
    asked = (
        {"id": "list", "method": "listCandidates", "params": {"agent": AGENT, "query": ""}},
        {"id": "read", "method": "prepare", "params": requests.prepare("alpha")},
    )
    said = b"".join(frame({"jsonrpc": "2.0", **each}, framing) for each in asked)
    since = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", LIMITED, str(count), *world.command()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=world.whole_environment,
    )
    out, _ = process.communicate(opening(framing) + said, timeout=60)
    world.ends(NO_DESCRIPTORS_AT_START, process.wait, since)
    lines = [line for line in out.splitlines() if line.startswith(b"{")]
    if framing == "content-length":
        lines = [part[: part.rindex(b"}") + 1] for part in out.split(b"\r\n\r\n")[1:]]
    answers = {answer["id"]: answer for answer in map(json.loads, lines)}
    assert len(answers) == len(lines)
    if process.returncode == 0:
        assert {"list", "read"} <= answers.keys()
    if "result" in (listed := answers.get("list", {})):
        complete = len(listed["result"]["candidates"]) == 3
        assert complete or listed["result"]["isIncomplete"]
    errors = [answer["error"] for answer in answers.values() if "error" in answer]
    assert {(error["code"], error["data"].get("cause")) for error in errors} <= {
        (-32014, "io"),
        (-32603, None),  # it could not load what it speaks to editors with
    }


def told_of_index(peer: Sidecar) -> list[bytes]:
    """What stderr says of it, once the process has ended."""
    return [line for line in peer.stderr.splitlines() if b"index" in line]


@shows(CACHE_FULL)
@pytest.mark.changes_root
@pytest.mark.parametrize("pages", [1, 30], ids=["at once", "later"])
def test_the_cache_disk_is_full(world: World, pages: int) -> None:
    """The process has a disk of its own there, of so many pages; ours stays as it is."""
    for number in range(60):
        logs.write_log(world.root, f"more-{number}", [logs.title("x" * 300)], cwd="/w")
    mounting = ["unshare", *(["--map-root-user"] if os.geteuid() else []), "--mount"]
    if subprocess.run([*mounting, "true"], capture_output=True).returncode:
        pytest.skip("this system has no disks for us alone")
    world.cache.mkdir()
    mount = f'mount -t tmpfs -o mode=700,size={4 * pages}k none "$0" && exec "$@"'
    command = [*mounting, "sh", "-c", mount, str(world.cache), str(PROGRAM)]
    with world.start(command=command) as peer:
        assert everything(peer) == expected(world)
        append(world, 1)
        assert everything(peer) == expected(world)
        world.stays(CACHE_FULL, peer)
        (told,) = told_of_index(peer)
        assert b"is full" in told
    assert list(world.cache.iterdir()) == []


@shows(CACHE_REMOVED)
@pytest.mark.changes_root
def test_the_cache_is_removed(world: World, framing: FramingName) -> None:
    with world.start(framing) as peer:
        assert everything(peer) == expected(world)
        for number in (1, 2):
            wait_for_rows(world)
            shutil.rmtree(world.cache)
            append(world, number)
            assert everything(peer) == expected(world)
        world.stays(CACHE_REMOVED, peer)
        assert told_of_index(peer) == []
    assert len(rows(world)) == 3


def rows(world: World) -> set[str]:
    """The folders of the sessions that the index has."""
    index = f"file:{world.cache / INDEX}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(index, uri=True)) as database:
            return {folder for (folder,) in database.execute("SELECT folder FROM logs")}
    except sqlite3.OperationalError:
        return set()


def wait_for_rows(world: World) -> None:
    deadline = time.monotonic() + TIMEOUT
    while len(rows(world)) < 3:
        assert time.monotonic() < deadline
