"""What tells that a file or folder is still what was seen there, without reading it.

The system's word is its identity: device, inode, size and times. It is not enough where a change
may fall into the same tick of a clock, so what changed shortly before it was looked at has to be
looked at again. What was read of a log is known by a print of its bytes besides. This module opens
nothing. Source: issue "instant at ten thousand sessions", 1.
"""

import os
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from sessionref.config import KIB

_SETTLING_NS: Final = 2_000_000_000
"""No clock of a file system ticks more slowly than that."""

_PRINTED_BYTES: Final = 128 * KIB
"""How much at either end a print is made of: most real logs are no larger than both."""

Read = Callable[[int, int], bytes]
"""Bytes of a file: at an offset, of a size."""


class Identity(NamedTuple):
    """What the system says of a file or folder. Times are nanoseconds since the epoch."""

    device: int
    inode: int
    size: int
    modified_at: int
    changed_at: int


def identity(found: os.stat_result) -> Identity:
    """The identity in what the system answered."""
    return Identity(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """An identity, and when the system was asked for it, at the earliest."""

    looked_at: int
    """Wall clock, in nanoseconds since the epoch."""
    identity: Identity

    @property
    def is_settled(self) -> bool:
        """Whether any later change would show in the identity."""
        _, _, _, modified_at, changed_at = self.identity
        return max(modified_at, changed_at) < self.looked_at - _SETTLING_NS

    def holds(self, identity: Identity) -> bool:
        """Whether what has this identity now is surely the same as it was then."""
        return self.identity == identity and self.is_settled


def print_of(read: Read, size: int) -> int:
    """A number that tells the first `size` bytes of a file from others, as a rule.

    It is made of all of them in small files, of those at either end in larger ones.
    """
    head = min(size, _PRINTED_BYTES)
    tail = min(size - head, _PRINTED_BYTES)
    printed = zlib.crc32(read(0, head)) if head else 0
    return zlib.crc32(read(size - tail, tail), printed) if tail else printed
