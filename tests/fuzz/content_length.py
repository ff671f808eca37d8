"""Content-Length framing, held against a reader of the whole stream: however it is cut.

An input is a limit, three places to cut, and the stream.
"""

import re

from fuzz.cuts import cut
from fuzz.target import Target
from sessionref_protocol.framing import (
    BadFraming,
    ContentLengthFraming,
    Frame,
    Framing,
    Oversized,
)

FILLER = b"\xef\xbb\xbf \t\r\n"
LOOKS_LIKE_ONE = re.compile(
    rb"content-length[ \t]{0,8}:[ \t]{0,8}[0-9]{1,20}[ \t]{0,8}\r?\n", re.IGNORECASE
)
HEADER_LIMIT = 4096
SINGLY = 256
"""How many bytes are given one by one."""


class LostError(Exception):
    """A header that can't be read. `read` is how much of it was looked at."""

    def __init__(self, read: int) -> None:
        super().__init__(read)
        self.read = read


def length_in(header: bytes) -> int:
    """The length that a header gives. Raises `LostError`."""
    lengths = set()
    read = 0
    for line in header.split(b"\n"):
        read += len(line) + 1
        if b":" not in line:
            raise LostError(read)
        name, value = line.split(b":", 1)
        if name.strip().lower() == b"content-length":
            if not re.fullmatch(rb"[0-9]+", value.strip()):
                raise LostError(read)
            lengths.add(int(value))
            if len(lengths) > 1:
                raise LostError(read)
    if not lengths:
        raise LostError(read)
    return lengths.pop()


def expected(stream: bytes, limit: int) -> list[Frame | None]:
    """The frames of a whole stream; None stands for any report of bytes that are none."""
    frames: list[Frame | None] = []
    while stream := stream.lstrip(FILLER):
        end = re.search(rb"\r?\n\r?\n", stream[:HEADER_LIMIT])
        if end is None and len(stream) < HEADER_LIMIT:
            return [*frames, None]
        try:
            if end is None:
                raise LostError(1)
            length = length_in(stream[: end.start()])
        except LostError as lost:
            frames.append(None)
            next_one = LOOKS_LIKE_ONE.search(stream, lost.read)
            if next_one is None:
                return frames
            stream = stream[next_one.start() :]
            continue
        body = stream[end.end() :]
        if length > limit:
            frames.append(Oversized(limit))
        elif length > len(body):
            return [*frames, None]
        else:
            frames.append(body[:length])
        stream = body[length:]
    return frames


def told(frames: list[Frame]) -> list[Frame | None]:
    return [None if isinstance(frame, BadFraming) else frame for frame in frames]


def check(data: bytes) -> None:
    limit, places, stream = (data[0] if data else 0), data[1:4], data[4:]
    wanted = expected(stream, limit)
    singly = [bytes([byte]) for byte in stream[:SINGLY]] + [stream[SINGLY:]]
    for pieces in ([stream], cut(stream, places), singly):
        framing = ContentLengthFraming(limit)
        found: list[Frame] = []
        for piece in pieces:
            found += framing.feed(piece)
            assert len(framing._buffer) <= max(limit, HEADER_LIMIT) + len(piece)
        assert told(found + framing.end()) == wanted
    either = Framing("auto", max(limit, len(stream)))
    if stream.lstrip(FILLER)[:1] in (b"C", b"c"):
        found = [frame for piece in cut(stream, places) for frame in either.feed(piece)]
        assert told(found + either.end()) == expected(stream, max(limit, len(stream)))
        assert either.mode == "content-length"
    payloads = [frame for frame in wanted if isinstance(frame, bytes)]
    again = ContentLengthFraming(limit)
    assert again.feed(b"".join(map(ContentLengthFraming.frame, payloads))) == payloads
    assert again.end() == []


TARGET = Target(
    "content-length",
    check,
    (b"Content-Length: ", b"Content-Length: 3\r\n\r\n", b"\r\n\r\n", b"\n\n", b"X: y\r\n", b":"),
)
