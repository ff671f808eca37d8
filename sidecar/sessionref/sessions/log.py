"""One logical log: blocks of bytes to lines, the first line to the header, the rest to the fold.

A push reader: it keeps the unfinished line and the fold, never the log. This module opens nothing;
where the blocks come from is the caller's concern. Source: the log format, sections 2, 3 and 6.
"""

from collections.abc import Iterable

import msgspec

from sessionref.sessions.fold import LogFold
from sessionref.sessions.frames import Block
from sessionref.sessions.generations import generation
from sessionref.sessions.header import MAX_HEADER_BYTES, FirstLine, read_header
from sessionref.sessions.model import ReadError, Reading
from sessionref.sessions.paths import LogName


class Place(msgspec.Struct, frozen=True):
    """Where a log lies: the names that its header must agree with."""

    project: str
    folder: str
    name: LogName


def read_first_line(blocks: Iterable[Block], place: Place) -> FirstLine:
    """The header of a log, from no more than it takes to trust it. Raises `ReadError`.

    In a compressed log the frame that holds it must be whole, unless it is a very large one.
    """
    unfinished = UnfinishedLine(MAX_HEADER_BYTES)
    first: FirstLine | None = None
    size = 0
    for block in blocks:
        if first is None:
            lines = unfinished.join(block.data)
            if lines:
                first = read_header(lines[0], place.name, place.project, place.folder)
        size += len(block.data)
        whole = block.end is not None or not place.name.compressed
        if first is not None and (whole or size > MAX_HEADER_BYTES):
            return first
    raise ReadError("corrupt", "the log has no whole first line")


def read_log(blocks: Iterable[Block], place: Place, max_record_bytes: int) -> Reading:
    """What a whole log comes to. Raises `ReadError`."""
    reader = LogReader(place, max_record_bytes)
    for block in blocks:
        reader.push(block)
    return reader.finish()


class UnfinishedLine:
    """The end of the bytes so far that is not a whole line yet."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0

    def __bool__(self) -> bool:
        return self._size > 0

    def join(self, data: bytes) -> list[bytes]:
        """The lines that `data` finishes, without their line feeds. Raises `ReadError`."""
        lines = data.split(b"\n")
        if len(lines) > 1 and self._pieces:
            lines[0] = b"".join((*self._pieces, lines[0]))
            self._pieces, self._size = [], 0
        rest = lines.pop()
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
            if self._size > self._max_bytes:
                raise ReadError("corrupt", "a record is larger than any that we read")
        return lines


class LogReader:
    """Reads one log. Push its blocks in order, then `finish`."""

    def __init__(self, place: Place, max_record_bytes: int) -> None:
        self._place = place
        self._unfinished = UnfinishedLine(max_record_bytes)
        self._fold = LogFold(generation(place.name.generation))
        self._first: FirstLine | None = None
        self._whole = not place.name.compressed
        """The complete frames so far, if any, hold whole lines; a plain file needs none."""

    def push(self, block: Block) -> None:
        """Take the next block. Raises `ReadError`."""
        lines = self._unfinished.join(block.data)
        if lines and self._first is None:
            self._first = self._header(lines.pop(0))
        self._fold.feed(lines)
        if block.end is not None:
            self._end_frame()

    def finish(self) -> Reading:
        """What the log comes to, now that it has no more blocks. Raises `ReadError`."""
        if self._first is None or not self._whole:
            raise ReadError("corrupt", "the log does not hold whole lines in whole frames")
        return self._fold.reading(self._first.header)

    def _header(self, line: bytes) -> FirstLine:
        if len(line) > MAX_HEADER_BYTES:
            raise ReadError("corrupt", "the first line is larger than any header")
        place = self._place
        first = read_header(line, place.name, place.project, place.folder)
        if first.problem is not None:
            raise first.problem
        return first

    def _end_frame(self) -> None:
        if self._fold.dropping:
            raise ReadError("corrupt", "a complete frame holds a bad record")
        self._whole = self._first is not None and not self._unfinished
