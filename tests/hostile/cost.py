"""What a process cost so far: the most memory at any time, and processors' time. Linux only."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hostile.table import Cost
from support.sidecar import clean_environment

PATIENCE = 120.0
"""Seconds that a test waits: on a busy machine a second of a processor takes many."""


def _is_told() -> bool:
    try:
        return "VmHWM:" in Path("/proc/self/status").read_text()
    except OSError:
        return False


needs_proc = pytest.mark.skipif(
    not _is_told(), reason="what a process costs is read in /proc, which does not tell it here"
)

_DOCTOR = """
import resource, sys
from sessionref.__main__ import main
code = main(["doctor", "--json", *sys.argv[1:]])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
seconds = 0
for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
    used = resource.getrusage(whose)
    seconds += used.ru_utime + used.ru_stime
print(int(peak.split()[1]) * 1024, seconds, file=sys.stderr)
sys.exit(code)
"""


def _peak_of(pid: int | str) -> int:
    """The most memory that the process had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0  # it has just ended


def _seconds_of(pid: int) -> float:
    """The time of processors that the process has used, and its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


class Watched:
    """A process, and the children that it has now and then."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = _seconds_of(pid)
        self._peak_of_a_child = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        tasks = Path(f"/proc/{self._pid}/task")
        while not self._over.wait(0.02):
            try:
                for children in tasks.glob("*/children"):
                    for child in children.read_text().split():
                        self._peak_of_a_child = max(self._peak_of_a_child, _peak_of(child))
            except OSError:
                continue  # one has just ended

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def lap(self) -> Cost:
        """What it cost since the last lap; the peak is that of its whole life."""
        before, self._before = self._before, _seconds_of(self._pid)
        return Cost(max(_peak_of(self._pid), self._peak_of_a_child), self._before - before)


@contextmanager
def watched(pid: int) -> Iterator[Watched]:
    """Watch a process as long as this goes on."""
    watching = Watched(pid)
    try:
        yield watching
    finally:
        watching.end()


def doctor(root: Path, home: Path) -> tuple[Any, Cost]:
    """What `sessionref doctor` reports of a root, and what that cost (memory: without children).

    It is asked by a process that tells its own peak: what the system tells of a process that has
    ended includes the memory of ours, from which it was made.
    """
    done = subprocess.run(
        [sys.executable, "-c", _DOCTOR, "--root", str(root)],
        capture_output=True,
        timeout=PATIENCE,
        env=clean_environment(str(home), {"SESSIONREF_CACHE_DIR": str(home / "cache")}),
        check=False,
    )
    peak, seconds = done.stderr.split()[-2:]
    return json.loads(done.stdout), Cost(int(peak), float(seconds))
