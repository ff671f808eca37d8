"""What one log comes to: surface, title, last seq, and what is still open at the end.

Lines go in in order; the state is small and explicit. A line that is no event of the log ends it:
what follows is dropped, unless it ends a turn, for then the log is corrupt. This module knows no
files and no encodings. Source: the contract, section 3; the log format, section 6.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from functools import cache
from itertools import accumulate, compress
from typing import Any, Final

import msgspec
from msgspec import UNSET

from sessionref.config import LIMITS
from sessionref.sessions.activity import last_activity
from sessionref.sessions.generations import Generation
from sessionref.sessions.large import LARGE_BYTES, brief, check_large, is_too_odd
from sessionref.sessions.model import Degraded, Header, Node, ReadError, Reading, Voice
from sessionref.sessions.records import (
    BadRecordError,
    InvalidMessageError,
    NullRecordError,
    Unknown,
    count,
    ends_turn,
    read_record,
    record_members,
)
from sessionref.sessions.rows import (
    AnyRow,
    AssistantMessage,
    Block,
    Descriptor,
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
    decoder,
    shapes,
)
from sessionref.sessions.state import BEGINNING, FoldState
from sessionref.sessions.surface import (
    InvalidSurfaceError,
    Kind,
    Surface,
    check_citations,
)
from sessionref.sessions.title import subagent_name, title_text
from sessionref_protocol.errors import Cause

OPENING_CHARACTERS: Final = 80
"""How long the first words of a prompt are at most."""

_OPENING_LOOKED_AT: Final = 4096
"""How much of a prompt is looked at for them."""

_CALL_BYTES: Final = 200
"""About what a pending tool call takes in memory, besides its id."""
_FEW_CALLS: Final = 1000
"""The ids of so many are not worth being measured."""


class LogFold:
    """The fold of one log. Give it lines in order, then ask for the `reading`."""

    def __init__(
        self,
        generation: Generation,
        *,
        exact: bool = False,
        sparse: bool = False,
        opening: str | None = None,
        state: FoldState = BEGINNING,
        max_bytes: int = LIMITS.max_session_bytes,
    ) -> None:
        """`exact`: after an error the fold stands right before what caused it; slower.

        `sparse`: seqs only have to rise, since events that no snapshot needs may be left out.
        `opening`: empty where the first words of the first prompt are wanted, or those words.
        `state`: where another fold of the log stood; nothing said before that is in the reading.
        `max_bytes`: of memory, about, for all that is kept and a record that is read.
        """
        self._max_bytes = max_bytes
        self._exact = exact
        self._singly = exact or sparse
        self._sparse = sparse
        self._generation = generation
        self._decode = decoder(generation).decode
        self._before = state
        self._surface = Surface.resumed(state.surface, system_first=generation.system_first)
        self._next_seq = state.next_seq
        self._turn_open = state.turn_open
        self._step_open = state.step_open
        self._pending: dict[str, None] = dict.fromkeys(state.pending)
        self._title: bytes | None = None
        self._descriptor: bytes | None = None
        self._unknown = state.unknown
        self._dropping = state.dropping
        self._opening = opening
        self._latest: list[bytes] = []
        """Lines of which one is that of the last event."""
        self._handlers = _handlers_of(generation)

    def copy(self) -> "LogFold":
        """Another fold that stands where this one does."""
        made = copy(self)
        made._before = FoldState(
            next_seq=self._next_seq,
            title=self._title_text(),
            name=self._subagent_name(),
            last_activity_at=self._last_activity(),
        )
        made._title = made._descriptor = None
        made._latest = []  # of which the reading knows all that it needs
        made._surface = self._surface.copy()
        made._pending = self._pending.copy()
        return made

    def state(self) -> FoldState:
        """Where the fold stands, without anything that was said."""
        return FoldState(
            surface=self._surface.state(),
            next_seq=self._next_seq,
            turn_open=self._turn_open,
            step_open=self._step_open,
            pending=tuple(self._pending),
            title=self._title_text(),
            name=self._subagent_name(),
            unknown=self._unknown,
            dropping=self._dropping,
            last_activity_at=self._last_activity(),
        )

    @property
    def dropping(self) -> bool:
        """Whether a bad record was met: all that follows it is dropped."""
        return self._dropping

    @property
    def opening(self) -> str | None:
        """The first words of the first prompt so far; None where they are not wanted."""
        return self._opening

    @property
    def last_seq(self) -> int:
        """The seq of the last event taken, -1 before the first."""
        return self._next_seq - 1

    def feed(self, lines: list[bytes]) -> None:
        """Take whole lines, without their line feeds. Raises `ReadError`."""
        if not self._dropping:
            self._latest = [*self._latest[-1:], *lines]
        if lines and len(lines[0]) > LARGE_BYTES:  # others are parts of one block
            check_large(lines[0], self._max_bytes - self.weight)
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
        if self.weight > self._max_bytes:
            raise ReadError("corrupt", "the session says more than we keep of any")
        if self._latest and len(self._latest[-1]) > LARGE_BYTES:
            self._latest[-1] = brief(self._latest[-1])

    @property
    def weight(self) -> int:
        """About how many bytes all takes in memory that is kept."""
        calls = sum(map(len, self._pending)) if len(self._pending) > _FEW_CALLS else 0
        return self._surface.weight + calls + _CALL_BYTES * len(self._pending)

    def reading(self, header: Header, *, closed: bool = True) -> Reading:
        """What the log comes to.

        `closed`: counting what would close the turn that is open at its end.
        """
        last = self._next_seq - 1
        answers: list[Node] = []
        if closed and self._turn_open:
            answers = [Node(seq, Voice.OTHER) for seq, _ in enumerate(self._pending, last + 1)]
            last += len(answers) + self._step_open + 1
        return Reading(
            header=header,
            nodes=(*self._surface.nodes(), *answers),
            captured_through_seq=last if last >= 0 else None,
            last_activity_at=self._last_activity(),
            title=self._title_text(),
            name=self._subagent_name(),
            opening=self._opening,
            degraded=self._degraded(),
        )

    def _title_text(self) -> str | None:
        return self._before.title if self._title is None else title_text(self._title)

    def _subagent_name(self) -> str | None:
        descriptor = self._descriptor
        return self._before.name if descriptor is None else subagent_name(descriptor)

    def _last_activity(self) -> int | None:
        if self._next_seq == self._before.next_seq:
            return self._before.last_activity_at
        # What was not taken comes last, and may claim to be the event that was taken last.
        some_may_not_be_taken = self._dropping or self._exact
        latest = self._latest if some_may_not_be_taken else reversed(self._latest)
        return last_activity(latest, self.last_seq)

    def _degraded(self) -> Degraded | None:
        if not self._generation.understood:
            return Degraded("newer_format", version=self._generation.number)
        return Degraded("unknown_events", count=self._unknown) if self._unknown else None

    # Lines and rows, in order

    def _apply(self, rows: list[AnyRow]) -> None:
        events = [row.events for row in rows]
        seqs = list(accumulate(events, initial=self._next_seq))
        end = seqs.pop()
        in_order = 0 not in events and [row.seq for row in rows] == seqs
        if self._singly or self._dropping or not in_order:
            self._apply_singly(rows)
            return
        handlers = self._handlers
        try:
            for row in compress(rows, map(handlers.__contains__, map(type, rows))):
                handlers[type(row)](self, row)
        except InvalidSurfaceError as error:
            raise self._refusal(error) from None
        self._next_seq = end

    def _apply_singly(self, rows: list[AnyRow]) -> None:
        """Apply rows of which one may not be the next, one by one."""
        handlers = self._handlers
        seq = self._next_seq
        remaining = iter(rows)
        try:
            for row in remaining:
                if self._sparse and row.seq > seq:
                    seq = row.seq
                if row.seq != seq or self._dropping:
                    raise BadRecordError("a record is not the next one")
                events = row.events
                if events == 0:
                    raise BadRecordError("a packed record has not a time for each event")
                handler = handlers.get(type(row))
                if handler is not None:
                    handler(self, row)
                seq += events
        except InvalidSurfaceError as error:
            raise self._refusal(error) from None
        except BadRecordError:
            self._drop([row, *remaining])
        finally:
            self._next_seq = seq

    def _drop(self, rows: Iterable[AnyRow]) -> None:
        self._dropping = True
        if any(type(row) is TurnEnd for row in rows):
            raise ReadError("corrupt", "a bad record ends a turn, or is before one that does")

    def _apply_refused(self, line: bytes) -> None:
        """A line that the decoder of ordinary rows did not take."""
        if is_too_odd(line):
            raise self._refusal("a record of an odd shape is larger than any that we read")
        try:
            if not self._dropping:
                expected = self._next_seq
                if self._sparse:
                    members = record_members(line)
                    told = count(members.get("seq", members.get("seq0")))
                    expected = max(expected, told or 0)
                self._apply([read_record(line, self._generation, expected)])
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

    def _refusal(self, error: Exception | str) -> ReadError:
        cause: Cause = "corrupt" if self._generation.understood else "unsupported_format"
        return ReadError(cause, str(error))

    # What each event does

    def _turn_start(self, _row: TurnStart) -> None:
        self._turn_open = True
        self._step_open = False
        self._pending.clear()

    def _turn_end(self, _row: TurnEnd) -> None:
        self._turn_open = False

    def _step_start(self, _row: StepStart) -> None:
        self._step_open = True
        self._pending.clear()

    def _step_end(self, _row: StepEnd) -> None:
        self._step_open = False
        self._pending.clear()

    def _retitle(self, row: Title) -> None:
        self._title = _short(row.data)

    def _describe(self, row: Descriptor) -> None:
        self._descriptor = _short(row.data)

    def _unknown_event(self, row: Unknown) -> None:
        self._unknown += not row.ignorable

    def _user_message(self, row: UserMessage) -> None:
        voice = _voice(row.data.source)
        text = "" if voice is Voice.OTHER else _text(row.data.content)
        if self._opening == "" and voice is Voice.PERSON:
            self._opening = " ".join(text[:_OPENING_LOOKED_AT].split())[:OPENING_CHARACTERS]
        self._place(row, voice, text)

    def _assistant_message(self, row: AssistantMessage) -> None:
        content = row.content
        for block in content:
            if type(block) is ToolCall:
                self._pending[block.id] = None
        self._place(row, Voice.ASSISTANT, _text(content))

    def _tool_result(self, row: ToolResult) -> None:
        call_id = row.call_id
        if call_id is not None:
            self._pending.pop(call_id, None)
        self._place(row, Voice.OTHER, "", Kind.TOOL_RESULT)

    def _system_message(self, row: SystemMessage) -> None:
        self._place(row, Voice.OTHER, "", Kind.SYSTEM)

    def _other_node(self, row: SurfaceRow) -> None:
        self._place(row, Voice.OTHER, "")

    def _place(self, row: SurfaceRow, voice: Voice, text: str, kind: Kind = Kind.MESSAGE) -> None:
        citations = row.source_event_seqs
        if citations == [] and not (voice is Voice.ASSISTANT and self._generation.empty_citations):
            raise InvalidSurfaceError("an event cites nothing where it must cite something")
        node = Node.of(row.seq, voice, text)
        if row.surface_op == "append":
            if citations is not UNSET:
                check_citations(citations, row.seq)
            self._surface.append(node, kind)
        else:
            span = row.surface_op.span()
            self._surface.replace(node, kind, span, [] if citations is UNSET else citations)


Handler = Callable[[LogFold, Any], None]


@cache
def _handlers_of(generation: Generation) -> Mapping[type, Handler]:
    """What to do with the rows of each type; nothing with the types that are left out.

    Functions, not bound methods: a fold that held those would hold itself, and so its whole
    surface, until the collector of cycles came by.
    """
    handlers: dict[type, Handler] = {
        TurnStart: LogFold._turn_start,
        TurnEnd: LogFold._turn_end,
        StepStart: LogFold._step_start,
        StepEnd: LogFold._step_end,
        Title: LogFold._retitle,
        Descriptor: LogFold._describe,
        Unknown: LogFold._unknown_event,
        UserMessage: LogFold._user_message,
        AssistantMessage: LogFold._assistant_message,
        ToolResult: LogFold._tool_result,
        SystemMessage: LogFold._system_message,
        SurfaceRow: LogFold._other_node,
    }
    for shape in shapes(generation):
        if issubclass(shape, SurfaceRow):
            handlers.setdefault(shape, LogFold._other_node)
    return handlers


def _short(data: msgspec.Raw) -> bytes:
    """What tells what a session is called, if it is no longer than any such."""
    return bytes(data) if len(data) <= LIMITS.max_title_bytes else b"null"


def _voice(source: Source) -> Voice:
    if source.kind == "user":
        return Voice.PERSON
    compacted = source.kind == "plugin" and source.plugin == "compact"
    return Voice.CHECKPOINT if compacted or source.kind == "compact-checkpoint" else Voice.OTHER


def _text(content: list[Block]) -> str:
    return "\n".join([block.text for block in content if type(block) is Text])
