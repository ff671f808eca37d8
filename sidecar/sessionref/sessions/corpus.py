"""The sessions of several stores as one store. What fails in one store stays there.

An id that two stores have is a conflict for that id, since neither is known to be the right one.
This module knows no store in particular. Source: the contract, section 3.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

import anyio

from sessionref.sessions.model import (
    Entry,
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

_OF_A_SESSION: Final = frozenset({"corrupt", "unsupported_format", "conflict", "changed"})
"""Causes of failure that only a session which is there can have."""


class Corpus:
    """The union of `stores`, itself a `Store`."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self._stores = tuple(stores)
        self._told: set[tuple[str, str]] = set()

    async def list(self) -> Listing:
        """The sessions of all stores, an id that several have once and with its conflict."""
        listings = await self._ask(lambda store: store.list())
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
                    entries[entry.header.id] = _in_conflict(first)
        return Listing(
            entries=tuple(entries.values()), problems=tuple(problems), strangers=strangers
        )

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        """One session, whole, from the store that has it. Raises `ReadError`."""
        answers = await self._ask(lambda store: store.read(session_id, salvage=salvage))
        present = [answer for answer in answers if _tells_of_session(answer)]
        if len(present) > 1:
            raise _conflict()
        elsewhere = [answer for answer in answers if not _is_absence(answer)]
        for answer in (*present, *elsewhere):
            if isinstance(answer, ReadError):
                raise answer
            return answer
        raise ReadError("not_found", "there is no such session")

    async def summaries(self, session_ids: Collection[str]) -> Mapping[str, Summary]:
        """A summary of each; an empty one where several stores have something to say."""
        found: dict[str, list[Summary]] = {session_id: [] for session_id in session_ids}
        for answer in await self._ask(lambda store: store.summaries(session_ids)):
            if not isinstance(answer, ReadError):
                for session_id, summary in answer.items():
                    found[session_id] += [] if summary == Summary() else [summary]
        return {
            session_id: summaries[0] if len(summaries) == 1 else Summary()
            for session_id, summaries in found.items()
        }

    async def roots(self) -> tuple[RootState, ...]:
        """The roots of all stores."""
        states = await self._ask(lambda store: store.roots())
        return tuple(root for state in states if not isinstance(state, ReadError) for root in state)

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

        async with anyio.create_task_group() as tasks:
            for at, store in enumerate(self._stores):
                tasks.start_soon(ask, at, store)
        return [answers[at] for at in range(len(self._stores))]


def _conflict() -> ReadError:
    return ReadError("conflict", "the session is in several stores")


def _in_conflict(entry: Entry) -> Entry:
    return Entry(header=entry.header, store=entry.store, problem=_conflict())


def _tells_of_session(answer: Reading | ReadError) -> bool:
    """Whether a store surely has the session. One that can't be asked says nothing of it."""
    return not isinstance(answer, ReadError) or answer.cause in _OF_A_SESSION


def _is_absence(answer: Reading | ReadError) -> bool:
    return isinstance(answer, ReadError) and answer.cause == "not_found"
