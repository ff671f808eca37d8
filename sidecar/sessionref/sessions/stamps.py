"""What tells that a file or folder is still what was seen there, without reading it.

The system's word is its identity: device, inode, size and times. It is not enough where a change
may fall into the same tick of a clock, so what changed shortly before it was looked at has to be
looked at again. What was read of a log is known by a print of its bytes besides. This module opens
nothing. Source: issue "instant at ten thousand sessions", 1.
"""

import os
import zlib
from collections.abc import Callable
from operator import attrgetter
from time import monotonic_ns, time_ns
from typing import Final, Self

import msgspec

from sessionref.config import KIB

_SETTLING_NS: Final = 2_000_000_000
"""No clock of a file system ticks more slowly than that."""

_PRINTED_BYTES: Final = 128 * KIB
"""How much at either end a print is made of: most real logs are no larger than both."""

Read = Callable[[int, int], bytes]
"""Bytes of a file: at an offset, of a size."""


Identity = tuple[int, int, int, int, int]
"""What the system says of a file or folder: device, inode, size in bytes, and when it was modified
and changed, in nanoseconds since the epoch."""

identity: Final[Callable[[os.stat_result], Identity]] = attrgetter(
    "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"
)
"""The identity in what the system answered."""


Moment = tuple[int, int]
"""Now by two clocks, in nanoseconds: one that nobody sets, by which a process knows what came
first, and the wall clock, which may be set back, to be compared with the times of files."""


def moment() -> Moment:
    """To be asked right before the system is asked about a file."""
    return monotonic_ns(), time_ns()


class Stamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An identity, and when the system was asked for it."""

    identity: Identity
    looked_at: int
    """Right before, by the clock that nobody sets; 0 where an earlier process did it."""
    is_settled: bool
    """Whether any later change would show in the identity."""

    @staticmethod
    def of(found: Identity, looked_at: Moment) -> "Stamp":
        """The stamp of what had this identity when it was looked at."""
        (_, _, _, modified_at, changed_at), (order, wall) = found, looked_at
        return Stamp(found, order, max(modified_at, changed_at) < wall - _SETTLING_NS)

    def for_later(self) -> Self:
        """This stamp for another process."""
        return msgspec.structs.replace(self, looked_at=0)

    @property
    def size(self) -> int:
        """In bytes."""
        return self.identity[2]

    def holds(self, found: Identity) -> bool:
        """Whether what has this identity now is surely the same as it was then."""
        return self.is_settled and self.identity == found


def may_have_grown(before: Identity, now: Identity) -> bool:
    """Whether it may be all that became of a file that something was appended to it."""
    return before == now or (before[:2] == now[:2] and before[2] < now[2])


def print_of(read: Read, size: int) -> int:
    """A number that tells the first `size` bytes of a file from others, as a rule.

    It is made of all of them in small files, of those at either end in larger ones.
    """
    head = min(size, _PRINTED_BYTES)
    tail = min(size - head, _PRINTED_BYTES)
    printed = zlib.crc32(read(0, head)) if head else 0
    return zlib.crc32(read(size - tail, tail), printed) if tail else printed
