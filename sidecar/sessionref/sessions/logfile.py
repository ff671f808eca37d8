"""One log file, opened for reading and watched for change while it is read.

Opened without blocking; anything but a regular file is refused. What is read is what was there
when the file was opened: bytes appended later are left for the next time. This module knows no
format. Source: the contract, section 3; the log format, section 6 (reading while written).
"""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sessionref.sessions.model import ReadError
from sessionref.sessions.stamps import Stamp, identity, moment, print_of
from sessionref.sessions.stop import Stop

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


_OURS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What the system says where it is this process, or the machine, that has run out of something."""

OUT_OF_TIME: Final = "reading the log takes longer than we take for any"


def read_error(error: OSError, path: str) -> ReadError:
    """What a failed system call means for a reader."""
    if isinstance(error, PermissionError):
        return ReadError("denied", "reading is not permitted", path=path)
    is_ours = error.errno in _OURS
    return ReadError("io", error.strerror or "reading failed", path=path, is_ours=is_ours)


class LogFile:
    """An open log. `read` it up to `size`; `changed` tells whether that can be trusted.

    Used by one thread, whose time is counted.
    """

    def __init__(self, path: str, descriptor: int, stop: Stop, max_seconds: float) -> None:
        self._path = path
        self._descriptor = descriptor
        self.stop = stop
        self._out_of_time_at = time.thread_time() + max_seconds
        looked_at = moment()
        self._opened = os.fstat(descriptor)
        if not stat.S_ISREG(self._opened.st_mode):
            raise ReadError("io", "a log is not a regular file", path=path)
        self.stamp = Stamp.of(identity(self._opened), looked_at)
        self._print: int | None = None

    @property
    def size(self) -> int:
        """Size in bytes when it was opened."""
        return self._opened.st_size

    @property
    def inode(self) -> tuple[int, int]:
        """Device and inode."""
        return self._opened.st_dev, self._opened.st_ino

    @property
    def is_out_of_time(self) -> bool:
        """Whether dealing with it took as long as it may, whatever it holds."""
        return time.thread_time() > self._out_of_time_at

    def check(self) -> None:
        """To be called at every step. Raises `ReadError` and `StoppedError`."""
        self.stop.check()
        if self.is_out_of_time:
            raise ReadError("corrupt", OUT_OF_TIME, path=self._path)

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes at `offset`, both within the file. Raises `ReadError`, `StoppedError`."""
        self.check()
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        data = os.read(self._descriptor, size)
        while len(data) < size:
            more = os.read(self._descriptor, size - len(data))
            if not more:
                raise ReadError("changed", "the log became shorter", path=self._path)
            data += more
        return data

    def print(self) -> int:
        """The print of all that there was, for `changed` to hold against later."""
        if self._print is None:
            self._print = print_of(self.read, self.size)
        return self._print

    def changed(self) -> bool:
        """Whether something else than appending happened to the file since it was opened."""
        now = os.fstat(self._descriptor)
        if now.st_size < self._opened.st_size:
            return True
        if now.st_mtime_ns != self._opened.st_mtime_ns:
            if now.st_size == self._opened.st_size:
                return True
            if self._print is not None and print_of(self.read, self.size) != self._print:
                return True
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False  # deleting a log does not change what it said
        return not os.path.samestat(there, self._opened)


@contextmanager
def open_log(path: str, stop: Stop, max_seconds: float) -> Iterator[LogFile]:
    """The log at `path`, for so many seconds of a processor's time.

    Raises `ReadError`; `OSError` in the midst of reading becomes one too.
    """
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            yield LogFile(path, descriptor, stop, max_seconds)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise read_error(error, path) from error
