"""Which sessions may be known of at all: the host's bound on everything that reads sessions.

A session out of scope is as if it were not there: no list has it, and reading it fails as for an
id that nobody has, whatever else may be wrong with it. This module knows no store in particular.
Source: issue "what the host decides", scope.
"""

import math
from collections.abc import Awaitable, Callable, Collection, Mapping

import msgspec

from sessionref.config import Scope
from sessionref.sessions.model import Entry, Listing, ReadError, Reading, RootState, Store, Summary

Resolve = Callable[[Collection[str]], Awaitable[Mapping[str, object]]]
"""What recorded folders are: equal for folders of one workspace."""


class ScopedStore:
    """A store as far as a scope and an agent's folder reach."""

    def __init__(self, store: Store, scope: Scope, cwd: str | None, resolve: Resolve) -> None:
        self._store = store
        self._scope = scope
        self._cwd = cwd
        self._resolve = resolve

    async def list(self, *, patience: float = math.inf) -> Listing:
        """The sessions in scope. What can't be told to be in scope is left out."""
        listing = await self._store.list(patience=patience)
        admitted = await self._admitted(listing.entries)
        return msgspec.structs.replace(listing, entries=admitted, problems=(), strangers=0)

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        """One session in scope, whole. Raises `ReadError`; `not_found` for any other."""
        await self.entry(session_id)
        return await self._store.read(session_id, salvage=salvage)

    async def entry(self, session_id: str) -> Entry:
        """What a listing says of one session in scope. Raises `ReadError`."""
        if session_id in self._scope.deny:
            raise _not_found()
        try:
            entry = await self._store.entry(session_id)
        except ReadError as error:
            if self._scope.asks_for_header:
                raise _not_found() from error
            raise
        if not await self._admitted((entry,)):
            raise _not_found()
        return entry

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """Of entries that were listed, so are in scope."""
        return await self._store.summaries(entries)

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """As much of the same as can be told at once."""
        return self._store.known(entries)

    async def roots(self) -> tuple[RootState, ...]:
        """The roots behind the store."""
        return await self._store.roots()

    async def _admitted(self, entries: Collection[Entry]) -> tuple[Entry, ...]:
        scope = self._scope
        admitted = tuple(
            entry
            for entry in entries
            if entry.header.id not in scope.deny
            and (scope.archived or not entry.archived)
            and (scope.subagents or not entry.header.is_subagent)
        )
        if not scope.workspaces:
            return admitted
        own = set() if self._cwd is None else {self._cwd}
        allowed = [own if each == "same" else each for each in scope.workspaces]
        recorded = {entry.header.cwd for entry in admitted if entry.header.cwd is not None}
        identities = await self._resolve(recorded.union(*allowed))
        allowed_identities = [{identities[cwd] for cwd in cwds} for cwds in allowed]
        return tuple(
            entry
            for entry in admitted
            if entry.header.cwd is not None
            and all(identities[entry.header.cwd] in each for each in allowed_identities)
        )


def _not_found() -> ReadError:
    return ReadError("not_found", "there is no such session")
