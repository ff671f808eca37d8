"""Line framing, held against splitting the whole stream: however it is cut, and in bounded memory.

An input is a limit, three places to cut, and the stream.
"""

from fuzz.cuts import cut
from fuzz.target import Target
from sessionref_protocol.framing import Frame, Framing, LineFraming, Oversized

BOM = b"\xef\xbb\xbf"

SINGLY = 256
"""How many bytes are given one by one."""


def expected(stream: bytes, limit: int) -> list[Frame]:
    """The frames of a whole stream."""
    frames: list[Frame] = []
    for line in stream.removeprefix(BOM).split(b"\n"):
        payload = line.removesuffix(b"\r")
        if len(payload) > limit:
            frames.append(Oversized(limit))
        elif payload.strip(b" \t\r"):
            frames.append(payload)
    return frames


def check(data: bytes) -> None:
    limit, places, stream = (data[0] if data else 0), data[1:4], data[4:]
    frames = expected(stream, limit)
    singly = [bytes([byte]) for byte in stream[:SINGLY]] + [stream[SINGLY:]]
    for pieces in ([stream], cut(stream, places), singly):
        framing = LineFraming(limit)
        found: list[Frame] = []
        for piece in pieces:
            found += framing.feed(piece)
            assert len(framing._line) <= limit + len(BOM) + 1
        assert found + framing.end() == frames
    either = Framing("auto", max(limit, len(stream)))
    if stream.lstrip(BOM + b" \t\r\n")[:1] not in (b"", b"C", b"c"):
        found = [frame for piece in cut(stream, places) for frame in either.feed(piece)]
        assert found + either.end() == expected(stream, max(limit, len(stream)))
        assert either.mode == "line"
    payloads = [frame for frame in frames if isinstance(frame, bytes)]
    again = LineFraming(limit).feed(b"".join(map(LineFraming.frame, payloads)))
    assert again == expected(b"\n".join(payloads), limit)


TARGET = Target("lines", check, (BOM, b"\r\n", b"\n\n", b" \t\n", b"C\n"))
