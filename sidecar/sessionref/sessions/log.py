"""One logical log: blocks of bytes to lines, the first line to the header, the rest to the fold.

A push reader: it keeps the unfinished line and the fold, never the log. It can pause where a writer
will surely go on: behind the last whole frame, or in plain files the last whole line. This module
opens nothing; where the blocks come from is the caller's concern. Source: the log format, sections
2, 3 and 6.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from io import SEEK_END, BytesIO
from typing import Final, NamedTuple

import msgspec

from sessionref.sessions.fold import LogFold
from sessionref.sessions.frames import Block
from sessionref.sessions.generations import generation
from sessionref.sessions.header import MAX_HEADER_BYTES, FirstLine, read_header
from sessionref.sessions.model import Degraded, Header, ReadError, Reading
from sessionref.sessions.paths import LogName
from sessionref.sessions.state import FoldState


class Place(msgspec.Struct, frozen=True, gc=False):
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
        if place.name.compressed and not block.whole:
            break
        lines = [] if first else unfinished.join(block.data)
        if lines:
            first = _header(lines[0], place)
        size += len(block.data)
        trusted = block.end is not None or not place.name.compressed or size > MAX_HEADER_BYTES
        if first is not None and trusted:
            return first
    raise ReadError("corrupt", "the log has no whole first line")


class Pause(NamedTuple):
    """A log that was read up to a place where reading can go on."""

    reader: "LogReader"
    """Stands right there; to be copied before more is pushed."""
    position: int
    """In the file: bytes before it have been read."""


class Progress(NamedTuple):
    """What a log comes to, and where to go on when more has been written."""

    reading: Reading
    pause: Pause


def read_log(blocks: Iterable[Block], place: Place, max_record_bytes: int) -> Reading:
    """What a whole log comes to. Raises `ReadError`."""
    return read_on(blocks, Pause(LogReader(place, max_record_bytes), 0)).reading


def read_on(
    blocks: Iterable[Block], start: Pause, weigh: Callable[[int], None] = lambda _: None
) -> Progress:
    """What a log comes to of which `blocks` follow after `start`. Raises `ReadError`.

    `weigh` is told again and again how many bytes of memory all takes that is kept, and
    decompressing.
    """
    reader, position = start.reader.copy(), start.position
    torn: Pause | None = None
    size = 0
    for block in blocks:
        if reader.is_torn_by(block):
            torn = Pause(reader.copy(), position)  # that frame will be another one when it is whole
        reader.push(block)
        weigh(block.held + reader.weight)
        size += len(block.data)
        if block.end is not None:
            position = start.position + block.end
    reading = reader.finish()
    if reader.place.name.compressed:
        return Progress(reading, torn or Pause(reader, position))
    return Progress(reading, reader.before_unfinished(start.position + size))


def salvage_log(
    blocks: Iterable[Block],
    place: Place,
    max_record_bytes: int,
    weigh: Callable[[int], None] = lambda _: None,
) -> Reading:
    """What precedes the first damage in a log, marked as that. `weigh` as in `read_on`.

    Raises `ReadError` where not even the header can be had.
    """
    reader = LogReader(place, max_record_bytes, exact=True)
    with suppress(ReadError):
        for block in blocks:
            reader.push(block)
            weigh(block.held + reader.weight)
    return reader.salvaged()


_ENDS_A_TURN: Final = (b"turn/end", b"\\", b"null")
"""A line without any of these neither ends a turn, however it spells that, nor is `null`."""


def _worth_a_look(data: bytes) -> bytes:
    """A block of which nothing counts any more but whether a line of it ends a turn.

    Lines that can't are left out at the speed of C: a few bytes on disk may expand to any number
    of them. The first and the last line stay, since they may be parts of longer ones.
    """
    first, last = data.find(b"\n"), data.rfind(b"\n")
    middle = data[first + 1 : last]
    if first == last or not any(mark in middle for mark in _ENDS_A_TURN):
        return data[: first + 1] + data[last + 1 :] if first != last else data
    kept = [line for line in middle.split(b"\n") if any(mark in line for mark in _ENDS_A_TURN)]
    return b"\n".join((data[:first], *kept, data[last + 1 :]))


class UnfinishedLine:
    """The end of the bytes so far that is not a whole line yet."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = BytesIO()
        """Gives what was written without a copy, which of a long line would take as much again."""
        self._size = 0

    def __bool__(self) -> bool:
        return self._size > 0

    @property
    def size(self) -> int:
        """In bytes."""
        return self._size

    def copy(self) -> "UnfinishedLine":
        """Another line as far as this one."""
        made = copy(self)
        made._bytes = BytesIO(self._bytes.getvalue())
        made._bytes.seek(0, SEEK_END)
        return made

    def join(self, data: bytes) -> list[bytes]:
        """The lines that `data` finishes, without their line feeds. Raises `ReadError`."""
        lines = data.split(b"\n")
        if len(lines) > 1 and self._size:
            self._bytes.write(lines[0])
            lines[0] = self._bytes.getvalue()
            self._bytes, self._size = BytesIO(), 0
        rest = lines.pop()
        if rest:
            self._size += len(rest)
            if self._size > self._max_bytes:
                raise ReadError("corrupt", "a record is larger than any that we read")
            self._bytes.write(rest)
        return lines


