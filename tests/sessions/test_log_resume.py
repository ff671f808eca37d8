"""Reading a log in parts comes to the same as reading it at once, wherever the parts end.

A part ends where a reader happened to look: at any byte. What a reader remembers of a part is
either itself, or its state, of which nothing that was said may be left but titles and names.
"""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sessionref.sessions.log import LogReader, Pause, Place, read_on
from sessionref.sessions.model import Reading
from sessionref.sessions.state import FoldState
from sessionref_protocol import ecmascript
from sessions import make
from sessions.reading import LIMIT, beginning, blocks, looked_at, place, without_texts
from support import logs

randoms = st.randoms(use_true_random=False)
generations = st.integers(0, 4)
mischief = st.sampled_from([0.0, 0.02, 0.1])


def written(rnd: Random, where: Place, mischief: float) -> bytes:
    lines = make.make_lines(rnd, where.name.generation, mischief=mischief)
    content = b"\n".join(lines) + b"\n"
    if not where.name.compressed:
        return content
    return b"".join(map(make.frame, make.cut(rnd, content, rnd.randrange(8))))


@given(randoms, generations, mischief, st.booleans())
def test_a_log_that_grows_comes_to_the_same_as_when_it_is_read_at_once(
    rnd: Random, generation: int, mischief: float, compressed: bool
) -> None:
    where = place(generation, compressed=compressed)
    data = written(rnd, where, mischief)
    pause: Pause | None = None
    sizes = sorted(rnd.randrange(len(data) + 1) for _ in range(5))
    for size in [*sizes, len(data)]:
        step = rnd.choice([64, 300, 2**17])
        grown = data[:size]
        expected, _ = looked_at(grown, beginning(where), step)
        outcome, next_pause = looked_at(grown, pause or beginning(where), step)
        assert outcome == expected
        pause = next_pause or pause  # after a refusal an earlier place is as good as before
        assert pause is None or pause.position <= size


@given(randoms, generations, mischief, st.booleans())
def test_a_state_is_as_good_as_the_reader_but_for_what_was_said(
    rnd: Random, generation: int, mischief: float, compressed: bool
) -> None:
    where = place(generation, compressed=compressed)
    data = written(rnd, where, mischief)
    outcome, pause = looked_at(data[: rnd.randrange(len(data) + 1)], beginning(where), 2**17)
    if pause is None:
        return
    assert isinstance(outcome, Reading)
    text = ecmascript.encode(pause.reader.state())
    state = ecmascript.decode(text, FoldState)
    reader = LogReader.resumed(where, LIMIT, outcome.header, state, pause.reader.opening)
    resumed, _ = looked_at(data, Pause(reader, pause.position), 2**17)
    expected, _ = looked_at(data, beginning(where), 2**17)
    assert without_texts(resumed) == without_texts(expected)


def test_what_is_remembered_quotes_nobody() -> None:
    rows = [logs.user("a b\n\n c " + "x" * 100), logs.assistant("said"), logs.title("named")]
    data = logs.encode(logs.header("s", cwd="/w"), [logs.assistant("hi"), *rows])
    where = place(0, compressed=True)
    reading, pause = read_on(blocks(data, where, step=2**17), beginning(where))
    assert (reading.title, reading.opening) == ("named", "a b c " + "x" * 74)
    text = ecmascript.encode(pause.reader.state())
    assert b"named" in text
    assert b"said" not in text
    assert b"xx" not in text
    unasked, _ = read_on(blocks(data, where, step=2**17), Pause(LogReader(where, LIMIT), 0))
    assert unasked.opening is None
