"""The bytes of a log file: plain, or zstandard frames one after another.

Frames are walked by their headers, so that a torn last frame is seen and not guessed, and are
decompressed in bounded blocks, whatever they claim of their size. Checksums are verified by the
decompressor. The only importer of zstandard; it knows no lines. Source: RFC 8878 for the frame
format; the log format, sections 1 and 6, for what a log may hold.
"""

import io
from collections.abc import Callable, Generator, Iterable, Iterator
from struct import Struct
from typing import Final, NamedTuple

import zstandard

from sessionref.config import KIB
from sessionref.sessions.model import ReadError

Read = Callable[[int, int], bytes]
"""Bytes of a file: at an offset, up to a size; fewer only at the end of what may be read."""

STEP: Final = 128 * KIB
"""How much is read, and how much decompressed, at one time: what bounds memory, whatever a frame
claims or expands to."""
_PEEK: Final = 4 * KIB

_MAGIC: Final = 0xFD2FB528
_MAGIC_SIZE: Final = 4
_CHECKSUM: Final = 0x04

_BLOCK_HEADER: Final = Struct("<I").unpack_from
_ORDINARY: Final = Struct("<IHI").unpack_from
"""Magic, descriptor with window, block header: how the frames of a log usually start."""
_ORDINARY_DESCRIPTOR: Final = _CHECKSUM
_ORDINARY_SIZE: Final = 13
"""Of such a frame of one block, without the content of the block."""
_BLOCK_SIZE: Final = 0xFFFFF8
"""In a block's header."""
_EMPTY_BLOCK: Final = bytes(3)
"""Put behind a torn frame. Its last whole block may hold more than is asked for at one time, and
the rest is given only as long as there is more to read."""
_MAX_HEADER: Final = 18
_PADDING: Final = bytes(10)
"""Lets headers be unpacked at the very end of a chunk."""


def _header_size(descriptor: int) -> int:
    single_segment = descriptor >> 5 & 1
    content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    dictionary_id = (0, 1, 2, 4)[descriptor & 3]
    return 5 + (1 - single_segment) + dictionary_id + content_size


_HEADER_SIZES: Final = tuple(map(_header_size, range(256)))
"""Size of a frame header, magic included, by its descriptor byte."""
_DECLARING: Final = 0x20
"""The least descriptor of a frame that says how large its content is."""


class Block(NamedTuple):
    """Decompressed bytes of a log, in order."""

    data: bytes
    whole: bool
    """It is of a frame that the file has whole: nothing in it was torn."""
    end: int | None
    """Where in the file the frame ends whose content ends here; None in the midst of one."""
    held: int = 0
    """Bytes of memory, at most, that decompressing has taken so far and keeps."""


def plain_blocks(read: Read, size: int, *, step: int = STEP) -> Generator[Block, None, None]:
    """The blocks of a plain file."""
    offset = 0
    while offset < size:
        data = read(offset, min(step, size - offset))
        offset += len(data)
        yield Block(data, whole=False, end=None)


def zstd_blocks(
    read: Read, size: int, max_window_bytes: int, *, step: int = STEP, singly: bool = False
) -> Generator[Block, None, None]:
    """The blocks of concatenated frames; only those of a torn last frame are not `whole`.

    `singly`: no frame is looked at before the content of the one before it has been taken.
    Raises `ReadError` ("corrupt") for anything that is no frame, or not a whole and good one,
    except that the file may stop anywhere inside its last frame.
    """
    decompressor = zstandard.ZstdDecompressor(max_window_size=max_window_bytes)
    offset = held = 0
    while size - offset >= _MAGIC_SIZE:
        chunk = read(offset, min(step, size - offset))
        complete, window = _complete_frames(chunk, singly=singly)
        held = max(held, min(window, max_window_bytes))
        if complete:
            offset += complete
            source = io.BytesIO(chunk[:complete])
            yield from _decompressed(decompressor, source, offset, step, held)
        else:
            end, whole = _end_of_large_frame(read, offset, size)
            part = _Range(read, offset, end, b"" if whole or end == offset else _EMPTY_BLOCK)
            blocks = _decompressed(decompressor, part, end if whole else None, step, held)
            header = read(offset, min(_MAX_HEADER, size - offset))
            yield from _as_declared(blocks, _declared_size(header))
            offset = end if whole else size


def good_end(blocks: Iterable[Block], weigh: Callable[[int], None] = lambda _: None) -> int:
    """Where the last frame ends before which nothing is damaged; the frames come singly.

    `weigh` is told again and again how many bytes of memory it takes.
    """
    end = 0
    try:
        for block in blocks:
            weigh(block.held)
            end = block.end or end
    except ReadError as error:
        if error.cause != "corrupt":
            raise
    return end


