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
from typing import Final

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


class Stamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An identity, and when the system was asked for it."""

    identity: Identity
    looked_at: int
    """Wall clock, in nanoseconds since the epoch, right before."""
    is_settled: bool
    """Whether any later change would show in the identity."""

    @staticmethod
    def of(found: Identity, looked_at: int) -> "Stamp":
        """The stamp of what had this identity when it was looked at."""
        _, _, _, modified_at, changed_at = found
        return Stamp(found, looked_at, max(modified_at, changed_at) < looked_at - _SETTLING_NS)

    @property
    def size(self) -> int:
        """In bytes."""
        return self.identity[2]

    def holds(self, found: Identity) -> bool:
        """Whether what has this identity now is surely the same as it was then."""
        return self.is_settled and self.identity == found


def print_of(read: Read, size: int) -> int:
    """A number that tells the first `size` bytes of a file from others, as a rule.

    It is made of all of them in small files, of those at either end in larger ones.
    """
    head = min(size, _PRINTED_BYTES)
    tail = min(size - head, _PRINTED_BYTES)
    printed = zlib.crc32(read(0, head)) if head else 0
    return zlib.crc32(read(size - tail, tail), printed) if tail else printed
