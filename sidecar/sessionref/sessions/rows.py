"""The rows of a log as typed values, and the decoder that makes them at the speed of C.

Only what a snapshot depends on is declared; msgspec checks the JSON of the rest and skips it. The
decoder is a filter, not the rule: a row that it refuses is read again by `records`, which decides.
So each type here may be narrower than the rule but never wider. This module knows no files and no
order of rows. Source: the log format, sections 3 to 5.
"""

from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Final, Literal, NoReturn

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sessionref.sessions.generations import Generation
from sessionref.sessions.surface import Citations, Replace

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer that ECMAScript counts exactly; seqs and times stay within."""

_MAX_GAP: Final = 2**40
_MAX_GAPS: Final = 2**11
"""No sum of so few and so small gaps leaves the safe integers, if the time stays below 2**52."""

_Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
_Time = Annotated[int, Meta(ge=0, lt=2**52)]
_Gap = Annotated[int, Meta(ge=-_MAX_GAP, le=_MAX_GAP)]

Operation = Literal["append"] | Replace


class _Nothing:
    """A type without values: a row that has a field of this type is refused."""


# Content


class Text(msgspec.Struct, frozen=True, gc=False, tag="text"):
    text: str


class ToolCall(msgspec.Struct, frozen=True, gc=False, tag="tool-call"):
    id: str


class _Reasoning(msgspec.Struct, frozen=True, gc=False, tag="reasoning"):
    pass


class _Image(msgspec.Struct, frozen=True, gc=False, tag="image"):
    pass


class _File(msgspec.Struct, frozen=True, gc=False, tag="file"):
    pass


Block = Text | ToolCall | _Reasoning | _Image | _File


class Source(msgspec.Struct, frozen=True, gc=False):
    kind: str
    plugin: str = ""


class Authored(msgspec.Struct, frozen=True, gc=False):
    """A message that says where it comes from."""

    content: list[Block]
    source: Source


class _Content(msgspec.Struct, frozen=True, gc=False):
    content: list[Block]


class _Assistant(msgspec.Struct, frozen=True, gc=False):
    message: _Content


class _Call(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    call_id: str | None


class _Result(msgspec.Struct, frozen=True, gc=False):
    source: _Call


class _ToolMessage(msgspec.Struct, frozen=True, gc=False):
    message: _Result


# Rows


class Row(msgspec.Struct, frozen=True, gc=False):
    """One event, or in a packed row the first of several."""

    seq: int

    events: ClassVar[int] = 1
    """How many events it stands for."""


class LogRow(Row, frozen=True, gc=False, rename="camel"):
    """An event that has no place on the surface and claims none."""

    surface_op: _Nothing | UnsetType = UNSET


class TurnStart(LogRow, frozen=True, gc=False, tag="turn/start"):
    pass


class TurnEnd(LogRow, frozen=True, gc=False, tag="turn/end"):
    pass


class StepStart(LogRow, frozen=True, gc=False, tag="step/start"):
    pass


class StepEnd(LogRow, frozen=True, gc=False, tag="step/end"):
    pass


class Title(LogRow, frozen=True, gc=False, tag="session/title"):
    data: msgspec.Raw = msgspec.Raw(b"null")


class Descriptor(LogRow, frozen=True, gc=False, tag="subagent/descriptor"):
    data: msgspec.Raw = msgspec.Raw(b"null")


class SurfaceRow(Row, frozen=True, gc=False, kw_only=True, rename="camel"):
    """An event that lives on the surface, though never quoted unless it is of a subtype."""

    surface_op: Operation
    source_event_seqs: Citations | UnsetType = UNSET


class SystemMessage(SurfaceRow, frozen=True, gc=False, tag="system/message"):
    pass


class UserMessage(SurfaceRow, frozen=True, gc=False, kw_only=True, tag="user/message"):
    data: Authored


class AssistantMessage(SurfaceRow, frozen=True, gc=False, kw_only=True, tag="assistant/message"):
    data: _Assistant

    @property
    def content(self) -> list[Block]:
        """The blocks that we know; others are left out."""
        return self.data.message.content


class ToolResult(SurfaceRow, frozen=True, gc=False, kw_only=True, tag="tool/result"):
    data: _ToolMessage

    @property
    def call_id(self) -> str | None:
        """Which call it answers, if it says."""
        return self.data.message.source.call_id


def assistant_data(content: list[Block]) -> _Assistant:
    """The data of an assistant message of which the content is known."""
    return _Assistant(_Content(content))


def tool_data(call_id: str | None) -> _ToolMessage:
    """The data of a tool result of which the call is known."""
    return _ToolMessage(_Result(_Call(call_id)))


# Packed rows


class _Deltas(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    turn: _Count
    step: _Count
    index: _Count
    dt: Annotated[list[_Gap], Meta(max_length=_MAX_GAPS)]


class _TextDeltas(_Deltas, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    texts: list[str]


class _CallDeltas(_Deltas, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(min_length=1)]
    name: str = ""
    args: list[str]


class PackedRow(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A row that stands for many events; `seq` is that of the first."""

    seq: _Count = msgspec.field(name="seq0")

    @property
    def events(self) -> int:
        """How many events the row stands for; 0 where it has not a time for each."""
        raise NotImplementedError


