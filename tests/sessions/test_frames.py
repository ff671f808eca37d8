"""Frames: what is whole, what is torn, what is none; and that nothing is expanded in memory."""

import tracemalloc
from collections.abc import Callable

import pytest
import zstandard

from sessionref.sessions.frames import STEP, Block, zstd_blocks
from sessionref.sessions.model import ReadError
from sessions.make import frame

WINDOW = 2**27
MAGIC = b"\x28\xb5\x2f\xfd"


def blocks(data: bytes, *, window: int = WINDOW, step: int = STEP) -> list[Block]:
    return list(zstd_blocks(lambda at, size: data[at : at + size], len(data), window, step=step))


def content(found: list[Block]) -> tuple[bytes, bytes]:
    """What whole frames hold, and what a torn one yields."""
    whole, torn = (
        b"".join(block.data for block in found if block.whole is kind) for kind in (True, False)
    )
    return whole, torn


def noise(size: int) -> bytes:
    """Bytes that do not compress, without a source of randomness."""
    value, found = 1, bytearray()
    while len(found) < size:
        value = value * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
        found += (value >> 24).to_bytes(5, "little")
    return bytes(found[:size])


def test_every_frame_is_read_and_says_where_it_ends() -> None:
    frames = [frame(b"one\n"), frame(b""), frame(b"two\n")]
    data = b"".join(frames)
    assert content(blocks(data)) == (b"one\ntwo\n", b"")
    assert blocks(data)[-1].end == len(data)
    singly = zstd_blocks(lambda at, n: data[at : at + n], len(data), WINDOW, singly=True)
    ends = [block.end for block in singly if block.end is not None]
    assert ends == [len(frames[0]), len(frames[0] + frames[1]), len(data)]


@pytest.mark.parametrize("step", [4, 5, 7, 13, 64, 1000, STEP])
def test_a_frame_may_be_larger_than_what_is_read_at_one_time(step: int) -> None:
    large = noise(300_000)
    data = frame(b"head\n") + frame(large) + frame(b"end\n")
    assert content(blocks(data, step=step)) == (b"head\n" + large + b"end\n", b"")


def test_frames_with_any_kind_of_header_are_walked() -> None:
    text = b"a line of some text\n" * 50
    kinds = [
        zstandard.ZstdCompressor(write_checksum=checksum, write_content_size=size)
        for checksum in (True, False)
        for size in (True, False)
    ]
    data = b"".join(kind.compress(text * times) for kind in kinds for times in (1, 20, 4000))
    assert content(blocks(data)) == (text * 4 * 4021, b"")


def test_blocks_that_repeat_one_byte_are_walked() -> None:
    data = frame(b"a" * 3 * 2**17) + frame(b"end\n")
    for step in (4, STEP):
        assert content(blocks(data, step=step)) == (b"a" * 3 * 2**17 + b"end\n", b"")


def raw_frame(*contents: bytes, window_log: int = 20) -> bytes:
    """A frame of uncompressed blocks, without a checksum, made by hand."""
    data = MAGIC + b"\0" + bytes([window_log - 10 << 3])
    for left, block in enumerate(reversed(contents)):
        last = 0 if left else 1
        header = (len(block) << 3 | last).to_bytes(3, "little")
        data = data[:6] + header + block + data[6:]
    return data


def test_a_torn_frame_yields_its_whole_blocks() -> None:
    head, last = frame(b"head\n"), raw_frame(b"first\n", b"second\n", b"third\n")
    starts = [6 + 3 + 6, 6 + 3 + 6 + 3 + 7]
    assert content(blocks(head + last)) == (b"head\nfirst\nsecond\nthird\n", b"")
    for size in range(len(last)):
        expected = b"".join(
            block
            for block, end in zip([b"first\n", b"second\n"], starts, strict=True)
            if size >= end
        )
        assert content(blocks(head + last[:size])) == (b"head\n", expected)


@pytest.mark.parametrize("step", [5, 64, 1000, STEP])
def test_a_torn_frame_yields_blocks_that_are_larger_than_what_is_taken_at_one_time(
    step: int,
) -> None:
    repeat = (2**17 << 3 | 2).to_bytes(3, "little")  # one byte, so often, and not the last block
    torn = raw_frame(b"")[:6] + repeat + b"y" + repeat + b"z" + repeat
    expected = b"y" * 2**17 + b"z" * 2**17
    assert content(blocks(frame(b"head\n") + torn, step=step)) == (b"head\n", expected)
    last = frame(b"\n" * 3 * 2**17)
    for missing in range(1, 5):
        found = content(blocks(frame(b"head\n") + last[:-missing], step=step))
        assert found == (b"head\n", b"\n" * 3 * 2**17)


def test_a_frame_that_lacks_only_its_checksum_yields_all_of_it() -> None:
    head, last = frame(b"head\n"), frame(b"text\n")
    for missing in range(1, 5):
        assert content(blocks(head + last[:-missing])) == (b"head\n", b"text\n")


