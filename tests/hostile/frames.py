"""Zstandard frames made by hand, byte by byte, so that even the largest cost nothing to make.

Source: RFC 8878.
"""

from collections.abc import Iterable

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
MAX_BLOCK = 2**17

_RAW, _REPEATED = 0, 1


def _block(kind: int, size: int, *, last: bool) -> bytes:
    return (size << 3 | kind << 1 | last).to_bytes(3, "little")


def start(window_log: int = 17, declared: int | None = None) -> bytes:
    """How a frame begins, without a checksum; it may declare the size of its content."""
    window = bytes([window_log - 10 << 3])
    if declared is None:
        return MAGIC + b"\0" + window
    return MAGIC + b"\xc0" + window + declared.to_bytes(8, "little")


def repeated(byte: bytes, size: int, *, declared: int | None = None, torn: bool = False) -> bytes:
    """A frame that holds one byte over and over: four bytes for each 128 KiB.

    A torn one has all of its content, but not its end.
    """
    whole, rest = divmod(size, MAX_BLOCK)
    assert not rest
    block = _block(_REPEATED, MAX_BLOCK, last=False) + byte
    end = b"" if torn else _block(_RAW, 0, last=True)
    return start(declared=declared) + block * whole + end


def empty_blocks(count: int) -> bytes:
    """A frame that holds nothing, in so many blocks."""
    return start() + _block(_RAW, 0, last=False) * count + _block(_RAW, 0, last=True)


def raw(content: bytes) -> bytes:
    """A frame of one block that is not compressed."""
    return start() + _block(_RAW, len(content), last=True) + content


def compressed(pieces: Iterable[bytes], *, torn: bool = False, window_log: int = 20) -> bytes:
    """A frame with all the pieces in it; a torn one has all of its content, but not its end."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        1, window_log=window_log, write_content_size=False, write_checksum=True
    )
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    end = zstandard.COMPRESSOBJ_FLUSH_BLOCK if torn else zstandard.COMPRESSOBJ_FLUSH_FINISH
    return b"".join([*map(compressor.compress, pieces), compressor.flush(end)])
