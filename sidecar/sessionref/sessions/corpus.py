"""The sessions of several stores as one store, the host's own before those on disk.

What fails in one store stays there. An id that two stores on disk have is a conflict for that id,
since neither is known to be the right one; a live session is ahead of its log, so it wins, and is
in conflict only where log and host can't mean the same session. This module knows no store in
particular but the live one. Source: the contract, section 3; issue "what the host decides".
"""

import logging
import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from sessionref.sessions.live import LiveStore, contradict
from sessionref.sessions.model import (
    Entry,
    Header,
    Listing,
    Problem,
    ReadError,
    Reading,
    RootState,
    Store,
    Summary,
)

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

_NOTHING: Final = Summary()

_OF_A_SESSION: Final = frozenset({"corrupt", "unsupported_format", "conflict", "changed"})
"""Causes of failure that only a session which is there can have."""


class Corpus:
    """The union of `stores`, itself a `Store`; and of a live one, once the host has one."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self._stores = tuple(stores)
        self._live: LiveStore | None = None
        self._early: list[Sequence[bytes] | None] = []
        """What the host pushed last, as long as it is not known to have live sessions."""
        self._contradicted: Mapping[str, Header] = {}
        """By id of live sessions: the header of another one that the last listing found on disk."""
        self._told: set[tuple[str, str]] = set()

    def go_live(self, live: LiveStore) -> None:
        """From now on the host is asked for its sessions, too.

        It may push them in the same breath as it says that it has some, so that is not lost.
        """
        self._live = live
        for headers in self._early:
            live.changed(headers)

    def live_changed(self, headers: Sequence[bytes] | None) -> None:
        """The host pushes what has become of its sessions."""
        if self._live is None:
            self._early = [headers]
        else:
            self._live.changed(headers)

    async def list(self, *, patience: float = math.inf) -> Listing:
        """The sessions of all stores, an id that several have once.

        The live ones are missing, and the listing is not complete, where the host fails or takes
        longer than `patience` seconds.
        """
        live: dict[str, Entry] | None = None

        async def ask_host(store: LiveStore) -> None:
            nonlocal live
            try:
                with anyio.move_on_after(patience):
                    listing = await store.list()
                    live = {entry.header.id: entry for entry in listing.entries}
            except ReadError as error:
                _log.warning("The host did not list its sessions: %s", error.reason)

        if self._live is None:
            return await self._list_stores(patience)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_host, self._live)
            on_disk = await self._list_stores(patience)
        return self._with_live(on_disk, live)

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        """One session, whole: from the host if it has it, else from the store that has it.

        Raises `ReadError`. Of a session that the host has, no log is looked at.
        """
        if self._live is not None:
            try:
                reading = await self._live.read(session_id)
            except ReadError as error:
                if error.cause != "not_found":
                    raise
            else:
                logged = self._contradicted.get(session_id)
                if logged is not None and contradict(reading.header, logged):
                    raise _contradiction()
                return reading
        answers = await self._ask(lambda store: store.read(session_id, salvage=salvage))
        present = [answer for answer in answers if _tells_of_session(answer)]
        if len(present) > 1 and await self._is_doubled(session_id):
            raise _conflict()
        present.sort(key=_is_failure)
        elsewhere = [answer for answer in answers if not _is_absence(answer)]
        for answer in (*present, *elsewhere):
            if isinstance(answer, ReadError):
                raise answer
            return answer
        raise ReadError("not_found", "there is no such session")

    async def _is_doubled(self, session_id: str) -> bool:
        """Whether several stores have the session; rubbish in the place of its log is no rival."""
        answers = await self._ask(lambda store: store.entry(session_id))
        return sum(not isinstance(answer, ReadError) for answer in answers) > 1

    async def entry(self, session_id: str) -> Entry:
        """What a listing says of one session. Raises `ReadError`.

        A live session is archived or not as its log is.
        """
        live: Entry | None = None
        if self._live is not None:
            try:
                live = await self._live.entry(session_id)
            except ReadError as error:
                if error.cause != "not_found":
                    raise
        answers = await self._ask(lambda store: store.entry(session_id))
        logged = [answer for answer in answers if not isinstance(answer, ReadError)]
        if live is not None:
            archived = logged[0].archived if logged else None
            return msgspec.structs.replace(live, archived=archived)
        for entry in logged:
            return entry
        failures = [answer for answer in answers if isinstance(answer, ReadError)]
        for failure in sorted(failures, key=_is_absence):
            raise failure
        raise ReadError("not_found", "there is no such session")

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """A summary of each, from the store that has it; an empty one for those in conflict."""
        if self._live is None and len(self._stores) == 1:
            return await self._stores[0].summaries(entries)
        summaries = dict.fromkeys((entry.header.id for entry in entries), _NOTHING)
        live, on_disk = _readable(entries)
        if on_disk:
            for answer in await self._ask(lambda store: store.summaries(on_disk)):
                if not isinstance(answer, ReadError):
                    summaries.update(answer)
        # A store may tell of more than it was asked for, and a live session has a log as well.
        summaries.update(_nothing_of_others(entries))
        if live and self._live is not None:
            try:
                summaries.update(await self._live.summaries(live))
            except ReadError as error:
                _log.warning("The host did not tell of its sessions: %s", error.reason)
        return summaries

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """As much of the same as can be told at once."""
        summaries = dict.fromkeys((entry.header.id for entry in entries), _NOTHING)
        live, on_disk = _readable(entries)
        for store in self._stores:
            summaries.update(store.known(on_disk))
        summaries.update(_nothing_of_others(entries))
        if self._live is not None:
            summaries.update(self._live.known(live))
        return summaries

    async def roots(self) -> tuple[RootState, ...]:
        """The roots of all stores."""
        states = await self._ask(lambda store: store.roots())
        return tuple(root for state in states if not isinstance(state, ReadError) for root in state)

    async def _list_stores(self, patience: float) -> Listing:
        listings = await self._ask(lambda store: store.list(patience=patience))
        if len(listings) == 1 and isinstance(listings[0], Listing):
            return listings[0]
        entries: dict[str, Entry] = {}
        problems: list[Problem] = []
        strangers = 0
        for listing in listings:
            if isinstance(listing, ReadError):
                problems.append(Problem(path=listing.path or "", error=listing))
                continue
            problems += listing.problems
            strangers += listing.strangers
            for entry in listing.entries:
                first = entries.setdefault(entry.header.id, entry)
                if first is not entry:
                    self._tell_conflict(first, entry)
                    entries[entry.header.id] = msgspec.structs.replace(first, problem=_conflict())
        return Listing(
            entries=tuple(entries.values()),
            problems=tuple(problems),
            strangers=strangers,
            is_complete=all(
                listing.is_complete for listing in listings if not isinstance(listing, ReadError)
            ),
        )

    def _with_live(self, on_disk: Listing, live: Mapping[str, Entry] | None) -> Listing:
        """The listing of the disk with the host's sessions in front; None: it did not tell."""
        if live is None:
            return msgspec.structs.replace(on_disk, is_complete=False)
        merged: dict[str, Entry] = {entry.header.id: entry for entry in on_disk.entries}
        contradicted: dict[str, Header] = {}
        for session_id, entry in live.items():
            logged = merged.get(session_id)
            if logged is not None:
                problem = None
                if contradict(entry.header, logged.header):
                    contradicted[session_id] = logged.header
                    problem = _contradiction()
                entry = msgspec.structs.replace(
                    entry,
                    persisted=True,
                    path=logged.path,
                    archived=logged.archived,
                    problem=problem,
                )
            merged[session_id] = entry
        self._contradicted = contradicted
        return msgspec.structs.replace(on_disk, entries=tuple(merged.values()))

    def _tell_conflict(self, one: Entry, other: Entry) -> None:
        """Name two logs that claim to be one session, once in the life of the process."""
        pair = one.path or one.store, other.path or other.store
        if pair not in self._told:
            self._told.add(pair)
            _log.warning("Two logs of one session: %s and %s", *pair)

    async def _ask(self, question: Callable[[Store], Awaitable[T]]) -> Sequence[T | ReadError]:
        """What each store answers, in their order, all asked at one time."""
        answers: dict[int, T | ReadError] = {}

        async def ask(at: int, store: Store) -> None:
            try:
                answers[at] = await question(store)
            except ReadError as error:
                answers[at] = error

        if len(self._stores) == 1:  # most often, and there is no need for a task
            await checkpoint()
            await ask(0, self._stores[0])
            return [answers[0]]
        async with anyio.create_task_group() as tasks:
            for at, store in enumerate(self._stores):
                tasks.start_soon(ask, at, store)
        return [answers[at] for at in range(len(self._stores))]


def _readable(entries: Collection[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The entries that nothing is known against: those of live sessions, and the others."""
    readable = [entry for entry in entries if entry.problem is None]
    live = [entry for entry in readable if entry.live]
    return live, readable if not live else [entry for entry in readable if not entry.live]


def _nothing_of_others(entries: Collection[Entry]) -> dict[str, Summary]:
    """What no log may tell: of live sessions, and of those in conflict."""
    return {
        entry.header.id: _NOTHING for entry in entries if entry.live or entry.problem is not None
    }


def _conflict() -> ReadError:
    return ReadError("conflict", "the session is in several stores")


def _contradiction() -> ReadError:
    return ReadError("conflict", "the host and the log say different things of the session")


def _tells_of_session(answer: Reading | ReadError) -> bool:
    """Whether a store surely has the session. One that can't be asked says nothing of it."""
    return not isinstance(answer, ReadError) or answer.cause in _OF_A_SESSION


def _is_failure(answer: object) -> bool:
    return isinstance(answer, ReadError)


def _is_absence(answer: object) -> bool:
    return isinstance(answer, ReadError) and answer.cause == "not_found"
