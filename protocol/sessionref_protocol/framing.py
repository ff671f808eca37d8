"""Bytes of one direction to frames, and a payload to the bytes of its frame.

A frame is one message's bytes; what is in it is nobody's concern here. Two framings, each linear
in its input however that is cut, and never holding more than the limit and one chunk. A frame that
can't be had is reported once, in its place among the others, and reading goes on behind it.
Source of the rules: the contract, section 6, rule 5; the base protocol of language servers.
"""

import re
from typing import Final, Literal

import msgspec

Mode = Literal["line", "content-length"]

_BOM: Final = b"\xef\xbb\xbf"
_FILLER: Final = _BOM + b" \t\r\n"
_SKIPPED_FILLER: Final = re.compile(b"[" + _FILLER + b"]*")


class Oversized(msgspec.Struct, frozen=True):
    """Stands for a frame with more than `limit` bytes; they were, or will be, skipped."""

    limit: int


class BadFraming(msgspec.Struct, frozen=True):
    """Stands for bytes that are no frame: a header that can't be read, or a frame cut short."""

    reason: str


Frame = bytes | Oversized | BadFraming


def detect(first_bytes: bytes) -> Mode | None:
    """Which framing a stream has that begins like this; None where that can't be known yet."""
    decisive = first_bytes.lstrip(_FILLER)[:1]
    if not decisive:
        return None
    return "content-length" if decisive in b"Cc" else "line"


class LineFraming:
    """One payload a line. Lines end at 0x0A only; a CR before it, a BOM before the first line and
    blank lines are passed over. A last line without its end is read at the end of the input.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._skipping = False
        self._first = True

    @staticmethod
    def frame(payload: bytes) -> bytes:
        """A line. The payload is compact JSON, so it has no line end in it."""
        return payload + b"\n"

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this chunk completes."""
        frames: list[Frame] = []
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._finish(end, frames)
        self._line += rest
        # a BOM and a CR don't count, and only a whole line tells whether it has them
        if len(self._line) > self._limit + len(_BOM) + len(b"\r"):
            self._report(frames)
            self._skipping = True
        if self._skipping:
            self._line.clear()
        return frames

    def end(self) -> list[Frame]:
        """The last line, where the input ended without ending it."""
        frames: list[Frame] = []
        self._finish(b"", frames)
        return frames

    def _finish(self, end: bytes, frames: list[Frame]) -> None:
        line = end
        if self._line:
            self._line += end
            line = bytes(self._line)
            self._line.clear()
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if self._skipping:
            self._skipping = False
            return
        line = line.removesuffix(b"\r")
        if len(line) > self._limit:
            self._report(frames)
        elif line.strip(b" \t\r"):
            frames.append(line)

    def _report(self, frames: list[Frame]) -> None:
        if not self._skipping:
            frames.append(Oversized(self._limit))


_HEADER_LIMIT: Final = 4096
"""Bytes of one frame's header."""
_HEADER_END: Final = re.compile(rb"\r?\n\r?\n")
_RESUME_AT: Final = re.compile(
    rb"content-length[ \t]{0,8}:[ \t]{0,8}[0-9]{1,20}[ \t]{0,8}\r?\n", re.IGNORECASE
)
_LONGEST_RESUME: Final = 64
"""No match of the above is longer, so this much must be kept for one that is cut."""


