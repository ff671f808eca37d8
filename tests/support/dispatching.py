"""What a conversation with the dispatcher consists of, for a model of it, and fakes around it.

The model's own words are here, and the loop, the store and the outlet that do what a test says;
what happens when is the test's concern.
"""

import asyncio
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from sessionref.dispatcher import NoAnswer
from sessionref.sessions.model import Entry, Header, Listing, ReadError, Reading, RootState, Summary

RESULT, LOST, FAULT = "result", -32014, -32603
CANCELLED, TIMED_OUT, BUSY = -32800, -32802, -32000

Id = int | str
Ending = str | int
"""How a request ends: a result, or the code of an error."""


class StillLoop(asyncio.SelectorEventLoop):
    """Its time passes when the test says so."""

    now = 1000.0

    def time(self) -> float:
        return self.now


class HeldStore:
    """Its reads end when and how the test says."""

    def __init__(self) -> None:
        self.held: dict[str, asyncio.Future[None]] = {}

    async def list(self, *, patience: float = math.inf) -> Listing:
        return Listing(entries=())

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        await self.held.setdefault(session_id, asyncio.get_running_loop().create_future())
        header = Header(id=session_id, created_at=0, version=0)
        return Reading(header=header, nodes=(), captured_through_seq=None)

    async def entry(self, session_id: str) -> Entry:
        raise ReadError("not_found", "there is no such session")

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        return {}

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        return {}

    async def roots(self) -> tuple[RootState, ...]:
        return ()


class Outlet:
    """What the peer would read, if it did."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.queued = 0

    def write(self, frame: bytes) -> None:
        self.frames.append(frame)

    async def flush(self) -> None:
        return


class Message(NamedTuple):
    """Something that the host says."""

    content: dict[str, Any]
    taken: Callable[[], Ending | None]
    """What the model makes of it, unless it is refused; an ending is that of the request."""


class Asked:
    """A request in flight, as the model knows it."""

    def __init__(self, session: str, token: Any, lane: str | None, deadline: float) -> None:
        self.session = session
        self.token = token
        self.lane = lane
        self.deadline = deadline
        self.endings: set[Ending] = set()
        """In which ways it may end now; none as long as nothing ends it."""
        self.is_cancelled = False
        self.is_begun = False
        """What is cancelled in the same chunk never begins."""

    def may_end(self, ending: Ending) -> None:
        if not self.is_cancelled:
            self.endings.add(ending)

    def cancel(self, ending: Ending) -> None:
        """The first cancel decides, whatever else has happened."""
        if not self.is_cancelled:
            self.is_cancelled = True
            self.endings = {ending}


Fate = Literal["answered", "refused", "timed out", "over"]
"""What may become of a question; it is over where the conversation is."""


class Question:
    """Something that we asked of the host, as the model knows it."""

    def __init__(self, task: "asyncio.Task[msgspec.Raw]") -> None:
        self.task = task
        self.until = math.inf
        self.id: Id | None = None
        """Known once it was written, from when on its time is counted."""
        self.is_answered = False
        self.is_withdrawn = False
        self.endings: set[Fate] = set()
        """What may have become of it by now."""

    def told(self) -> set[Fate]:
        """What became of it, as far as whoever asked and the host can tell."""
        error = self.task.exception()
        if error is None:
            return {"answered"}
        assert isinstance(error, NoAnswer)
        return {"timed out"} if self.is_withdrawn else {"refused", "over"}