@pytest.mark.parametrize("size", range(1, 10))
def test_the_beginning_of_a_frame_is_a_torn_frame(size: int) -> None:
    assert content(blocks(frame(b"head\n") + frame(b"x\n")[:size])) == (b"head\n", b"")


def test_fewer_bytes_than_a_magic_are_a_torn_frame_whatever_they_are() -> None:
    assert content(blocks(frame(b"head\n") + b"\0\0\0")) == (b"head\n", b"")


def flip(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage for a frame": lambda data: b"garbage" + data,
    "a magic that is none": flip(0),
    "a skippable frame": lambda data: b"\x50\x2a\x4d\x18\x01\0\0\0x" + data,
    "a reserved bit": lambda data: MAGIC + bytes([data[4] | 8]) + data[5:],
    "a reserved kind of block": lambda data: data[:6] + bytes([data[6] | 6]) + data[7:],
    "a flipped checksum": flip(-1),
    "a missing byte": lambda data: data[:-1],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_bad_frame_anywhere_makes_the_log_corrupt(damage: str) -> None:
    good = frame(b"some text that is long enough to have a block of its own\n" * 3)
    for data in (DAMAGES[damage](good) + good, good + DAMAGES[damage](good) + good):
        with pytest.raises(ReadError) as refused:
            blocks(data)
        assert refused.value.cause == "corrupt"


def test_a_window_over_the_limit_is_refused_before_it_is_allocated() -> None:
    data = raw_frame(b"text\n", window_log=24)
    assert content(blocks(data, window=2**24)) == (b"text\n", b"")
    with pytest.raises(ReadError) as refused:
        blocks(data, window=2**23)
    assert refused.value.cause == "corrupt"


def test_a_dictionary_that_nobody_has_is_refused() -> None:
    samples: list[bytes | bytearray | memoryview] = [
        b"sample %d of some text for a dictionary" % number for number in range(200)
    ]
    dictionary = zstandard.train_dictionary(1024, samples)
    data = zstandard.ZstdCompressor(dict_data=dictionary).compress(samples[0])
    with pytest.raises(ReadError) as refused:
        blocks(data)
    assert refused.value.cause == "corrupt"


def test_a_frame_that_lies_of_its_size_is_refused() -> None:
    honest = zstandard.ZstdCompressor().compress(b"x" * 300)
    assert honest[4] >> 6 == 1  # two bytes of content size, less 256
    lying = honest[:5] + (1000).to_bytes(2, "little") + honest[7:]
    with pytest.raises(ReadError):
        blocks(lying)


@pytest.mark.parametrize("size", [0, 4, 100, 299, 300, 2**20])
@pytest.mark.parametrize("step", [4, 9, 64, STEP])
def test_so_is_one_that_ends_in_an_empty_block(step: int, size: int) -> None:
    """The library lets that pass where it has less room than the frame declares."""
    text = b"x" * 299 + b"\n"
    lying = MAGIC + b"\x80\x50" + size.to_bytes(4, "little") + raw_frame(text, b"")[6:]
    data = frame(text) + lying + frame(text)
    if size == len(text):
        assert content(blocks(data, step=step)) == (3 * text, b"")
    else:
        with pytest.raises(ReadError):
            blocks(data, step=step)


def test_what_a_frame_expands_to_is_never_held() -> None:
    size = 2**28
    compressor = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    pieces = [compressor.compress(bytes(2**20)) for _ in range(size // 2**20)]
    bomb = b"".join((*pieces, compressor.flush()))
    assert len(bomb) < 2**15
    tracemalloc.start()
    try:
        expanded = sum(
            len(block.data)
            for block in zstd_blocks(lambda at, n: bomb[at : at + n], len(bomb), WINDOW)
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert expanded == size
    assert peak < 8 * STEP


def test_what_decompressing_keeps_is_told() -> None:
    def frame_of(window_log: int, content: bytes) -> bytes:
        parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=window_log)
        compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        return compressor.compress(content) + compressor.flush()

    large = noise(300_000)
    data = frame_of(17, b"one\n" * 9) + frame_of(20, large) + frame_of(18, b"two\n" * 9)
    singly = zstd_blocks(lambda at, n: data[at : at + n], len(data), WINDOW, singly=True)
    assert list(dict.fromkeys(block.held for block in singly)) == [2**17, 2**20]
    assert {block.held for block in blocks(data)} == {2**20}
    single = zstandard.ZstdCompressor().compress(large)  # which is its own window
    assert {block.held for block in blocks(single)} == {len(large)}
    assert {block.held for block in blocks(frame_of(20, large)[:-9])} == {2**20}
    declares_more = MAGIC + b"\xe0" + (2**62).to_bytes(8, "little") + b"\1\0\0"
    with pytest.raises(ReadError):
        blocks(declares_more)
