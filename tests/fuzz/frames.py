"""The walk over zstandard frames, held against the library's own reader, a frame at a time.

An input is a size to read in, and the file.
"""

from collections.abc import Iterator

import zstandard

from fuzz.target import Target
from sessionref.sessions.frames import Block, good_end, zstd_blocks
from sessionref.sessions.model import ReadError

MAGIC = b"\x28\xb5\x2f\xfd"
WINDOW = 2**20
MAX_CONTENT = 2**24
"""More than an input may expand to, so that a bomb takes no longer than the rest."""


class DamagedError(Exception):
    """What is there is no frame."""


def frame_size(data: bytes) -> int | None:
    """How long the frame is that `data` begins with, by RFC 8878; None where it is cut short."""
    if data[:4] != MAGIC:
        raise DamagedError
    if len(data) < 5:
        return None
    descriptor = data[4]
    single = descriptor >> 5 & 1
    at = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[descriptor >> 6]
    last = False
    while not last:
        if at + 3 > len(data):
            return None
        header = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        if kind == 3:
            raise DamagedError
        at += 3 + (1 if kind == 1 else size)
    at += 4 if descriptor & 4 else 0
    return at if at <= len(data) else None


def declared_size(frame: bytes) -> int | None:
    """How large the content is, as its header says by RFC 8878, if it does; it is there."""
    descriptor = frame[4]
    single = descriptor >> 5 & 1
    at = 5 + (not single) + (0, 1, 2, 4)[descriptor & 3]
    width = (single, 2, 4, 8)[descriptor >> 6]
    size = int.from_bytes(frame[at : at + width], "little") + (256 if width == 2 else 0)
    return size if width else None


def content(frame: bytes) -> tuple[bytes, bool]:
    """What a frame, or the beginning of one, holds, and whether it was whole."""
    reader = zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj()
    try:
        found = reader.decompress(frame)
    except zstandard.ZstdError:
        raise DamagedError from None
    if reader.eof and declared_size(frame) not in (None, len(found)):
        raise DamagedError  # which the library leaves to us where the last block is empty
    return found, reader.eof and not reader.unused_data


def check(data: bytes) -> None:
    step, file = 4 + (data[0] if data else 0), data[1:]
    blocks: list[Block] = []
    damaged = False
    size = 0

    def singly() -> Iterator[Block]:
        return zstd_blocks(
            lambda at, n: file[at : at + n], len(file), WINDOW, step=step, singly=True
        )

    try:
        for block in singly():
            assert len(block.data) <= step
            size += len(block.data)
            if size > MAX_CONTENT:
                return
            blocks.append(block)
    except ReadError:
        damaged = True
    at = _check_whole_frames(file, blocks)
    _check_rest(file[at:], blocks, damaged=damaged)
    assert good_end(singly()) == at
    _check_at_once(file, blocks, damaged=damaged)


def _check_whole_frames(file: bytes, blocks: list[Block]) -> int:
    """Frame by frame: the same content, the same ends. Where the last one ends."""
    at = 0
    taken = 0
    for place, block in enumerate(blocks):
        if block.end is None:
            continue
        assert frame_size(file[at:]) == block.end - at
        whole = b"".join(each.data for each in blocks[taken : place + 1])
        assert all(each.whole for each in blocks[taken : place + 1])
        assert content(file[at : block.end]) == (whole, True)
        at, taken = block.end, place + 1
    del blocks[:taken]
    return at


def _check_rest(rest: bytes, blocks: list[Block], *, damaged: bool) -> None:
    """What follows the last whole frame: nothing, a torn frame, or damage."""
    if len(rest) < len(MAGIC):
        assert not blocks
        assert not damaged
        return
    try:
        size = frame_size(rest)
        yielded, whole = content(rest if size is None else rest[:size])
    except DamagedError:
        # The library may stumble over what lies behind the last whole block of a torn frame.
        assert damaged or frame_size(rest) is None
        return
    ours = b"".join(block.data for block in blocks)
    if damaged:
        assert not whole
    else:
        assert size is None
        assert not any(block.whole for block in blocks)
        assert yielded.startswith(ours)
        assert len(yielded) - len(ours) <= 2**17


def _check_at_once(file: bytes, rest: list[Block], *, damaged: bool) -> None:
    """Reading in large steps comes to the same."""
    try:
        blocks = list(zstd_blocks(lambda at, n: file[at : at + n], len(file), WINDOW))
    except ReadError:
        assert damaged
        return
    assert not damaged
    torn = b"".join(block.data for block in blocks if not block.whole)
    assert torn == b"".join(block.data for block in rest)


TARGET = Target("frames", check, (MAGIC, MAGIC + b"\0\x38", b"\x50\x2a\x4d\x18"))
