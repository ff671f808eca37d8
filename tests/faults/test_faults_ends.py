"""What happens to the process and its pipes: hosts that die, hang up, don't listen, or signal."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from faults.matrix import (
    HELPER_KILLED,
    HOST_KILLED,
    HOST_KILLED_SIBLING,
    KILLED_AT_LARGE,
    SIGINT,
    SIGKILL,
    SIGTERM,
    STDERR_UNREAD,
    STDIN_CLOSED,
    STDOUT_CLOSED,
    STDOUT_UNREAD,
    STDOUT_UNREAD_EOF,
    SUSPENDED,
    Fault,
    shows,
)
from faults.world import (
    World,
    busy,
    is_stopped,
    opening,
    read_until,
    told_busy,
    wait_for_orphan,
    wait_until_stopped,
)
from support import logs, requests
from support.live import snapshot
from support.requests import AGENT, BIG_ID
from support.sidecar import TIMEOUT, FramingName, Sidecar

READS = pytest.mark.parametrize("reads", [False, True], ids=["idle", "in flight"])

HOST = """
import os, signal, subprocess, sys
told, sibling, *command = sys.argv[1:]
pipe = subprocess.PIPE
child = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0)
child.stdin.write(sys.stdin.buffer.read())
got = b""
while told.encode() not in got:
    more = os.read(child.stdout.fileno(), 1 << 16)
    assert more, got
    got += more
born = [child]
if sibling:
    held = (child.stdin.fileno(), child.stdout.fileno())
    wait = [sys.executable, "-c", "import signal; signal.pause()"]
    born.append(subprocess.Popen(wait, pass_fds=held, stdin=subprocess.DEVNULL))
