"""A DSH session root on disk as a store: what is known of it, kept true off the event loop.

A listing is that of a walk through the root, which may be a moment old; what logs come to is found
out behind it, see `digests`. A read asks the disk which file it is about, and reads no more of it
than is new, see `readings`. Source: issue "instant at ten thousand sessions".
"""

import asyncio
import math
import time
from collections.abc import Collection, Mapping
from typing import Final

import anyio
import msgspec

from sessionref.config import LIMITS, Limits
from sessionref.sessions.digests import Digests
from sessionref.sessions.index import Index
from sessionref.sessions.keeper import Keeper
from sessionref.sessions.model import Entry, IndexState, Listing, Reading, RootState, Summary
from sessionref.sessions.readings import Readings
from sessionref.sessions.root import Root
from sessionref.sessions.turns import Turns
from sessionref.sessions.walk import Sight, Walker
from sessionref.sessions.workers import Workers

_FRESH_SECONDS: Final = 1.0
"""How old a walk may be that is not made again; twice as old as it takes, if that is more."""

_WALK_SECONDS: Final = 0.15
"""How long a new walk is waited for where the one before can be answered with."""

_FEW: Final = 256
_SHORT_SECONDS: Final = 0.5
"""A walk through so few sessions, in so short a time, is made again for each list, and waited for:
that costs less than explaining to people why what they wrote just now is not there."""

_NOTHING: Final = Summary()
_UNREAD: Final = Summary(is_known=False)

_COUNT_SECONDS: Final = 2.0
"""How long sessions are waited for that are only to be counted."""


class DshStore:
    """The sessions of one root. Reading is done by `workers`."""

    def __init__(
        self,
        root: str,
        workers: Workers,
        limits: Limits = LIMITS,
        *,
        background: Workers | None = None,
        index: Index | None = None,
        openings: bool = False,
        turns: Turns | None = None,
    ) -> None:
        """`background`: do what nobody waits for; `index`: where what is known is kept.

        `openings`: the first words of first prompts are told of, too. `turns`: shared with other
        stores.
        """
        self._root = Root(root, limits, openings=openings, turns=turns)
        self._workers = workers
        self._walkers = Workers(1, 1)
        self._walker = Walker(self._root)
        self._walk: asyncio.Task[None] | None = None
        self._sight: Sight | None = None
        self._listed_at = -math.inf
        """When it was last asked what there is, by the monotonic clock."""
        self._known: tuple[Listing | None, int, Mapping[str, Summary]] = None, 0, {}
        """Summaries by id, of this listing and this version of the digests."""
        self._keeper = None if index is None else Keeper(index, self._root)
        background = background or Workers(2, 2)
        if self._keeper is None:
            self._digests = Digests(self._root, background)
        else:
            keeper = self._keeper
            self._digests = Digests(
                self._root, background, recall=keeper.rest, learned=keeper.learned
            )
        self._readings = Readings(
            self._root, workers, self._digests.learn, self._digests.left_alone
        )

    async def list(self, *, patience: float = math.inf) -> Listing:
        """Every session of the root; only headers are read. A missing root has none.

        What was known before is answered where a walk takes too long, and is not complete.
        """
        since = self._listed_at = time.monotonic()
        sight = self._sight
        if sight is not None and (len(sight.folders) > _FEW or sight.took > _SHORT_SECONDS):
            since -= max(_FRESH_SECONDS, 2 * sight.took)
            if patience < math.inf:
                patience = min(patience, _WALK_SECONDS)
        with anyio.move_on_after(patience):
            return (await self._sight_since(since)).listing
        if self._sight is None:
            return self._walker.so_far()
        return msgspec.structs.replace(self._sight.listing, is_complete=False)

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        """One session, whole. Raises `ReadError`; `not_found` where there is none."""
        log, identity = await self._workers.run(lambda stop: self._root.find(session_id, stop))
        return await self._readings.read(log, identity, salvage=salvage)

    async def entry(self, session_id: str) -> Entry:
        """What a listing says of one session. Raises `ReadError`."""
        self._listed_at = -math.inf  # who asks for its summary next has seen no list
        return await self._workers.run(lambda stop: self._root.entry(session_id, stop))

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """The latest title of each and so on; an empty one where the log is unreadable."""
        now = time.monotonic()
        if now - self._listed_at > _FRESH_SECONDS:
            await self._sight_since(now)
        if not self._digests.is_idle:
            await self._digests.wait([entry.path for entry in entries if entry.path is not None])
        return self.known(entries)

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """As much of the same as can be told at once, of all sessions of the root."""
        if self._sight is None:
            return {entry.header.id: _UNREAD for entry in entries}
        listing, digests = self._sight.listing, self._digests
        if self._known[0] is not listing or self._known[1] != digests.version:
            told = digests.told
            summaries = {
                entry.header.id: _NOTHING if entry.problem else told.get(entry.path or "", _UNREAD)
                for entry in listing.entries
            }
            self._known = listing, digests.version, summaries
        return self._known[2]

    async def roots(self) -> tuple[RootState, ...]:
        """The root, with the number of its sessions or what is wrong with it.

        A disk that hangs is wrong, too: nobody who only asks how things are waits for it.
        """
        path = self._root.path
        with anyio.move_on_after(_COUNT_SECONDS):
            problem = await self._workers.run(lambda _: self._root.problem())
            if problem is not None:
                return (RootState(path=path, problem=problem),)
            listing = await self.list(patience=_COUNT_SECONDS / 2)
            sessions = len(listing.entries)
            return (RootState(path=path, sessions=sessions, strangers=listing.strangers),)
        return (RootState(path=path, problem="the folder does not answer"),)

    async def close(self) -> None:
        """Keep what is not kept yet."""
        if self._keeper is not None:
            await self._keeper.close()

    @property
    def state(self) -> IndexState:
        """How much of the root is known."""
        sessions = 0 if self._sight is None else len(self._sight.listing.entries)
        return IndexState(sessions, *self._digests.count())

    async def _sight_since(self, since: float) -> Sight:
        """The sight of a walk that began no earlier than `since`. Raises `ReadError`."""
        while self._sight is None or self._sight.began < since:
            if self._walk is None:
                self._walk = asyncio.create_task(self._look_around())
                self._walk.add_done_callback(lambda task: task.cancelled() or task.exception())
            walk = self._walk
            await asyncio.wait((walk,))
            walk.result()
        return self._sight

    async def _look_around(self) -> None:
        try:
            if self._keeper is not None:
                await self._recall(self._keeper)
            sight = self._sight = await self._walkers.run(self._walker.walk)
            self._digests.expect(
                {
                    entry.path: sight.logs[entry.path]
                    for entry in sight.listing.entries
                    if entry.path is not None and entry.problem is None
                }
            )
            if self._keeper is not None:
                self._keeper.saw(sight, self._digests)
        finally:
            self._walk = None

    async def _recall(self, keeper: Keeper) -> None:
        known = await keeper.recall()
        if known is not None:
            self._walker.remember(known.folders, known.logs)
            self._digests.recalled(known.looks)
