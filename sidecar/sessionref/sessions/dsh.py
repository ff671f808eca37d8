"""A DSH session root on disk as a store: `Root`, off the event loop."""

import math
from collections.abc import Collection, Mapping

import anyio

from sessionref.config import LIMITS, Limits
from sessionref.sessions.model import Entry, Listing, ReadError, Reading, RootState, Summary
from sessionref.sessions.root import Root
from sessionref.sessions.workers import Workers


class DshStore:
    """The sessions of one root. Reading is done by `workers`."""

    def __init__(self, root: str, workers: Workers, limits: Limits = LIMITS) -> None:
        self._root = Root(root, limits)
        self._workers = workers

    async def list(self, *, patience: float = math.inf) -> Listing:
        """Every session of the root; only headers are read. A missing root has none."""
        del patience  # a walk reads headers only
        return await self._workers.run(self._root.sessions)

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        """One session, whole. Raises `ReadError`; `not_found` where there is none."""
        return await self._workers.run(
            lambda stop: self._root.read(session_id, stop, salvage=salvage)
        )

    async def entry(self, session_id: str) -> Entry:
        """What a listing says of one session. Raises `ReadError`."""
        return await self._workers.run(lambda stop: self._root.entry(session_id, stop))

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """The latest title of each and so on; an empty one where the log is unreadable."""
        own = [entry.header.id for entry in entries if entry.store == self._root.path]
        summaries = dict.fromkeys(own, Summary())

        async def look_up(session_id: str) -> None:
            try:
                summaries[session_id] = Summary.of(await self.read(session_id))
            except ReadError:
                return

        async with anyio.create_task_group() as tasks:
            for session_id in own:
                tasks.start_soon(look_up, session_id)
        return summaries

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """As much of the same as can be told at once."""
        own = [entry.header.id for entry in entries if entry.store == self._root.path]
        return dict.fromkeys(own, Summary(is_known=False))

    async def roots(self) -> tuple[RootState, ...]:
        """The root, with the number of its sessions or what is wrong with it."""
        problem = await self._workers.run(lambda _: self._root.problem())
        if problem is not None:
            return (RootState(path=self._root.path, problem=problem),)
        listing = await self.list()
        sessions = len(listing.entries)
        return (RootState(path=self._root.path, sessions=sessions, strangers=listing.strangers),)