class ContentLengthFraming:
    """`Content-Length: N`, an empty line, then N bytes of payload, as language servers have it.

    Other headers are passed over; so are white space and a BOM before a header. After a header
    that can't be read, reading goes on at the next thing that looks like a `Content-Length`.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._length: int | None = None
        """Of the payload that comes next; None before its header was read."""
        self._to_skip = 0
        self._lost = False

    @staticmethod
    def frame(payload: bytes) -> bytes:
        """Header and payload."""
        return b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload)

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this chunk completes."""
        self._buffer += chunk
        frames: list[Frame] = []
        while self._advance(frames):
            pass
        return frames

    def end(self) -> list[Frame]:
        """A report, where the input ended inside a frame."""
        inside = self._length is not None or self._buffer.strip(_FILLER)
        return [BadFraming("The input ended inside a frame")] if inside and not self._lost else []

    def _advance(self, frames: list[Frame]) -> bool:
        """One step; False when more input is needed."""
        if self._to_skip:
            return self._skip()
        if self._length is not None:
            return self._read_payload(self._length, frames)
        if self._lost:
            return self._resume()
        return self._read_header(frames)

    def _skip(self) -> bool:
        skipped = min(self._to_skip, len(self._buffer))
        del self._buffer[:skipped]
        self._to_skip -= skipped
        return not self._to_skip

    def _read_payload(self, length: int, frames: list[Frame]) -> bool:
        if len(self._buffer) < length:
            return False
        frames.append(bytes(self._buffer[:length]))
        del self._buffer[:length]
        self._length = None
        return True

    def _resume(self) -> bool:
        found = _RESUME_AT.search(self._buffer)
        if found is None:
            del self._buffer[:-_LONGEST_RESUME]
            return False
        del self._buffer[: found.start()]
        self._lost = False
        return True

    def _read_header(self, frames: list[Frame]) -> bool:
        filler = _SKIPPED_FILLER.match(self._buffer)
        assert filler is not None
        del self._buffer[: filler.end()]
        end = _HEADER_END.search(self._buffer, 0, _HEADER_LIMIT)
        if end is None:
            if len(self._buffer) < _HEADER_LIMIT:
                return False
            return self._lose(frames, "The header of a frame has no end", len(b"C"))
        length = self._parse_header(bytes(self._buffer[: end.start()]), frames)
        if length is None:
            return True
        del self._buffer[: end.end()]
        if length > self._limit:
            frames.append(Oversized(self._limit))
            self._to_skip = length
        else:
            self._length = length
        return True

    def _parse_header(self, header: bytes, frames: list[Frame]) -> int | None:
        """The length it gives. None after a bad line: then that is dropped with all before it."""
        length: int | None = None
        read = 0
        for line in header.split(b"\n"):
            read += len(line) + len(b"\n")
            name, colon, value = (part.strip() for part in line.partition(b":"))
            if not colon:
                self._lose(frames, "A line of a frame's header has no colon", read)
                return None
            if name.lower() == b"content-length":
                if not value.isdigit() or length not in (None, int(value)):
                    self._lose(frames, "The Content-Length of a frame is no single number", read)
                    return None
                length = int(value)
        if length is None:
            self._lose(frames, "A frame has no Content-Length", read)
        return length

    def _lose(self, frames: list[Frame], reason: str, read: int) -> bool:
        frames.append(BadFraming(reason))
        del self._buffer[:read]
        self._lost = True
        return True


class Framing:
    """Either framing: the one that is asked for, or with "auto" the one that the peer uses."""

    def __init__(self, mode: Literal["auto"] | Mode, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        """White space and BOMs that came before anything decided."""
        self._mode: Mode | None = None
        self._framing: LineFraming | ContentLengthFraming | None = None
        if mode != "auto":
            self._decide(mode)

    def _decide(self, mode: Mode) -> LineFraming | ContentLengthFraming:
        self._mode = mode
        make = LineFraming if mode == "line" else ContentLengthFraming
        self._framing = make(self._limit)
        return self._framing

    @property
    def mode(self) -> Mode | None:
        """The framing in use, None as long as that is undecided."""
        return self._mode

    def frame(self, payload: bytes) -> bytes:
        """The payload's frame; a line, as long as nothing is decided."""
        return (self._framing or LineFraming).frame(payload)

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that this chunk completes."""
        if self._framing is not None:
            return self._framing.feed(chunk)
        self._held += chunk
        mode = detect(chunk)
        if mode is None and len(self._held) > self._limit:
            mode = "line"
        if mode is None:
            return []
        held = bytes(self._held)
        self._held.clear()
        return self._decide(mode).feed(held)

    def end(self) -> list[Frame]:
        """What the end of the input completes or cuts."""
        return [] if self._framing is None else self._framing.end()
