"""What a process holds over time: memory, descriptors, threads; and whether it grows.

On Linux, where `/proc` tells. What is compared are the two halves of the time after a warm-up: what
is still growing then would grow for ever. Knows nothing of what the process does.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from benchmarks.table import quantity

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")

_MEMORY_SHARE: Final = 0.05
_MEMORY_BYTES: Final = 8 * 1024 * 1024
"""What an allocator may need more for what is no more: this share, or this much if it is more."""

_MORE_DESCRIPTORS: Final = 8
_MORE_THREADS: Final = 2
"""How many more may be there at one time by chance."""


class Vitals(NamedTuple):
    """What a process holds at one moment."""

    at: float
    """Seconds since something."""
    memory: int
    """Resident bytes."""
    descriptors: int
    threads: int


def vitals(process: int, at: float) -> Vitals:
    """What the process holds now."""
    place = Path(f"/proc/{process}")
    memory = int((place / "statm").read_text().split()[1]) * _PAGE
    return Vitals(
        at, memory, len(os.listdir(place / "fd")), threads=len(os.listdir(place / "task"))
    )


def growth(taken: Sequence[Vitals], warm_up: float) -> list[str]:
    """What grew after the warm-up, in words; nothing if nothing did."""
    warm = [each for each in taken if each.at >= warm_up]
    middle = (warm_up + taken[-1].at) / 2
    early = [each for each in warm if each.at < middle]
    late = [each for each in warm if each.at >= middle]
    if not early or not late:
        return ["there was no time to see whether anything grows"]
    complaints = []
    before, after = _median(early), _median(late)
    if after - before > max(_MEMORY_BYTES, before * _MEMORY_SHARE):
        complaints.append(f"memory grew from {_told(before)} to {_told(after)}")
    for name, more, read in _COUNTS:
        least, most = max(map(read, early)), max(map(read, late))
        if most > least + more:
            complaints.append(f"{name} grew from {least} to {most}")
    return complaints


def _told(size: float) -> str:
    return quantity(size, "bytes")


def _median(taken: Sequence[Vitals]) -> float:
    return median(each.memory for each in taken)


_COUNTS: Final[Sequence[tuple[str, int, Callable[[Vitals], int]]]] = (
    ("descriptors", _MORE_DESCRIPTORS, lambda each: each.descriptors),
    ("threads", _MORE_THREADS, lambda each: each.threads),
)