class _PackedTexts(PackedRow, frozen=True, gc=False):
    time: _Time = msgspec.field(name="time0")
    data: _TextDeltas

    @property
    def events(self) -> int:
        events = len(self.data.texts)
        return events if len(self.data.dt) == events - 1 else 0


class TextChunks(_PackedTexts, frozen=True, gc=False, tag="text-chunks"):
    pass


class ReasoningChunks(_PackedTexts, frozen=True, gc=False, tag="reasoning-chunks"):
    pass


class ToolCallChunks(PackedRow, frozen=True, gc=False, tag="tool-call-chunks"):
    time: _Time = msgspec.field(name="time0")
    data: _CallDeltas

    @property
    def events(self) -> int:
        events = len(self.data.args)
        return events if len(self.data.dt) == events - 1 else 0


class Packed(PackedRow, frozen=True, gc=False):
    """A packed row that was read by the rule."""

    size: int

    @property
    def events(self) -> int:
        return self.size


_PACKED: Final = (TextChunks, ReasoningChunks, ToolCallChunks)

AnyRow = Row | PackedRow


_SHAPED: Final = (
    TurnStart,
    TurnEnd,
    StepStart,
    StepEnd,
    Title,
    Descriptor,
    UserMessage,
    AssistantMessage,
    ToolResult,
    SystemMessage,
)
_DECIDED_BY_THE_RULE: Final = frozenset({"steering/message"})


@cache
def decoder(generation: Generation) -> "msgspec.json.Decoder[AnyRow]":
    """A decoder of one line of a log of this generation, into one of its `shapes`.

    Raises `msgspec.DecodeError` or `RecursionError` for whatever it does not take.
    """
    return msgspec.json.Decoder(reduce(or_, shapes(generation)), dec_hook=_refuse)


@cache
def shapes(generation: Generation) -> tuple[type[AnyRow], ...]:
    """The types of the rows of this generation."""
    shaped: dict[Any, Any] = {shape.__struct_config__.tag: shape for shape in _SHAPED}
    found: list[Any] = list(_PACKED) if generation.packed_rows else []
    for base, names in (
        (LogRow, generation.log_types),
        (SurfaceRow, generation.surface_types - _DECIDED_BY_THE_RULE),
    ):
        found += [shaped.get(name) or _tagged(base, name) for name in sorted(names)]
    return tuple(found)


@cache
def _tagged(base: type[Row], name: str) -> Any:
    """A row of a type that has nothing of its own; generations share it."""
    return msgspec.defstruct(name, [], bases=(base,), tag=name, frozen=True, gc=False)


def _refuse(_type: type, _value: object) -> NoReturn:
    raise ValueError("there must be no such field")
