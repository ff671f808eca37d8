"""What one log comes to: surface, title, last seq, and what is still open at the end.

Lines go in in order; the state is small and explicit. A line that is no event of the log ends it:
what follows is dropped, unless it ends a turn, for then the log is corrupt. This module knows no
files and no encodings. Source: the contract, section 3; the log format, section 6.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET

from sessionref.sessions.generations import Generation
from sessionref.sessions.model import Degraded, Header, Node, ReadError, Reading, Voice
from sessionref.sessions.records import (
    BadRecordError,
    InvalidMessageError,
    NullRecordError,
    Unknown,
    ends_turn,
    read_record,
)
from sessionref.sessions.rows import (
    AnyRow,
    AssistantMessage,
    Block,
    PackedRow,
    ReasoningChunks,
    Row,
    Source,
    StepEnd,
    StepStart,
    SurfaceRow,
    SystemMessage,
    Text,
    TextChunks,
    Title,
    ToolCall,
    ToolCallChunks,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
    decoder,
)
from sessionref.sessions.surface import InvalidSurfaceError, Kind, Surface
from sessionref.sessions.title import title_text
from sessionref_protocol.errors import Cause


class LogFold:
    """The fold of one log. Give it lines in order, then ask for the `reading`."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._decode = decoder(generation).decode
        self._surface = Surface(system_first=generation.system_first)
        self._next_seq = 0
        self._turn_open = False
        self._step_open = False
        self._pending: dict[str, None] = {}
        self._title: bytes | None = None
        self._unknown = 0
        self._dropping = False
        self._handlers: dict[type, Callable[[Any], None]] = {
            TurnStart: self._turn_start,
            TurnEnd: self._turn_end,
            StepStart: self._step_start,
            StepEnd: self._step_end,
            Title: self._retitle,
            Unknown: self._unknown_event,
            UserMessage: self._user_message,
            AssistantMessage: self._assistant_message,
            ToolResult: self._tool_result,
            SystemMessage: self._system_message,
            TextChunks: self._deltas,
            ReasoningChunks: self._deltas,
            ToolCallChunks: self._deltas,
        }

    @property
    def dropping(self) -> bool:
        """Whether a bad record was met: all that follows it is dropped."""
        return self._dropping

    def feed(self, lines: list[bytes]) -> None:
        """Take whole lines, without their line feeds. Raises `ReadError`."""
        remaining = iter(lines)
        done = 0
        while done < len(lines):
            rows: list[AnyRow] = []
            with suppress(msgspec.DecodeError, RecursionError):
                rows.extend(map(self._decode, remaining))  # keeps what came before an error
            self._apply(rows)
            done += len(rows)
            if done < len(lines):
                self._apply_refused(lines[done])
                done += 1

    def reading(self, header: Header) -> Reading:
        """What the log comes to, counting what would close the turn that is open at its end."""
        last = self._next_seq - 1
        answers: list[Node] = []
        if self._turn_open:
            answers = [Node(seq, Voice.OTHER, "") for seq, _ in enumerate(self._pending, last + 1)]
            last += len(answers) + self._step_open + 1
        return Reading(
            header=header,
            nodes=(*self._surface.nodes(), *answers),
            captured_through_seq=last if last >= 0 else None,
            title=None if self._title is None else title_text(self._title),
            degraded=self._degraded(),
        )

    def _degraded(self) -> Degraded | None:
        if not self._generation.understood:
            return Degraded("newer_format", version=self._generation.number)
        return Degraded("unknown_events", count=self._unknown) if self._unknown else None

    # Lines and rows, in order

    def _apply(self, rows: list[AnyRow]) -> None:
        handlers = self._handlers
        for at, row in enumerate(rows):
            if row.seq != self._next_seq or self._dropping:
                self._drop(rows[at:])
                return
            handler = handlers.get(type(row), self._other_event)
            try:
                handler(row)
            except InvalidSurfaceError as error:
                raise self._refusal(error) from None
            except BadRecordError:
                self._drop(rows[at:])
                return
            self._next_seq += 1

    def _drop(self, rows: Iterable[AnyRow]) -> None:
        self._dropping = True
        if any(type(row) is TurnEnd for row in rows):
            raise ReadError("corrupt", "a bad record ends a turn, or is before one that does")

    def _apply_refused(self, line: bytes) -> None:
        """A line that the decoder of ordinary rows did not take."""
        try:
            if not self._dropping:
                self._apply([read_record(line, self._generation, self._next_seq)])
            elif ends_turn(line):
                raise BadRecordError("a dropped record", ends_turn=True)
        except NullRecordError:
            raise ReadError("corrupt", "a record is null") from None
        except BadRecordError as error:
            self._dropping = True
            if error.ends_turn:
                raise ReadError("corrupt", "a bad record ends a turn") from None
        except (InvalidMessageError, InvalidSurfaceError) as error:
            raise self._refusal(error) from None

    def _refusal(self, error: Exception) -> ReadError:
        cause: Cause = "corrupt" if self._generation.understood else "unsupported_format"
        return ReadError(cause, str(error))

    # What each event does

    def _turn_start(self, row: TurnStart) -> None:
        self._other_event(row)
        self._turn_open = True
        self._step_open = False
        self._pending.clear()

    def _turn_end(self, row: TurnEnd) -> None:
        self._other_event(row)
        self._turn_open = False

    def _step_start(self, row: StepStart) -> None:
        self._other_event(row)
        self._step_open = True
        self._pending.clear()

    def _step_end(self, row: StepEnd) -> None:
        self._other_event(row)
        self._step_open = False
        self._pending.clear()

    def _retitle(self, row: Title) -> None:
        self._other_event(row)
        self._title = bytes(row.data)

    def _unknown_event(self, row: Unknown) -> None:
        self._other_event(row)
        self._unknown += not row.ignorable

    def _deltas(self, row: PackedRow) -> None:
        if row.events == 0:
            raise BadRecordError("a packed record is malformed")
        self._next_seq += row.events - 1

    def _other_event(self, row: Row) -> None:
        """An event that says nothing of the surface, unless the format is newer than we know."""
        if isinstance(row, SurfaceRow):
            self._place(row, Voice.OTHER, "")
        elif row.surface_op is not UNSET:
            raise InvalidSurfaceError("an event that has no place on the surface claims one")

    def _user_message(self, row: UserMessage) -> None:
        voice = _voice(row.data.source)
        self._place(row, voice, "" if voice is Voice.OTHER else _text(row.data.content))

    def _assistant_message(self, row: AssistantMessage) -> None:
        content = row.data.message.content
        for block in content:
            if type(block) is ToolCall:
                self._pending[block.id] = None
        self._place(row, Voice.ASSISTANT, _text(content))

    def _tool_result(self, row: ToolResult) -> None:
        call = row.data.message.source.call_id
        if call is not None:
            self._pending.pop(call, None)
        self._place(row, Voice.OTHER, "", Kind.TOOL_RESULT)

    def _system_message(self, row: SystemMessage) -> None:
        self._place(row, Voice.OTHER, "", Kind.SYSTEM)

    def _place(self, row: SurfaceRow, voice: Voice, text: str, kind: Kind = Kind.MESSAGE) -> None:
        operation = row.surface_op
        citations = None if row.source_event_seqs is UNSET else row.source_event_seqs
        if citations == [] and not (voice is Voice.ASSISTANT and self._generation.empty_citations):
            raise InvalidSurfaceError("an event cites nothing where it must cite something")
        node = Node(row.seq, voice, text)
        if operation == "append":
            self._surface.append(node, kind, citations)
            return
        span = None if operation is UNSET else operation.span()
        if span is None:
            raise InvalidSurfaceError("a surface event has no valid operation")
        self._surface.replace(node, kind, span, citations)


def _voice(source: Source) -> Voice:
    match source:
        case Source(kind="user"):
            return Voice.PERSON
        case Source(kind="plugin", plugin="compact") | Source(kind="compact-checkpoint"):
            return Voice.CHECKPOINT
    return Voice.OTHER


def _text(content: list[Block]) -> str:
    return "\n".join([block.text for block in content if type(block) is Text])