class LogReader:
    """Reads one log. Push its blocks in order, then `finish`."""

    def __init__(
        self,
        place: Place,
        max_record_bytes: int,
        *,
        exact: bool = False,
        opening: str | None = None,
    ) -> None:
        self.place = place
        self._max_record_bytes = max_record_bytes
        self._unfinished = UnfinishedLine(max_record_bytes)
        self._fold = LogFold(generation(place.name.generation), exact=exact, opening=opening)
        self._header: Header | None = None
        self._whole = place.name.compressed
        """All bytes so far are of whole frames, which must hold whole lines."""

    @staticmethod
    def resumed(
        place: Place,
        max_record_bytes: int,
        header: Header,
        state: FoldState,
        opening: str | None = None,
    ) -> "LogReader":
        """A reader that goes on where another one paused. What was said before that is lost."""
        reader = LogReader(place, max_record_bytes)
        reader._header = header
        rules = generation(place.name.generation)
        reader._fold = LogFold(rules, opening=opening, state=state)
        return reader

    def state(self) -> FoldState:
        """Where the reader stands, without anything that was said."""
        return self._fold.state()

    @property
    def opening(self) -> str | None:
        """The first words of the first prompt so far; None where they are not wanted."""
        return self._fold.opening

    @property
    def weight(self) -> int:
        """About how many bytes of memory all takes that is kept."""
        return self._fold.weight + self._unfinished.size

    def copy(self) -> "LogReader":
        """Another reader that stands where this one does."""
        made = copy(self)
        made._fold = self._fold.copy()
        made._unfinished = self._unfinished.copy()
        return made

    def before_unfinished(self, position: int) -> Pause:
        """Where the last line begins that is not whole yet; `position` is where the reader is."""
        made = self.copy()
        made._unfinished = UnfinishedLine(self._max_record_bytes)
        return Pause(made, position - self._unfinished.size)

    def is_torn_by(self, block: Block) -> bool:
        """Whether all before a block was of whole frames, but the block is not."""
        return self._whole and not block.whole

    def push(self, block: Block) -> None:
        """Take the next block. Raises `ReadError`."""
        if self.is_torn_by(block):
            self._check_whole_frames()
            self._whole = False
        data = _worth_a_look(block.data) if self._fold.dropping else block.data
        lines = self._unfinished.join(data)
        if lines and self._header is None:
            self._header = self._own_header(lines.pop(0))
        self._fold.feed(lines)
        if block.whole and self._fold.dropping:
            raise ReadError("corrupt", "a whole frame holds a bad record")

    def finish(self) -> Reading:
        """What the log comes to if it has no more blocks. Raises `ReadError`."""
        if self._whole:
            self._check_whole_frames()
        if self._header is None:
            raise ReadError("corrupt", "the log has no whole first line")
        return self._fold.reading(self._header)

    def salvaged(self) -> Reading:
        """What the log comes to up to its first damage. Raises `ReadError` without a header."""
        if self._header is None:
            raise ReadError("corrupt", "the log has no whole first line")
        through = self._fold.last_seq
        damaged = Degraded("damaged", through_seq=through if through >= 0 else None)
        return msgspec.structs.replace(self._fold.reading(self._header), degraded=damaged)

    def _own_header(self, line: bytes) -> Header:
        first = _header(line, self.place)
        if first.problem is not None:
            raise first.problem
        return first.header

    def _check_whole_frames(self) -> None:
        if self._header is None or self._unfinished:
            raise ReadError("corrupt", "the whole frames of the log do not hold whole lines")


def _header(line: bytes, place: Place) -> FirstLine:
    if len(line) > MAX_HEADER_BYTES:
        raise ReadError("corrupt", "the first line is larger than any header")
    return read_header(line, place.name, place.project, place.folder)
