"""Processes over pipes, and what they take: seconds, medians, pairs with a floor, peak memory.

What is to be compared is taken in turns, so that a noisy machine is noisy to both; ratios are the
medians of the ratios of such pairs. Knows nothing of what is measured.
"""

import itertools
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple, Self

from benchmarks import floor

PROGRAM: Final = Path(sys.executable).with_name("sessionref")

_CHUNK: Final = 1024 * 1024
_LEAVE_SECONDS: Final = 120.0
_MOST_WAITED_SECONDS: Final = 600.0
_POLL_SECONDS: Final = 0.01


class Effort(NamedTuple):
    """How often something is measured: until one of both is reached, but once at least."""

    times: int
    seconds: float

    def rounds(self) -> Iterator[int]:
        """Count the rounds."""
        end = time.perf_counter() + self.seconds
        for done in range(self.times):
            if done and time.perf_counter() > end:
                return
            yield done


class Pairs(NamedTuple):
    """Seconds (or bytes) of the program and of its floor, taken in turns."""

    ours: list[float]
    floor: list[float]

    @property
    def median(self) -> float:
        """What the program takes."""
        return median(self.ours)

    @property
    def floor_median(self) -> float:
        """What the floor takes."""
        return median(self.floor)

    @property
    def ratio(self) -> float:
        """The median of the ratios of the pairs."""
        return median(one / other for one, other in zip(self.ours, self.floor, strict=True))


def pairs(effort: Effort, ours: Callable[[], float], floor: Callable[[], float]) -> Pairs:
    """Take both in turns."""
    taken = Pairs([], [])
    for _ in effort.rounds():
        taken.floor.append(floor())
        taken.ours.append(ours())
    return taken


def seconds(action: Callable[[], object]) -> float:
    """How long an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class Peer:
    """A process that answers lines with lines. Leaving it, as a context manager, ends it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=env
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in = self._process.stdin
        self._out = self._process.stdout.fileno()
        self._heard = b""
        self.exit_code: int | None = None
        """Once it has ended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._in.close()
        while os.read(self._out, _CHUNK):
            pass
        self.exit_code = self._process.wait(_LEAVE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def process_id(self) -> int:
        """Of the process."""
        return self._process.pid

    def send(self, line: bytes) -> None:
        """Write a line, or several."""
        self._in.write(line)

    def send_within(self, seconds: float, lines: bytes) -> None:
        """Write lines. Raises `TimeoutError` where nothing of them is taken for so long."""
        descriptor = self._in.fileno()
        os.set_blocking(descriptor, False)
        try:
            left = memoryview(lines)
            while left:
                if not select.select([], [descriptor], [], seconds)[1]:
                    raise TimeoutError("the process takes nothing")
                left = left[os.write(descriptor, left) :]
        finally:
            os.set_blocking(descriptor, True)

    def answer(self) -> bytes:
        """The next line, with its line feed."""
        pieces = [self._heard]
        while b"\n" not in pieces[-1]:
            pieces.append(self._read())
        line, feed, self._heard = b"".join(pieces).partition(b"\n")
        return line + feed

    def lines(self, seconds: float) -> list[bytes]:
        """The lines that are there, without their line feeds; waits for some so long at most."""
        if select.select([self._out], [], [], seconds)[0]:
            *lines, self._heard = (self._heard + self._read()).split(b"\n")
            return lines
        return []

    def ask(self, line: bytes) -> bytes:
        """Write a line and wait for the answer."""
        self.send(line)
        return self.answer()

    def stream(self, line: bytes, count: int, window: int) -> None:
        """Have `count` equal lines answered, `window` of them under way at any time."""
        self.send(line * window)
        unsent, unanswered = count - window, count
        while unanswered:
            answered = self._read().count(b"\n")
            unanswered -= answered
            more = min(answered, unsent)
            if more:
                self.send(line * more)
                unsent -= more

    def move(self, processor: int) -> None:
        """Have all of it run on one processor; on Linux."""
        assert sys.platform == "linux"
        for task in os.listdir(f"/proc/{self._process.pid}/task"):
            os.sched_setaffinity(int(task), [processor])

    def peak_memory(self) -> int:
        """Most bytes that it and its children ever had in memory; 0 where nobody tells."""
        return sum(_peak_of(process) for process in _with_children(self._process.pid))

    def _read(self) -> bytes:
        data = os.read(self._out, _CHUNK)
        if not data:
            raise EOFError(f"the process ended: {self._process.wait()}")
        return data


@contextmanager
def apart(*peers: Peer) -> Iterator[None]:
    """Keep us on one processor and peers on another, where the system lets us.

    Otherwise its scheduler decides between waking another processor and switching on the same
    one, which differ by more than what is measured, and does not decide alike for all.
    """
    if sys.platform != "linux" or len(ours := sorted(os.sched_getaffinity(0))) < 2:
        yield
        return
    os.sched_setaffinity(0, ours[:1])
    for peer in peers:
        peer.move(ours[1])
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)


class Sidecar(Peer):
    """The installed program over one root, with its cache where it is told."""

    def __init__(self, root: Path, cache: Path) -> None:
        super().__init__([str(PROGRAM), "--root", str(root)], environment(cache))

    def result(self, request: bytes) -> dict[str, Any]:
        """The result of a request."""
        return result(self.ask(request))

    def warm_up(self) -> None:
        """Have the process started."""
        self.result(request("formatMention", sessionId="x"))

    def wait_for_index(self, query: str) -> None:
        """Ask until nothing is missing from the answer."""
        end = time.perf_counter() + _MOST_WAITED_SECONDS
        while self.result(candidates(query))["isIncomplete"]:
            if time.perf_counter() > end:
                raise TimeoutError("the answer stays incomplete")
            time.sleep(_POLL_SECONDS)


_ids: Final = itertools.count(1)


def request(method: str, **params: object) -> bytes:
    """The line of a request with an id of its own."""
    return _line(id=next(_ids), method=method, params=params)


def cancellation(request: bytes) -> bytes:
    """The line that cancels a request."""
    return _line(method="$/cancelRequest", params={"id": json.loads(request)["id"]})


def candidates(query: str) -> bytes:
    """The request that every keystroke makes."""
    return request("listCandidates", agent={"id": "benchmark", "cwd": "/work/app-7"}, query=query)


def result(answer: bytes) -> dict[str, Any]:
    """The result in an answer. Raises `RuntimeError` for an error."""
    message = json.loads(answer)
    if "error" in message:
        raise RuntimeError(f"the program failed: {message['error']}")
    found: dict[str, Any] = message["result"]
    return found


def least_memory(logs: Iterable[Path]) -> int:
    """Peak memory of a process that only decompresses logs; 0 where nobody tells."""
    with Peer([*floor.READ, *map(str, logs)]) as reader:
        reader.answer()
        return reader.peak_memory()


def _line(**message: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"


def environment(cache: Path) -> dict[str, str]:
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SESSIONREF_", "DSH_", "XDG_", "PYTHON"))
    }
    return {**ours, "HOME": str(cache), "XDG_CACHE_HOME": str(cache)}


def _with_children(process: int) -> list[int]:
    found = [process]
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            children = Path(f"/proc/{process}/task/{task}/children").read_text()
            for child in map(int, children.split()):
                found += _with_children(child)
    except OSError:
        pass  # it is gone, or the system does not tell
    return found


def _peak_of(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) * 1024 if peak else 0
