"""The rows of a log as typed values, and the decoder that makes them at the speed of C.

Only what a snapshot depends on is declared; msgspec checks the JSON of the rest and skips it. The
decoder is a filter, not the rule: a row that it refuses is read again by `records`, which decides.
So each type here may be narrower than the rule but never wider. This module knows no files and no
order of rows. Source: the log format, sections 3 to 5.
"""

from functools import cache
from operator import or_
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sessionref.sessions.generations import Generation
from sessionref.sessions.surface import Replace

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer that ECMAScript counts exactly; seqs and times stay within."""

Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
SafeInteger = Annotated[int, Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]

Operation = Literal["append"] | Replace


# Content


class Text(msgspec.Struct, frozen=True, gc=False, tag="text"):
    text: str


class ToolCall(msgspec.Struct, frozen=True, gc=False, tag="tool-call"):
    id: str


class Reasoning(msgspec.Struct, frozen=True, gc=False, tag="reasoning"):
    pass


class Image(msgspec.Struct, frozen=True, gc=False, tag="image"):
    pass


class File(msgspec.Struct, frozen=True, gc=False, tag="file"):
    pass


Block = Text | ToolCall | Reasoning | Image | File


class Source(msgspec.Struct, frozen=True, gc=False):
    kind: str
    plugin: str = ""


class Message(msgspec.Struct, frozen=True, gc=False):
    content: list[Block]


class Authored(msgspec.Struct, frozen=True, gc=False):
    """A message that says where it comes from."""

    content: list[Block]
    source: Source


class CallSource(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    call_id: str | None = None


# Rows


class Row(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One event. `surface_op` is what it does to the surface, UNSET where it does nothing."""

    seq: int
    surface_op: Operation | UnsetType = UNSET


class Plain(Row, frozen=True, gc=False):
    """An event of which a snapshot needs only that it happened."""


class TurnStart(Row, frozen=True, gc=False, tag="turn/start"):
    pass


class TurnEnd(Row, frozen=True, gc=False, tag="turn/end"):
    pass


class StepStart(Row, frozen=True, gc=False, tag="step/start"):
    pass


class StepEnd(Row, frozen=True, gc=False, tag="step/end"):
    pass


class Title(Row, frozen=True, gc=False, tag="session/title"):
    data: msgspec.Raw = msgspec.Raw(b"null")


class SurfaceRow(Row, frozen=True, gc=False):
    """An event that lives on the surface."""

    source_event_seqs: list[int | list[int]] | UnsetType = UNSET


class UserMessage(SurfaceRow, frozen=True, gc=False, kw_only=True, tag="user/message"):
    data: Authored


class _Assistant(msgspec.Struct, frozen=True, gc=False):
    message: Message


class AssistantMessage(SurfaceRow, frozen=True, gc=False, kw_only=True, tag="assistant/message"):
    data: _Assistant


def assistant_message(content: list[Block], **row: Any) -> AssistantMessage:
    """An assistant message of which the content is known."""
    return AssistantMessage(data=_Assistant(Message(content)), **row)


class _CallMessage(msgspec.Struct, frozen=True, gc=False):
    source: CallSource


class _Result(msgspec.Struct, frozen=True, gc=False):
    message: _CallMessage


class ToolResult(SurfaceRow, frozen=True, gc=False, kw_only=True, tag="tool/result"):
    data: _Result


def tool_result(call_id: str | None, **row: Any) -> ToolResult:
    """A tool result of which the call is known."""
    return ToolResult(data=_Result(_CallMessage(CallSource(call_id))), **row)


class SystemMessage(SurfaceRow, frozen=True, gc=False, tag="system/message"):
    pass


class OtherNode(SurfaceRow, frozen=True, gc=False):
    """A surface event that is never quoted."""


class _Packed(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    seq: Count = msgspec.field(name="seq0")
    time: SafeInteger = msgspec.field(name="time0")


class _Deltas(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True):
    turn: Count
    step: Count
    index: Count
    dt: list[SafeInteger]


class _TextDeltas(_Deltas, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True):
    texts: list[str]


class _CallDeltas(_Deltas, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True):
    id: str
    name: str = ""
    args: list[str]


class TextChunks(_Packed, frozen=True, gc=False, forbid_unknown_fields=True, tag="text-chunks"):
    """A packed row of text deltas: it stands for as many events as it has payload strings."""

    data: _TextDeltas

    @property
    def events(self) -> int:
        """How many events the row stands for; 0 where it is not a valid row."""
        return _packed_events(self.time, self.data.dt, len(self.data.texts))


class ReasoningChunks(TextChunks, frozen=True, gc=False, tag="reasoning-chunks"):
    pass


class ToolCallChunks(
    _Packed, frozen=True, gc=False, forbid_unknown_fields=True, tag="tool-call-chunks"
):
    """A packed row of the deltas of one tool call."""

    data: _CallDeltas

    @property
    def events(self) -> int:
        """How many events the row stands for; 0 where it is not a valid row."""
        if not self.data.id:
            return 0
        return _packed_events(self.time, self.data.dt, len(self.data.args))


PackedRow = TextChunks | ReasoningChunks | ToolCallChunks
AnyRow = Row | TextChunks | ReasoningChunks | ToolCallChunks

PACKED: Final[dict[str, type[PackedRow]]] = {
    "text-chunks": TextChunks,
    "reasoning-chunks": ReasoningChunks,
    "tool-call-chunks": ToolCallChunks,
}


def _packed_events(time: int, gaps: list[int], events: int) -> int:
    if len(gaps) != events - 1:
        return 0
    if abs(time) + sum(map(abs, gaps)) > MAX_SAFE_INTEGER:
        for gap in gaps:
            time += gap
            if abs(time) > MAX_SAFE_INTEGER:
                return 0
    return events


_SHAPED: Final[tuple[type[Row], ...]] = (
    TurnStart,
    TurnEnd,
    StepStart,
    StepEnd,
    Title,
    UserMessage,
    AssistantMessage,
    ToolResult,
    SystemMessage,
)


@cache
def decoder(generation: Generation) -> "msgspec.json.Decoder[Any]":
    """A decoder of one line of a log of this generation into an `AnyRow`.

    Raises `msgspec.DecodeError` or `RecursionError` for whatever it does not take.
    """
    known = generation.log_types | generation.surface_types
    shapes: list[Any] = [PACKED[name] for name in PACKED] if generation.packed_rows else []
    shaped: dict[Any, Any] = {shape.__struct_config__.tag: shape for shape in _SHAPED}
    for name in sorted(known - {"steering/message"}):
        shape = shaped.get(name)
        if shape is None:
            base = OtherNode if name in generation.surface_types else Plain
            shape = msgspec.defstruct(
                name, [], bases=(base,), tag=name, frozen=True, gc=False, rename="camel"
            )
        shapes.append(shape)
    union = shapes[0]
    for shape in shapes[1:]:
        union = or_(union, shape)
    return msgspec.json.Decoder(union)