def _complete_frames(chunk: bytes, *, singly: bool) -> tuple[int, int]:
    """How many bytes of `chunk`, which starts with a frame, are complete frames (or one).

    And the largest window of those, or of the frame that is not complete.
    """
    size = len(chunk)
    padded = chunk + _PADDING
    end = window = 0
    while size - end >= _MAGIC_SIZE and not (singly and end):
        magic, descriptor, block = _ORDINARY(padded, end)
        if magic != _MAGIC:
            raise ReadError("corrupt", "a part of the log is no zstandard frame")
        if descriptor & 0xFF == _ORDINARY_DESCRIPTOR and block & 3 == 1:
            at = end + _ORDINARY_SIZE + (block >> 3 & 0x1FFFFF)
        else:
            at = _end_of_odd_frame(padded, end, size)
            window = max(window, _window(padded[end : end + _MAX_HEADER]))
        if at > size:
            break
        end = at
    return end, window


def _window(header: bytes) -> int:
    """How many bytes a frame wants to be kept in memory while it is decompressed."""
    try:
        return zstandard.get_frame_parameters(header).window_size
    except zstandard.ZstdError:
        return 0  # which decompressing it tells, too


def _declared_size(header: bytes) -> int | None:
    """How large a frame says that its content is; None where it does not."""
    try:
        size = zstandard.get_frame_parameters(header).content_size
    except zstandard.ZstdError:
        return None  # as above
    return None if size == zstandard.CONTENTSIZE_UNKNOWN else size


def _end_of_odd_frame(chunk: bytes, at: int, size: int) -> int:
    """Where the frame at `at` ends; more than `size` where the chunk does not tell, or where the
    content has to be measured: zstandard doesn't do that for every frame that ends in an empty
    block, but as its buffers happen to be.
    """
    descriptor = chunk[at + _MAGIC_SIZE]
    at += _HEADER_SIZES[descriptor]
    while at + 3 <= size:
        (block,) = _BLOCK_HEADER(chunk, at)
        at += _block_size(block)
        if block & 1:
            if descriptor >= _DECLARING and not block & _BLOCK_SIZE:
                break
            return at + (4 if descriptor & _CHECKSUM else 0)
    return size + 1


def _block_size(header: int) -> int:
    """Size of a block with its header of three bytes. Other bytes of `header` are ignored."""
    kind = header & 6
    if kind == 6:
        raise ReadError("corrupt", "a frame of the log has a block of a reserved kind")
    return 4 if kind == 2 else 3 + (header >> 3 & 0x1FFFFF)


def _end_of_large_frame(read: Read, offset: int, size: int) -> tuple[int, bool]:
    """Where a frame ends of which a chunk has only the start, and True. If the file stops before
    that: where its last whole block ends, and False.
    """
    peeked, start = read(offset, min(_PEEK, size - offset)), offset
    if len(peeked) <= _MAGIC_SIZE:
        return offset, False
    descriptor = peeked[_MAGIC_SIZE]
    end = at = offset + _HEADER_SIZES[descriptor]
    while at + 3 <= size:
        if at + 3 > start + len(peeked):
            peeked, start = read(at, min(_PEEK, size - at)), at
        block = int.from_bytes(peeked[at - start : at - start + 3], "little")
        at += _block_size(block)
        if at <= size:
            end = at
        if block & 1:
            at += 4 if descriptor & _CHECKSUM else 0
            return (at, True) if at <= size else (end, False)
    return min(end, size), False


class _Range:
    """A part of a file, and what is to follow it, as something that zstandard reads from."""

    def __init__(self, read: Read, offset: int, end: int, tail: bytes) -> None:
        self._read = read
        self._offset = offset
        self._end = end
        self._tail = tail

    def read(self, size: int) -> bytes:
        """The next bytes of the part."""
        data = self._read(self._offset, min(size, self._end - self._offset))
        self._offset += len(data)
        if not data:
            data, self._tail = self._tail, b""
        return data


def _decompressed(
    decompressor: zstandard.ZstdDecompressor,
    source: io.BytesIO | _Range,
    end: int | None,
    step: int,
    held: int,
) -> Iterator[Block]:
    """The content of whole frames up to `end`, or what a torn frame gives (`end` is None)."""
    reader = decompressor.stream_reader(source, read_across_frames=True)  # type: ignore[arg-type]
    try:
        while data := reader.read(step):
            yield Block(data, whole=end is not None, end=None, held=held)
    except zstandard.ZstdError:
        raise ReadError("corrupt", "a frame of the log is damaged") from None
    if end is not None:
        yield Block(b"", whole=True, end=end, held=held)


def _as_declared(blocks: Iterable[Block], size: int | None) -> Iterator[Block]:
    """The blocks of one frame; where it is whole, they come to the size that it declares."""
    taken = 0
    for block in blocks:
        taken += len(block.data)
        if block.end is not None and size not in (None, taken):
            raise ReadError("corrupt", "a frame of the log holds less or more than it says")
        yield block
