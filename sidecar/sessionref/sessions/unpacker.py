"""Decompressing a large log in a process of its own, while this one makes sense of what comes out.

The first blocks are made here, since a process takes a while to begin. `python -m` this module is
that process: it is told which file, which part of it and where to begin, and writes its blocks.
Nothing is different but the time it takes. Source: issue "instant at ten thousand sessions", 3.
"""

import os
import select
import sys
import time
from collections.abc import Generator
from contextlib import closing
from struct import Struct
from typing import Final, NamedTuple

from sessionref.config import MIB
from sessionref.sessions.child import Child, LostError, Parent, is_possible
from sessionref.sessions.frames import Block, zstd_blocks
from sessionref.sessions.logfile import OUT_OF_TIME
from sessionref.sessions.model import ReadError

LARGE_BYTES: Final = 6 * MIB
"""From here on it takes less time than beginning a process does."""

_MODULE: Final = "sessionref.sessions.unpacker"

_READY: Final = b"."
_HEAD: Final = Struct("<IBqI")
"""Before each block: its size in bytes, whether it is whole, its end or -1, and what is held."""
_ERROR: Final = 2
_NO_ERROR: Final = 3
"""In place of whether a block is whole: what follows is an error, or nothing any more."""


class Part(NamedTuple):
    """A part of a compressed log."""

    path: str
    file: tuple[int, int]
    """Device and inode of what is to be found at the path."""
    start: int
    size: int
    max_window_bytes: int
    max_seconds: float
    """Of a processor."""


def is_worth_it(part: Part) -> bool:
    """Whether to unpack a part in another process."""
    return part.size >= LARGE_BYTES and sys.platform != "win32" and is_possible()


def unpacked(part: Part, own: Generator[Block, None, None]) -> Generator[Block, None, None]:
    """The blocks of a part, of which `own` makes the first ones.

    Raises `ReadError` as `own` would, and `LostError` where the process fails.
    """
    with closing(Child(_MODULE)) as child:
        for block in own:
            yield block
            if block.end is not None and select.select([child.output], [], [], 0)[0]:
                break
        else:
            return
        own.close()
        if child.read(len(_READY)) != _READY:
            raise LostError
        begun = block.end
        child.send((part, begun))
        while True:
            size, kind, end, held = _HEAD.unpack(child.read(_HEAD.size))
            if kind == _NO_ERROR:
                return
            if kind == _ERROR:
                raise ReadError(*child.receive())
            data = child.read(size)
            yield Block(data, kind == 1, None if end < 0 else begun + end, held)


def _serve() -> None:
    parent = Parent()
    output = parent.output
    output.write(_READY)
    output.flush()
    part, begun = parent.receive()
    descriptor = os.open(part.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    found = os.fstat(descriptor)
    if (found.st_dev, found.st_ino) != part.file:
        return
    start = part.start + begun

    def read(offset: int, size: int) -> bytes:
        if time.process_time() > part.max_seconds:
            raise ReadError("corrupt", OUT_OF_TIME)
        data = os.pread(descriptor, size, start + offset)
        while len(data) < size:
            more = os.pread(descriptor, size - len(data), start + offset + len(data))
            if not more:
                raise ReadError("changed", "the log became shorter", path=part.path)
            data += more
        return data

    try:
        for block in zstd_blocks(read, part.size - begun, part.max_window_bytes):
            end = -1 if block.end is None else block.end
            output.write(_HEAD.pack(len(block.data), block.whole, end, block.held))
            output.write(block.data)
    except ReadError as error:
        output.write(_HEAD.pack(0, _ERROR, 0, 0))
        parent.send((error.cause, error.reason))
    else:
        output.write(_HEAD.pack(0, _NO_ERROR, 0, 0))
    output.flush()


if __name__ == "__main__":
    _serve()
