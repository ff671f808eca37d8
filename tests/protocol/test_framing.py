"""Frames come out the same however the bytes are cut, and nothing but a frame is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionref_protocol.framing import (
    BadFraming,
    ContentLengthFraming,
    Frame,
    Framing,
    LineFraming,
    Mode,
    Oversized,
    detect,
)

BOM = b"\xef\xbb\xbf"


def lines(stream: bytes, limit: int = 100) -> list[Frame]:
    framing = LineFraming(limit)
    return framing.feed(stream) + framing.end()


def framed(stream: bytes, limit: int = 100) -> list[Frame]:
    framing = ContentLengthFraming(limit)
    return framing.feed(stream) + framing.end()


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\n \t\r\n\n\r\nb", [b"a", b"b"]),
        (b"a\rb\x0b\x0cc\xe2\x80\xa8d\x85\n", [b"a\rb\x0b\x0cc\xe2\x80\xa8d\x85"]),
        (BOM + b"a\nb", [b"a", b"b"]),
        (BOM + BOM + b"a\n" + BOM + b"b\n", [BOM + b"a", BOM + b"b"]),
        (BOM + b"\na", [b"a"]),
        (BOM, []),
        (b"\x00\n", [b"\x00"]),
    ],
)
def test_lines_end_at_line_feeds_only(stream: bytes, frames: list[Frame]) -> None:
    assert lines(stream) == frames


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"12345678\n", [b"12345678"]),
        (b"12345678\r\n", [b"12345678"]),
        (BOM + b"12345678\r\n", [b"12345678"]),
        (b"123456789\nok\n", [Oversized(8), b"ok"]),
        (b"1" * 50 + b"\r\n\nok", [Oversized(8), b"ok"]),
        (b"12345678\r", [b"12345678"]),
        (b"1" * 50, [Oversized(8)]),
        (
            b"a\n" + b"1" * 50 + b"\n" + b"1" * 50 + b"\nb\n",
            [b"a", Oversized(8), Oversized(8), b"b"],
        ),
    ],
)
def test_a_line_over_the_limit_is_reported_once_and_skipped(
    stream: bytes, frames: list[Frame]
) -> None:
    assert lines(stream, limit=8) == frames
    framing = LineFraming(limit=8)
    assert [f for byte in stream for f in framing.feed(bytes([byte]))] + framing.end() == frames


def test_a_long_line_is_reported_before_it_ends_and_is_not_kept() -> None:
    framing = LineFraming(limit=8)
    assert framing.feed(b"x" * 100) == [Oversized(8)]
    for _ in range(100):
        assert framing.feed(b"x" * 1000) == []
        assert not framing._line
    assert framing.feed(b"\nok\n") == [b"ok"]


def frame(payload: bytes) -> bytes:
    return ContentLengthFraming.frame(payload)


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"", []),
        (frame(b"a\nb") + frame(b"") + frame(b"c"), [b"a\nb", b"", b"c"]),
        (b"content-length:1\n\na", [b"a"]),
        (b"Content-Type: x; charset=utf-8\r\nCONTENT-LENGTH :  2 \r\n\r\nab", [b"ab"]),
        (b"Content-Length: 1\r\nContent-Length: 1\r\n\r\na", [b"a"]),
        (BOM + b"\r\n" + frame(b"a") + b"\r\n\n " + frame(b"b"), [b"a", b"b"]),
        (frame("é".encode()), ["é".encode()]),
    ],
)
def test_headers_say_how_long_a_payload_is(stream: bytes, frames: list[Frame]) -> None:
    assert framed(stream) == frames


NO_LENGTH = BadFraming("A frame has no Content-Length")
NO_NUMBER = BadFraming("The Content-Length of a frame is no single number")
NO_COLON = BadFraming("A line of a frame's header has no colon")
NO_END = BadFraming("The header of a frame has no end")
CUT = BadFraming("The input ended inside a frame")


@pytest.mark.parametrize(
    ("stream", "frames"),
    [
        (b"Content-Type: x\r\n\r\n{}" + frame(b"b"), [NO_LENGTH, b"b"]),
        (b"Content-Length: x\r\n\r\n{}" + frame(b"b"), [NO_NUMBER, b"b"]),
        (b"Content-Length: -1\r\n\r\n{}" + frame(b"b"), [NO_NUMBER, b"b"]),
        (b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}" + frame(b"b"), [NO_NUMBER, b"b"]),
        (b"Content-Length: \xd9\xa3\r\n\r\n{}" + frame(b"b"), [NO_NUMBER, b"b"]),
        (b"hello\n" + frame(b"b"), [NO_COLON, b"b"]),
        (b"Content-Length: 2\r\nhello\r\n\r\n{}" + frame(b"b"), [NO_COLON, b"b"]),
        (b"X: " + b"y" * 5000 + frame(b"b") + frame(b"c"), [NO_END, b"b", b"c"]),
        (b"Content-Length: 5\r\n\r\nabc", [CUT]),
        (b"Content-Len", [CUT]),
        (frame(b"a" * 101) + frame(b"b"), [Oversized(100), b"b"]),
        (b"Content-Length: " + b"9" * 4000 + b"\r\n\r\nabc", [Oversized(100)]),
        (frame(b"a") + b"\r\n", [b"a"]),
    ],
)
def test_what_is_no_frame_is_reported_once_and_reading_goes_on(
    stream: bytes, frames: list[Frame]
) -> None:
    assert framed(stream) == frames


def test_what_is_skipped_or_searched_is_not_kept() -> None:
    for start in (b"Content-Length: 999999999\r\n\r\n", b"hello\r\n\r\n"):
        framing = ContentLengthFraming(limit=100)
        assert len(framing.feed(start)) == 1
        for _ in range(100):
            assert framing.feed(b"x" * 1000) == []
            assert len(framing._buffer) <= 64


PIECES = [b"\n", b"\r\n", b"\r\n\r\n", BOM, b" ", b":", b"12", b"C", b"{}\n", b"X: y\r\n"]
PIECES += [b"Content-Length: ", b"Content-Length: 3\r\n", b"x" * 40, b"x" * 40 + b"\n"]

streams = st.lists(
    st.one_of(
        st.binary(max_size=6),
        st.binary(max_size=30).map(frame),
        st.sampled_from(PIECES),
    ),
    max_size=12,
).map(b"".join)


@pytest.mark.parametrize("mode", ["auto", "line", "content-length"])
@given(stream=streams, cuts=st.lists(st.integers(0, 200), max_size=8))
def test_frames_do_not_depend_on_how_the_bytes_are_cut(
    mode: Mode, stream: bytes, cuts: list[int]
) -> None:
    whole = Framing(mode, limit=30)
    frames = whole.feed(stream) + whole.end()
    for edges in ([0, *sorted(cuts), len(stream)], list(range(len(stream) + 1))):
        framing = Framing(mode, limit=30)
        pieces = [stream[a:b] for a, b in pairwise(edges)]
        cut = [found for piece in pieces for found in framing.feed(piece)]
        assert cut + framing.end() == frames
        assert framing.mode == whole.mode


@given(st.lists(st.binary(min_size=1, max_size=40)))
def test_payloads_come_back_from_their_frames(payloads: list[bytes]) -> None:
    assert framed(b"".join(map(ContentLengthFraming.frame, payloads))) == payloads
    plain = [payload.hex().encode() for payload in payloads]
    assert lines(b"".join(map(LineFraming.frame, plain))) == plain


@pytest.mark.parametrize(
    ("first", "mode"),
    [
        (b"", None),
        (BOM + b" \r\n\t", None),
        (b"\xef", None),
        (b"{", "line"),
        (b"C", "content-length"),
        (BOM + b"\n c", "content-length"),
        (b"x", "line"),
        (b"\x00C", "line"),
    ],
)
def test_the_first_byte_that_is_no_filler_decides(first: bytes, mode: Mode | None) -> None:
    assert detect(first) == mode
    framing = Framing("auto", limit=100)
    for byte in first:
        framing.feed(bytes([byte]))
    assert framing.mode == mode


def test_an_undecided_peer_is_written_to_in_lines() -> None:
    framing = Framing("auto", limit=100)
    assert framing.frame(b"{}") == b"{}\n"
    framing.feed(b"C")
    assert framing.frame(b"{}") == b"Content-Length: 2\r\n\r\n{}"


def test_endless_filler_is_not_kept_for_ever() -> None:
    framing = Framing("auto", limit=100)
    for _ in range(50):
        framing.feed(b"   ")
    assert framing.mode == "line"
    assert framing.feed(b"\n{}\n") == [b"{}"]
