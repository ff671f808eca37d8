"""One line of a log to one event: the rule itself, for every generation and every odd shape.

`rows.decoder` takes ordinary lines at speed; what it refuses comes here. Both must agree wherever
the decoder accepts, and a test compares them. JSON is strict; bytes that are no UTF-8 read as
U+FFFD; of equal keys the last one wins; depth matters only in parts that are looked at. This
module knows no files and keeps no state. Source: the log format, sections 3 to 6.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from sessionref.sessions.generations import Generation
from sessionref.sessions.rows import (
    MAX_SAFE_INTEGER,
    AnyRow,
    AssistantMessage,
    Authored,
    Block,
    Descriptor,
    LogRow,
    Operation,
    Packed,
    Source,
    StepEnd,
    StepStart,
    SurfaceRow,
    SystemMessage,
    Text,
    Title,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
    assistant_data,
    tool_data,
)
from sessionref.sessions.surface import Citations, InvalidSurfaceError, Replace
from sessionref_protocol import ecmascript

Members = Mapping[str, bytes]

_PACKED: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "text-chunks": ("texts", frozenset()),
    "reasoning-chunks": ("texts", frozenset()),
    "tool-call-chunks": ("args", frozenset({"id", "name"})),
}
"""Packed rows by type: where their payload is, and which fields they have besides."""

_MARKERS: Final[Mapping[str, type[LogRow]]] = {
    "turn/start": TurnStart,
    "turn/end": TurnEnd,
    "step/start": StepStart,
    "step/end": StepEnd,
}


class BadRecordError(Exception):
    """A line that is no event of its log. `ends_turn`: it still says that it is a `turn/end`."""

    def __init__(self, reason: str, *, ends_turn: bool = False) -> None:
        super().__init__(reason)
        self.ends_turn = ends_turn


class NullRecordError(Exception):
    """The line `null`, which no rule about tails makes harmless."""


class InvalidMessageError(Exception):
    """An event of which a snapshot needs the text, but it has not the shape of a message."""


class Unknown(LogRow, frozen=True, gc=False, kw_only=True):
    """An event of a type that we do not know."""

    ignorable: bool


def read_record(line: bytes, generation: Generation, expected: int) -> AnyRow:
    """The event of one line (without its line feed), whose seq must be `expected`.

    Raises `BadRecordError` and `NullRecordError`; for an event in its place `InvalidMessageError`
    and `InvalidSurfaceError`.
    """
    members = record_members(line)
    kind = string(members.get("type"))
    if kind is None:
        raise BadRecordError("a record has no type")
    if generation.packed_rows and kind in _PACKED:
        return _packed(kind, members, expected)
    if count(members.get("seq")) != expected:
        raise BadRecordError("a record is not the next one", ends_turn=kind == "turn/end")
    strange = kind not in generation.surface_types and kind not in generation.log_types
    if kind in generation.surface_types or (
        strange and not generation.understood and "surfaceOp" in members
    ):
        return _surface_row(kind, expected, members)
    if "surfaceOp" in members:
        raise InvalidSurfaceError("an event that has no place on the surface claims one")
    if kind == "session/title":
        return Title(expected, data=msgspec.Raw(members.get("data", b"null")))
    if kind == "subagent/descriptor":
        return Descriptor(expected, data=msgspec.Raw(members.get("data", b"null")))
    if strange:
        return Unknown(expected, ignorable=members.get("ignorable") == b"true")
    return _MARKERS.get(kind, LogRow)(expected)


def record_members(line: bytes) -> Members:
    """The members of a line that is an object. Raises `BadRecordError` and `NullRecordError`."""
    if not line.isascii():
        line = line.decode(errors="replace").encode()
    try:
        return ecmascript.scan_object(line)
    except msgspec.DecodeError:
        if line.strip(b" \t\r") == b"null":
            raise NullRecordError from None
        raise BadRecordError("a record is not a JSON object") from None


def ends_turn(line: bytes) -> bool:
    """Whether a line says that it is a `turn/end`, whatever else. Raises `NullRecordError`."""
    try:
        return string(record_members(line).get("type")) == "turn/end"
    except BadRecordError:
        return False


# Values


def string(raw: bytes | None) -> str | None:
    """The string that a member is, or None for anything else."""
    if raw is None or not raw.startswith(b'"'):
        return None
    return ecmascript.decode(raw, str)


def number(raw: bytes | None) -> int | float | None:
    """The number that a member is, or None for anything else."""
    if not raw or raw[0] not in b"-0123456789":
        return None
    value = ecmascript.decode_any(raw)
    return value if isinstance(value, int | float) else None


def integer(raw: bytes | None) -> int | None:
    """The safe integer that a member is (`1.0` is one), or None for anything else."""
    value = number(raw)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER else None


def count(raw: bytes | None) -> int | None:
    """The non-negative safe integer that a member is, or None for anything else."""
    value = integer(raw)
    return None if value is None or value < 0 else value


def _object(raw: bytes | None) -> Members | None:
    """The members of the object that a member is, or None for anything else."""
    if raw is None or not raw.startswith(b"{"):
        return None
    return ecmascript.scan_object(raw)


def _list(raw: bytes | None) -> list[bytes] | None:
    """The items of the list that a member is, or None for anything else, or too deep a list."""
    if raw is None or not raw.startswith(b"["):
        return None
    try:
        return [bytes(item) for item in ecmascript.decode(raw, list[msgspec.Raw])]
    except ecmascript.TooDeep:
        return None


# Packed rows


def _packed(kind: str, members: Members, expected: int) -> Packed:
    """A packed row, which stands or falls whole."""
    payload, others = _PACKED[kind]
    data = _object(members.get("data")) or {}
    texts = _list(data.get(payload)) or []
    if (
        members.keys() != {"type", "seq0", "time0", "data"}
        or data.keys() - others != {"turn", "step", "index", "dt", payload}
        or count(members["seq0"]) != expected
        or any(count(data[name]) is None for name in ("turn", "step", "index"))
        or ("id" in others and not string(data.get("id")))
        or ("name" in data and string(data["name"]) is None)
        or not texts
        or any(string(text) is None for text in texts)
        or not _good_times(members["time0"], _list(data["dt"]), len(texts))
    ):
        raise BadRecordError("a packed record is malformed, or not the next one")
    return Packed(expected, len(texts))


def _good_times(first: bytes, gaps: list[bytes] | None, events: int) -> bool:
    """Whether the times of all events of a packed row are safe integers."""
    if gaps is None or len(gaps) != events - 1:
        return False
    time = 0
    for step in map(integer, (first, *gaps)):
        if step is None or abs(time + step) > MAX_SAFE_INTEGER:
            return False
        time += step
    return True


# The surface


def _operation(raw: bytes | None) -> Operation:
    """What an event does to the surface."""
    if string(raw) == "append":
        return "append"
    written = _object(raw)
    spelled = written.keys() if written else set()
    if written and string(written.get("op")) == "replace":
        for first, last in (("start", "end"), ("startSeq", "endSeq")):
            start, end = count(written.get(first)), count(written.get(last))
            if spelled == {"op", first, last} and start is not None and end is not None:
                return Replace("replace", start, end)
    raise InvalidSurfaceError("a surface event has no operation that we know")


def _citations(raw: bytes | None) -> Citations | UnsetType:
    if raw is None:
        return UNSET
    items = _list(raw)
    if items is None:
        raise InvalidSurfaceError("citations are not a list")
    return [_cited(item) for item in items]


def _cited(raw: bytes) -> int | list[int]:
    seq = count(raw)
    if seq is not None:
        return seq
    bounds = [count(bound) for bound in _list(raw) or ()]
    numbers = [bound for bound in bounds if bound is not None]
    if len(numbers) != len(bounds) or not numbers:
        raise InvalidSurfaceError("a citation is not a seq and not a range of seqs")
    return numbers


def _surface_row(kind: str, seq: int, members: Members) -> SurfaceRow:
    operation = _operation(members.get("surfaceOp"))
    citations = _citations(members.get("sourceEventSeqs"))
    common: Any = {"seq": seq, "surface_op": operation, "source_event_seqs": citations}
    data = _object(members.get("data"))
    match kind:
        case "user/message":
            return UserMessage(data=_authored(data), **common)
        case "steering/message":
            return UserMessage(data=_authored(_nested(data)), **common)
        case "assistant/message":
            return AssistantMessage(data=assistant_data(_blocks(_nested(data))), **common)
        case "tool/result":
            return ToolResult(data=tool_data(_call_id(data)), **common)
        case "system/message":
            return SystemMessage(**common)
    return SurfaceRow(**common)


def _nested(data: Members | None) -> Members | None:
    """The message inside an event's data; older writers spread the message over the data."""
    if data is not None and "message" in data:
        return _object(data["message"])
    return data


def _authored(message: Members | None) -> Authored:
    source = _object(message.get("source")) if message else None
    kind = string(source.get("kind")) if source else None
    if source is None or kind is None:
        raise InvalidMessageError("a message does not say where it comes from")
    return Authored(_blocks(message), Source(kind, string(source.get("plugin")) or ""))


def _blocks(message: Members | None) -> list[Block]:
    """The text and tool-call blocks of a message. Blocks that are no objects are passed over."""
    items = _list(message.get("content")) if message else None
    if items is None:
        raise InvalidMessageError("the content of a message is not a list of blocks")
    if b"null" in items:
        raise InvalidMessageError("a block of a message is null")
    return [block for block in map(_block, items) if block is not None]


def _block(raw: bytes) -> Block | None:
    members = _object(raw) or {}
    kind, text, call = (string(members.get(name)) for name in ("type", "text", "id"))
    if kind == "text" and text is not None:
        return Text(text)
    if kind == "tool-call" and call is not None:
        return ToolCall(call)
    return None


def _call_id(data: Members | None) -> str | None:
    """Which call a tool result answers; nothing else of a result matters."""
    message = _nested(data) or {}
    source = _object(message.get("source")) or {}
    return string(source.get("callId", message.get("callId")))
