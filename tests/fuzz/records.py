"""One record: the decoder at speed against the rule, and both against the plain reader.

An input is a generation, how many good records precede, and the line; see `rows` for marks.
"""

import json
from typing import Any

import msgspec

from fuzz import rows
from fuzz.target import Target
from sessionref.sessions.generations import generation
from sessionref.sessions.records import (
    BadRecordError,
    InvalidMessageError,
    NullRecordError,
    Unknown,
    read_record,
)
from sessionref.sessions.rows import (
    AnyRow,
    AssistantMessage,
    Descriptor,
    LogRow,
    PackedRow,
    SurfaceRow,
    SystemMessage,
    Text,
    Title,
    ToolCall,
    ToolResult,
    UserMessage,
    decoder,
)
from sessionref.sessions.surface import InvalidSurfaceError
from sessionref.sessions.title import subagent_name, title_text
from sessions.reading import read_plain, theirs
from support import logs

RECORDED = [logs.user("q"), logs.assistant("a"), logs.user("r"), logs.title("t")]
BEFORE = [json.dumps(row).encode() for row in logs.numbered(RECORDED)]

Plain = tuple[Any, ...]


def plain(row: AnyRow) -> Plain:
    """All of a row that the fold looks at."""
    told: Plain = ()
    match row:
        case Title(data=data):
            told = (title_text(bytes(data)),)
        case Descriptor(data=data):
            told = (subagent_name(bytes(data)),)
        case PackedRow():
            return "packed", row.seq, row.events
        case UserMessage(data=data):
            source = (data.source.kind, data.source.plugin)
            told = (source, [block for block in data.content if isinstance(block, Text)])
        case AssistantMessage(content=content):
            told = ([block for block in content if isinstance(block, Text | ToolCall)],)
        case ToolResult(call_id=call):
            told = (call,)
        case Unknown():
            told = (row.ignorable,)
    if isinstance(row, SurfaceRow):
        operation = row.surface_op if row.surface_op == "append" else row.surface_op.span()
        told = (*told, operation, row.source_event_seqs, isinstance(row, SystemMessage))
    kind = type(row).__name__ if told or "/" not in type(row).__name__ else LogRow.__name__
    return kind if not isinstance(row, SurfaceRow) or told[:-3] else "surface", row.seq, told


def check_rules(line: bytes, number: int) -> None:
    """What the decoder takes, the rule takes, too, and for the same."""
    rules = generation(number)
    try:
        row = decoder(rules).decode(line)
    except (msgspec.DecodeError, RecursionError):
        row = None
    expected = 0 if row is None else row.seq
    refused = False
    try:
        ruled = plain(read_record(line, rules, expected))
    except (BadRecordError, NullRecordError, InvalidMessageError, InvalidSurfaceError):
        refused = True
    if row is None:
        return
    try:
        fast = plain(row)
    except InvalidSurfaceError:
        assert refused
        return
    assert refused == (row.events == 0 or row.seq < 0 or row.seq > 2**53 - 1)
    assert refused or fast == ruled


def check(data: bytes) -> None:
    number = rows.generation_of(data)
    before = BEFORE[: data[1] % (len(BEFORE) + 1) if len(data) > 1 else 0]
    line = data[2:].replace(b"\n", b" ")
    lines = rows.numbered([*before, line], number)
    check_rules(lines[-1], number)
    file = b"\n".join((rows.HEADERS[number], *lines)) + b"\n"
    ours = read_plain(file, number)
    try:
        assert ours == theirs([], lines, number)
    except RecursionError:
        return  # deeper than the plain reader goes


TARGET = Target("records", check, rows.TOKENS, rows.mutate)
