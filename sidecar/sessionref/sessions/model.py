"""What a session is to the rest of the program, and the seam that every store of sessions fills.

Values only: no files, no tasks, no wire. `reference/` may import this module; this module
imports nothing of ours but the error causes. Another agent's sessions come as another `Store`.
"""

import enum
import math
from collections.abc import Collection, Mapping
from typing import Final, Literal, Protocol, Self

import msgspec

from sessionref_protocol.errors import Cause

Role = Literal["user", "assistant"]


class Voice(enum.Enum):
    """Who speaks in a surface node, as far as a snapshot cares (contract, section 3)."""

    PERSON = "person"
    """A `user/message` whose source kind is `user`: direct prompts and steering."""
    CHECKPOINT = "checkpoint"
    """A `user/message` that a compaction wrote in place of what it summarises."""
    ASSISTANT = "assistant"
    """An `assistant/message`."""
    OTHER = "other"
    """Anything else on the surface: tools, plugins, system, earlier snapshots. Never quoted."""


_ROLES: Final[Mapping[Voice, Role]] = {
    Voice.PERSON: "user",
    Voice.CHECKPOINT: "user",
    Voice.ASSISTANT: "assistant",
}


class Header(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first line of a session's log. Wrong types in the optional fields count as absent."""

    id: str
    created_at: int
    """Milliseconds since the epoch, never negative."""
    version: int
    cwd: str | None = None
    origin: str | None = None
    parent_session: str | None = None
    delegation_depth: int | None = None
    agent_preset: str | None = None

    @property
    def is_subagent(self) -> bool:
        """Whether another session delegated work to it (log format, section 4)."""
        return self.origin == "subagent" or bool(self.delegation_depth)


class Item(msgspec.Struct, frozen=True, gc=False):
    """One message of a conversation, as a snapshot quotes it."""

    role: Role
    utf8: bytes
    """The text. UTF-8 takes a third of what a string does that holds a single emoji; a lone
    surrogate is three bytes, as it is where it counts as U+FFFD."""
    checkpoint: bool = False
    """A compaction wrote it in place of what it summarises."""

    @staticmethod
    def of(role: Role, text: str, checkpoint: bool = False) -> "Item":
        """The message with this text."""
        return Item(role, text.encode("utf-8", "surrogatepass"), checkpoint)

    @property
    def text(self) -> str:
        """Never empty as it was said; fitting into a budget may empty it."""
        return self.utf8.decode("utf-8", "surrogatepass")

    @property
    def size(self) -> int:
        """Of the text, in UTF-8 bytes."""
        return len(self.utf8)


class Node(msgspec.Struct, frozen=True, gc=False):
    """One node of a surface: an event that the model currently sees."""

    seq: int
    voice: Voice
    item: Item | None = None
    """What is quoted of it; None where nothing is."""

    @staticmethod
    def of(seq: int, voice: Voice, text: str) -> "Node":
        """The node of an event with this text, of its text blocks joined with a line feed."""
        role = _ROLES.get(voice)
        if role is None or not text:
            return Node(seq, voice)
        return Node(seq, voice, Item.of(role, text, voice is Voice.CHECKPOINT))

    @property
    def text(self) -> str:
        """What is quoted of it."""
        return "" if self.item is None else self.item.text

    @property
    def size(self) -> int:
        """Of the text, in UTF-8 bytes."""
        return 0 if self.item is None else self.item.size


class Degraded(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Why a reading is less than certain, although it could be made."""

    reason: Literal["unknown_events", "newer_format", "damaged"]
    count: int | None = None
    """`unknown_events`: how many events had a type that we do not know."""
    version: int | None = None
    """`newer_format`: the format version of the log."""
    through_seq: int | None = None
    """`damaged`: the last seq before the damage, None where nothing precedes it."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One consistent observation of one session."""

    header: Header
    nodes: tuple[Node, ...]
    """The surface, in surface order, which is not seq order after a replacement."""
    captured_through_seq: int | None
    """The last seq, in-memory closers included; None for an empty log."""
    last_activity_at: int | None = None
    """Milliseconds since the epoch: the time of the last event, where it tells one."""
    title: str | None = None
    name: str | None = None
    """What the parent called it when it delegated to it; sub-agents only."""
    opening: str | None = None
    """The first words of its first prompt; None where they were not asked for."""
    degraded: Degraded | None = None


class Summary(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a listing tells of a session beyond its header; nothing where it cannot be read."""

    title: str | None = None
    name: str | None = None
    degraded: Degraded | None = None
    captured_through_seq: int | None = None
    last_activity_at: int | None = None
    opening: str | None = None
    is_known: bool = True
    """False where the log has not been read, or not since it changed: more may come later."""

    @staticmethod
    def of(reading: Reading) -> "Summary":
        """What a reading says of itself."""
        return Summary(
            reading.title,
            reading.name,
            reading.degraded,
            reading.captured_through_seq,
            reading.last_activity_at,
            reading.opening,
        )


class ReadError(Exception):
    """One session could not be read. Never says anything of its content.

    `cause` is the wire's `data.cause`; `reason` is a short plain sentence for people. The rest
    is for the log and `doctor`, never for the peer: `path`, in a conflict all logs as `rivals`,
    and of a log that lies where no session of its id does the id that it has, as `claimed_id`.
    `is_ours`: nothing is known of the session, since this process has run out of something.
    """

    def __init__(
        self,
        cause: Cause,
        reason: str,
        *,
        path: str | None = None,
        rivals: tuple[str, ...] = (),
        claimed_id: str | None = None,
        is_ours: bool = False,
    ) -> None:
        super().__init__(reason)
        self.cause: Cause = cause
        self.reason = reason
        self.path = path
        self.rivals = rivals
        self.claimed_id = claimed_id
        self.is_ours = is_ours

    def alone(self) -> Self:
        """This error, to be kept: without what led to it, which would be kept as well."""
        self.__cause__ = self.__context__ = None
        return self.with_traceback(None)

    @property
    def may_pass(self) -> bool:
        """Whether another try may find something else although the log is the same."""
        return self.cause in {"io", "denied", "changed"}


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One session as a listing knows it. The header is known; reading may still fail."""

    header: Header
    store: str
    """Which store it comes from, for people: the root's path."""
    path: str | None = None
    """Where its log is, for the log and `doctor`, never for the peer."""
    encoding: str | None = None
    """How its log is stored: `zstd` or `none`, as DSH names it."""
    archived: bool | None = None
    """Whether its owner put it away; None where nobody keeps account of that."""
    live: bool = False
    """The host holds it in memory."""
    persisted: bool = True
    """It has a log on disk."""
    title: str | None = None
    """Its title, where the listing told it already."""
    running: bool | None = None
    """Whether its agent is at work, where the host tells."""
    problem: ReadError | None = None
    """Set where preparing this session is already known to fail (a conflict, say)."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a log's place of which not even the header could be read."""

    path: str
    error: ReadError
    session_id: str | None = None
    """The id that the directory name spells, where it spells one."""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """One discovery of a store."""

    entries: tuple[Entry, ...]
    """Every session whose header could be read, in no particular order."""
    problems: tuple[Problem, ...] = ()
    strangers: int = 0
    """Files and folders in the root that are no logs, ignored and only counted."""
    is_complete: bool = True
    """False where something could not be asked, or not in time, which may have had more."""


class RootState(msgspec.Struct, frozen=True, kw_only=True):
    """What `initialize` and `status` say of one root."""

    path: str
    sessions: int | None = None
    strangers: int | None = None
    """Files and folders in it that are no logs."""
    problem: str | None = None


class IndexState(msgspec.Struct, frozen=True):
    """What `status` says of what is known of a root between reads."""

    sessions: int
    """How many sessions were there when it was last looked."""
    folded: int
    """Of how many logs is known what they come to."""
    pending: int
    """Of how many that has to be found out."""


class Store(Protocol):
    """A place where sessions are. Reading never writes, creates or locks anything."""

    async def list(self, *, patience: float = math.inf) -> Listing:
        """Every session of the store. A damaged one never hides another.

        After `patience` seconds a listing without what is still missing is better than none.
        """
        ...

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        """One session, whole. Raises `ReadError`; `not_found` where there is none.

        With `salvage` a damaged log is read up to its damage, and says so in `degraded`.
        """
        ...

    async def entry(self, session_id: str) -> Entry:
        """What a listing says of one session, without its log being read.

        Raises `ReadError`; `not_found` where there is none.
        """
        ...

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """By id, the latest title and so on of those entries that are this store's own.

        An empty one where the log is unreadable.
        """
        ...

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """As much of the same as can be told at once; the rest says that it is not known."""
        ...

    async def roots(self) -> tuple[RootState, ...]:
        """The roots behind the store, for `initialize` and `status`."""
        ...
