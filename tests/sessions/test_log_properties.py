"""Random logs, read by us and by a plain second reader: the same outcome, however it is written.

The plain reader is `naive`; the logs come from `make`. Outcomes are compared whole: nodes in order
with voice and text, the last seq, the title, the number of unknown events, or the refusal.
"""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionref.sessions import fold
from sessions import make
from sessions.reading import Outcome, read_plain, read_zstd, theirs

randoms = st.randoms(use_true_random=False)
generations = st.integers(0, 4)
mischief = st.sampled_from([0.0, 0.02, 0.1])


@given(randoms, generations, mischief, st.integers(1, 5000))
def test_a_plain_log_comes_to_what_the_rules_say_in_blocks_of_any_size(
    rnd: Random, generation: int, mischief: float, step: int
) -> None:
    lines = make.make_lines(rnd, generation, mischief=mischief)
    data = b"\n".join(lines) + b"\n"
    assert read_plain(data, generation, step) == theirs([], lines[1:], generation)


@given(randoms, generations, mischief, st.sampled_from([64, 300, 2**17]))
def test_a_compressed_log_comes_to_the_same_however_its_lines_are_spread_over_frames(
    rnd: Random, generation: int, mischief: float, step: int
) -> None:
    lines = make.make_lines(rnd, generation, mischief=mischief)
    content = b"\n".join(lines) + b"\n"
    frames = map(make.frame, make.cut(rnd, content, rnd.randrange(8)))
    assert read_zstd(b"".join(frames), generation, step) == theirs(lines[1:], [], generation)


@given(randoms, generations, mischief)
def test_a_plain_log_may_stop_at_any_byte(rnd: Random, generation: int, mischief: float) -> None:
    data = b"\n".join(make.make_lines(rnd, generation, mischief=mischief)) + b"\n"
    data = data[: rnd.randrange(len(data) + 1)]
    lines = data.split(b"\n")[:-1]
    expected = theirs([], lines[1:], generation) if lines else "corrupt"
    assert read_plain(data, generation) == expected


@given(randoms, generations, mischief)
def test_a_compressed_log_may_stop_at_any_byte(
    rnd: Random, generation: int, mischief: float
) -> None:
    lines = make.make_lines(rnd, generation, mischief=mischief)
    content = b"\n".join(lines) + b"\n"
    pieces = make.cut(rnd, content, rnd.randrange(5))
    data = b"".join(map(make.frame, pieces))
    size = rnd.randrange(len(data) + 1)
    whole, torn = _torn_content(pieces, size)
    if not whole.endswith(b"\n"):
        expected: Outcome = "corrupt"
    else:
        expected = theirs(whole.split(b"\n")[1:-1], torn.split(b"\n")[:-1], generation)
    assert read_zstd(data[:size], generation, rnd.choice([64, 2**17])) == expected


def _torn_content(pieces: list[bytes], size: int) -> tuple[bytes, bytes]:
    """What whole frames hold of a file cut at `size`, and what its torn last frame yields.

    Each frame here is one block, which is there when nothing but the checksum is missing.
    """
    whole = b""
    for piece in pieces:
        length = len(make.frame(piece))
        if size < length:
            return whole, piece if size >= length - 4 else b""
        whole += piece
        size -= length
    return whole, b""


class RefusingDecoder:
    """Leaves every line to the rule."""

    @staticmethod
    def decode(_line: bytes) -> None:
        raise msgspec.DecodeError


@given(randoms, generations, mischief)
def test_the_fast_path_changes_nothing(rnd: Random, generation: int, mischief: float) -> None:
    data = b"\n".join(make.make_lines(rnd, generation, mischief=mischief)) + b"\n"
    fast = read_plain(data, generation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold, "decoder", lambda _: RefusingDecoder)
        slow = read_plain(data, generation)
    assert fast == slow
