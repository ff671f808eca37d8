"""Whole logs, held against the plain reader: at once, and resumed at any frame and any byte.

An input is a generation, where to cut, where to stop, and lines; see `rows` for marks.
"""

from fuzz import rows
from fuzz.cuts import cut
from fuzz.target import Target
from sessionref.sessions.log import LogReader, Pause
from sessionref.sessions.model import Reading
from sessionref.sessions.state import FoldState
from sessionref_protocol import ecmascript
from sessions import make
from sessions.reading import (
    LIMIT,
    Outcome,
    beginning,
    looked_at,
    ours,
    place,
    theirs,
    without_texts,
)

STEPS = (97, 2**17)


def check(data: bytes) -> None:
    number = rows.generation_of(data)
    places, stop, step = data[1:4], data[4:5], STEPS[data[5] % len(STEPS) if len(data) > 5 else 0]
    *lines, rest = data[6:].split(b"\n")
    lines = rows.numbered(lines, number)
    content = b"\n".join((rows.HEADERS[number], *lines, rest))
    frames = [make.frame(piece) for piece in cut(content, places)]
    _check_plain(content, lines, number, step)
    _check_whole_frames(frames, lines, rest, number, step)
    for compressed, file in ((False, content), (True, b"".join(frames))):
        ends = {len(file) * each // 255 for each in stop}
        if compressed:
            ends.update(sum(map(len, frames[:count])) for count in range(1, len(frames)))
        _check_resumed(file, sorted(ends), number, step, compressed=compressed)


def _check_plain(content: bytes, lines: list[bytes], number: int, step: int) -> None:
    _compare(ours(content, place(number, compressed=False), step), [], lines, number)


def _check_whole_frames(
    frames: list[bytes], lines: list[bytes], rest: bytes, number: int, step: int
) -> None:
    found = ours(b"".join(frames), place(number, compressed=True), step)
    if rest:
        assert found == "corrupt"
    else:
        _compare(found, lines, [], number)


def _compare(found: Outcome, whole: list[bytes], torn: list[bytes], number: int) -> None:
    try:
        wanted = theirs(whole, torn, number)
    except RecursionError:
        return  # deeper than the plain reader goes
    assert found == wanted


def _check_resumed(
    file: bytes, ends: list[int], number: int, step: int, *, compressed: bool
) -> None:
    """A reader that looked at the file as it grew tells the same as one that looks at it now."""
    where = place(number, compressed=compressed)
    at_once, _ = looked_at(file, beginning(where), step)
    for end in ends:
        earlier, pause = looked_at(file[:end], beginning(where), step)
        if pause is None:
            continue
        assert pause.position <= end
        assert looked_at(file, pause, step)[0] == at_once
        assert isinstance(earlier, Reading)
        state = ecmascript.decode(ecmascript.encode(pause.reader.state()), FoldState)
        reader = LogReader.resumed(where, LIMIT, earlier.header, state, pause.reader.opening)
        resumed, _ = looked_at(file, Pause(reader, pause.position), step)
        assert without_texts(resumed) == without_texts(at_once)


TARGET = Target("fold", check, rows.TOKENS, rows.mutate)