print(*(each.pid for each in born), flush=True)
signal.pause()
"""
"""A host that spawns the program, and perhaps a sibling that inherits the same pipes."""

WITHOUT_PIDFD = "import os; del os.pidfd_open; from sessionref.__main__ import main; main()"


def spawn_host(
    world: World, big_root: Path, said: bytes, told: bytes, *, sibling: bool, pidfd: bool = True
) -> tuple["subprocess.Popen[bytes]", list[int]]:
    """A host that has said and heard something, and the processes that it started."""
    command = world.command("--root", str(big_root))
    if not pidfd:
        command = [sys.executable, "-c", WITHOUT_PIDFD, *command[1:]]
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, told, "sibling" if sibling else "", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=world.whole_environment,
    )
    assert host.stdin
    assert host.stdout
    host.stdin.write(said)
    host.stdin.close()
    with host.stdout as born:
        return host, [int(each) for each in born.readline().split()]


@shows(HOST_KILLED)
@pytest.mark.usefixtures("reaper")
def test_the_host_is_killed(world: World, big_root: Path, framing: FramingName) -> None:
    host, (sidecar,) = spawn_host(world, big_root, busy(framing), told_busy(), sibling=False)
    wait = wait_for_orphan(sidecar)
    since = time.monotonic()
    host.kill()
    host.wait(TIMEOUT)  # only now we are the parent
    world.ends(HOST_KILLED, wait, since)


@shows(HOST_KILLED_SIBLING)
@pytest.mark.usefixtures("reaper")
@pytest.mark.parametrize(
    ("reads", "pidfd"),
    [(False, True), (True, True), (True, False)],
    ids=["idle", "in flight", "without pidfd"],
)
def test_the_host_is_killed_while_a_sibling_holds_the_pipes(
    world: World, big_root: Path, framing: FramingName, reads: bool, pidfd: bool
) -> None:
    said, told = busy(framing, reads=reads), told_busy(reads=reads)
    host, born = spawn_host(world, big_root, said, told, sibling=True, pidfd=pidfd)
    sidecar, sibling = map(wait_for_orphan, born)
    since = time.monotonic()
    host.kill()
    host.wait(TIMEOUT)  # only now we are the parent
    world.ends(HOST_KILLED_SIBLING, sidecar, since)
    assert world.processes() == born[1:]
    os.kill(born[1], signal.SIGKILL)
    assert sibling(TIMEOUT) == -signal.SIGKILL


@shows(STDIN_CLOSED)
@pytest.mark.parametrize(("cut", "reads"), [(1, False), (40, False), (-20, True)])
def test_stdin_is_closed_in_the_midst_of_a_frame(
    world: World, big_root: Path, framing: FramingName, cut: int, reads: bool
) -> None:
    with world.start(framing, more_roots=[big_root]) as peer:
        read = peer.request("prepare", requests.prepare(BIG_ID if reads else "alpha"))
        whole = peer.request("parseText", {"text": "whole"})
        torn = {
            "jsonrpc": "2.0",
            "id": "torn",
            "method": "parseText",
            "params": {"text": "tearing"},
        }
        peer.send_raw(peer.frame(torn)[:cut])
        peer.close_stdin()
        assert peer.answer(None)["error"]["code"] == (-32700 if framing == "line" else -32600)
        assert peer.settle(whole)["text"] == "whole"
        assert "additionalContext" in peer.settle(read, timeout=60)
        world.ends(STDIN_CLOSED, peer.wait, time.monotonic())
        assert peer.unclaimed() == []


@shows(STDOUT_CLOSED)
@READS
def test_stdout_is_closed(world: World, big_root: Path, framing: FramingName, reads: bool) -> None:
    started = world.start(framing, more_roots=[big_root], drain=False, **without_hello(framing))
    with started as peer:
        assert peer.process.stdout
        peer.send_raw(busy(framing, reads=reads))
        read_until(peer.process.stdout.fileno(), told_busy(reads=reads))
        since = time.monotonic()
        peer.close_stdout()
        world.ends(STDOUT_CLOSED, peer.wait, since)


def without_hello(framing: FramingName) -> dict[str, bool]:
    """For who says all himself, `opening` included."""
    return {} if framing == "line" else {"start": False}


@shows(STDERR_UNREAD)
@pytest.mark.changes_root
def test_stderr_is_never_read(world: World, framing: FramingName) -> None:
    """It has far more to say there than a pipe holds."""
    for number in range(300):
        for zstd in (True, False):
            name = f"{'x' * 150}-{number}"
            logs.write_log(world.root, name, [logs.user("q")], cwd="/w", zstd=zstd)
    with world.start(framing, hear_stderr=False) as peer:
        listed = peer.call("listCandidates", {"agent": AGENT, "limit": 1000})
        assert listed["total"] == 303
        assert "additionalContext" in peer.call("prepare", requests.prepare("alpha"))
        error = peer.fails("prepare", requests.prepare(f"{'x' * 150}-0"))
        assert error.data["cause"] == "conflict"
        world.stays(STDERR_UNREAD, peer)


TEN_MEGABYTES = "x" * 10_000_000
ALL = pytest.mark.skipif(os.environ.get("FAULTS") != "all", reason="30 s: for FAULTS=all only")
MEMORY = 600_000
"""KiB: what may wait, the frame that is written, the one that is read, and its answer."""


@shows(STDOUT_UNREAD, STDOUT_UNREAD_EOF)
@pytest.mark.parametrize("fault", [STDOUT_UNREAD, pytest.param(STDOUT_UNREAD_EOF, marks=ALL)])
def test_answers_are_never_read(world: World, framing: FramingName, fault: Fault) -> None:
    started = world.start(framing, drain=False, **without_hello(framing))
    with started as peer:
        peer.send_raw(opening(framing))
        assert peer.process.stdin
        fcntl.fcntl(peer.process.stdin, fcntl.F_SETPIPE_SZ, 1 << 20)  # only to be done sooner
        for _ in range(30):
            peer.request("parseText", {"text": TEN_MEGABYTES})
        assert peak_memory(peer) < MEMORY
        since = time.monotonic()
        if fault is STDOUT_UNREAD:
            peer.signal(signal.SIGTERM)
        else:
            peer.close_stdin()
        world.ends(fault, peer.process.wait, since)
        peer.close_stdout()


def peak_memory(peer: Sidecar) -> int:
    """In KiB, so far."""
    status = Path(f"/proc/{peer.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


@shows(SIGTERM, SIGINT, SIGKILL)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("fault", [SIGTERM, SIGINT, SIGKILL], ids=["TERM", "INT", "KILL"])
def test_a_signal_at_a_random_moment(
    world: World, big_root: Path, framing: FramingName, fault: Fault, seed: int
) -> None:
    """All that was surely read is answered once, and no frame is torn but by SIGKILL."""
    random = Random(f"{fault.what} {framing} {seed}")
    number = {SIGTERM: signal.SIGTERM, SIGINT: signal.SIGINT, SIGKILL: signal.SIGKILL}[fault]
    with world.start(framing, more_roots=[big_root]) as peer:
        asked = [ask_anything(peer, random) for _ in range(random.randrange(60))]
        sure: list[object] = []
        if random.random() < 0.7:
            peer.call("status")  # what was written before has been read
            sure = list(asked)
        asked += [ask_anything(peer, random) for _ in range(random.randrange(30))]
        if sure and random.random() < 0.5:
            heard = random.choice(sure)
            peer.answer(heard)
            asked.remove(heard)
            sure.remove(heard)
        since = time.monotonic()
        peer.signal(number)
        with suppress(BrokenPipeError):
            asked += [ask_anything(peer, random) for _ in range(random.randrange(5))]
        world.ends(fault, peer.process.wait, since)
        peer.wait()
        answers = peer.unclaimed()
        counted = Counter(answer["id"] for answer in answers)
        assert set(counted) <= set(asked)
        assert set(counted.values()) <= {1}
        if fault is not SIGKILL:
            assert counted.keys() >= set(sure)
        codes = {answer["error"]["code"] for answer in answers if "error" in answer}
        assert codes <= {-32800, -32802}


def ask_anything(peer: Sidecar, random: Random) -> object:
    """Some request, which may be cancelled right away; its id."""
    what = random.randrange(6)
    asked: object
    if what == 0:
        asked = peer.request("prepare", requests.prepare(BIG_ID))
    elif what == 1:
        asked = peer.request("prepare", requests.prepare("alpha", "beta"))
    elif what == 2:
        query = random.choice(["", "title", "nothing"])
        asked = peer.request("listCandidates", {"agent": AGENT, "query": query})
    elif what == 3:
        text = "@[Alpha](dsh-session:ImFscGhhIg) " * random.randrange(1, 2000)
        asked = peer.request("parseText", {"text": text})
    elif what == 4:
        references = [{"sessionId": "gamma"}]
        asked = peer.request("preview", {"agent": AGENT, "references": references})
    else:
        asked = peer.request("status")
    if random.random() < 0.2:
        peer.notify("$/cancelRequest", {"id": asked})
    return asked


TWO_CORES = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="on one core it has no processes of its own"
)


def read_with_help(world: World, peer: Sidecar) -> tuple[object, int]:
    """Have a large log read: the request, and the process that helps, as soon as it is there."""
    asked = peer.request("prepare", requests.prepare(BIG_ID))
    deadline = time.monotonic() + TIMEOUT
    while not (helpers := set(world.processes()) - {peer.process.pid}):
        assert time.monotonic() < deadline
    (helper,) = helpers
    return asked, helper


@shows(KILLED_AT_LARGE)
@TWO_CORES
def test_killed_while_a_process_of_its_own_helps(world: World, large_root: Path) -> None:
    with world.start(more_roots=[large_root]) as peer:
        read_with_help(world, peer)
        since = time.monotonic()
        peer.signal(signal.SIGKILL)
        world.ends(KILLED_AT_LARGE, peer.wait, since)


@shows(HELPER_KILLED)
@TWO_CORES
def test_a_process_of_its_own_is_killed(world: World, large_root: Path) -> None:
    with world.start(more_roots=[large_root]) as peer:
        asked, helper = read_with_help(world, peer)
        os.kill(helper, signal.SIGKILL)
        told = snapshot(peer.settle(asked, timeout=60))
        assert told.reference["originalMessages"] == told.through == 280_000
        world.stays(HELPER_KILLED, peer)


@shows(SUSPENDED)
def test_suspended_and_resumed(world: World, big_root: Path, framing: FramingName) -> None:
    """While it is suspended a deadline passes, and requests and cancels arrive."""
    with world.start(framing, more_roots=[big_root]) as peer:
        cancelled = peer.request("prepare", requests.prepare(BIG_ID))
        late = peer.request("prepare", requests.prepare(BIG_ID, deadlineMs=100))
        slow = peer.request("prepare", requests.prepare(BIG_ID))
        peer.signal(signal.SIGSTOP)
        wait_until_stopped(peer)
        stopped = time.monotonic()
        peer.notify("$/cancelRequest", {"id": cancelled})
        waiting = peer.request("parseText", {"text": "while it slept"})
        while time.monotonic() < stopped + 0.3:
            assert is_stopped(peer)
        peer.signal(signal.SIGCONT)
        assert peer.settle(waiting)["text"] == "while it slept"
        assert peer.answer(cancelled)["error"]["code"] == -32800
        assert peer.answer(late)["error"]["code"] == -32802
        assert "additionalContext" in peer.settle(slow, timeout=60)
        world.stays(SUSPENDED, peer)
        assert peer.unclaimed() == []
