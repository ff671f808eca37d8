"""Logs in memory, read by the program and by the plain second reader, as outcomes to compare.

An outcome is all that a log comes to (nodes in order with voice and text, the last seq, the title,
the number of unknown events, when it was last active), or the cause of its refusal.
"""

from collections.abc import Iterator

import msgspec

from sessionref.sessions.frames import Block, plain_blocks, zstd_blocks
from sessionref.sessions.log import LogReader, Pause, Place, read_log, read_on
from sessionref.sessions.model import Node, ReadError, Reading, Voice
from sessionref.sessions.paths import LogName
from sessions import naive

WINDOW = 2**27
LIMIT = 2**26

Outcome = naive.Outcome | str


def place(generation: int, *, compressed: bool) -> Place:
    """Where a log of session `s` in the folder `/w` lies."""
    return Place("--w--", "s", LogName(generation, compressed))


def blocks(data: bytes, where: Place, *, start: int = 0, step: int) -> Iterator[Block]:
    """The blocks of a log from `start`."""

    def read(at: int, size: int) -> bytes:
        return data[start + at : start + at + size]

    if where.name.compressed:
        return zstd_blocks(read, len(data) - start, WINDOW, step=step)
    return plain_blocks(read, len(data) - start, step=step)


def outcome(reading: Reading) -> naive.Outcome:
    """A reading in the shape of the plain reader's."""
    nodes = [(node.seq, node.voice.value, node.text) for node in reading.nodes]
    unknown = reading.degraded.count if reading.degraded else 0
    assert unknown is not None
    captured, active = reading.captured_through_seq, reading.last_activity_at
    return naive.Outcome(nodes, captured, reading.title, unknown, active)


def ours(data: bytes, where: Place, step: int) -> Outcome:
    """What the program makes of a log."""
    try:
        return outcome(read_log(blocks(data, where, step=step), where, LIMIT))
    except ReadError as error:
        return error.cause


def read_plain(data: bytes, generation: int, step: int = 97) -> Outcome:
    """What the program makes of a plain log."""
    return ours(data, place(generation, compressed=False), step)


def read_zstd(data: bytes, generation: int, step: int = 256) -> Outcome:
    """What the program makes of a compressed log."""
    return ours(data, place(generation, compressed=True), step)


def theirs(whole: list[bytes], torn: list[bytes], generation: int) -> Outcome:
    """What the plain reader makes of the lines after the header."""
    try:
        return naive.read(whole, torn, generation)
    except naive.RefusedError:
        return "corrupt"


def beginning(where: Place) -> Pause:
    """Where every reader begins, told to keep the first words."""
    return Pause(LogReader(where, LIMIT, opening=""), 0)


def looked_at(data: bytes, start: Pause, step: int) -> tuple[Reading | str, Pause | None]:
    """What the program makes of a log when it goes on, and where it can go on later."""
    following = blocks(data, start.reader.place, start=start.position, step=step)
    try:
        return read_on(following, start)
    except ReadError as error:
        return error.cause, None


def without_texts(told: Reading | str) -> Reading | str:
    """What is left of a reading where nothing said is remembered."""
    if isinstance(told, str):
        return told
    nodes = tuple(Node.of(node.seq, Voice.OTHER, "") for node in told.nodes)
    return msgspec.structs.replace(told, nodes=nodes)
