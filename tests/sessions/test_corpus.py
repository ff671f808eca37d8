"""Several stores as one: what they have together, and what fails in one of them."""

import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

import anyio
import pytest

from sessionref.sessions.corpus import Corpus
from sessionref.sessions.model import (
    Entry,
    Header,
    Listing,
    Problem,
    ReadError,
    Reading,
    RootState,
    Summary,
)
from sessionref_protocol.errors import Cause

T = TypeVar("T")


class Shelf:
    """A store in memory: readings, and refusals in place of some."""

    def __init__(self, name: str, **sessions: str | ReadError) -> None:
        self.name = name
        self.sessions = sessions

    async def list(self, *, patience: float = math.inf) -> Listing:
        entries = [
            Entry(header=Header(id=key, created_at=1, version=0), store=self.name)
            for key in self.sessions
        ]
        problem = Problem(path=self.name, error=ReadError("corrupt", "one bad log"))
        return Listing(entries=tuple(entries), problems=(problem,), strangers=1)

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        found = self.sessions.get(session_id, ReadError("not_found", "not here"))
        if isinstance(found, ReadError):
            raise found
        header = Header(id=session_id, created_at=1, version=0)
        return Reading(header=header, nodes=(), captured_through_seq=None, title=found)

    async def entry(self, session_id: str) -> Entry:
        for entry in (await self.list()).entries:
            if entry.header.id == session_id:
                return entry
        raise ReadError("not_found", "not here")

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        own = [entry.header.id for entry in entries if entry.store == self.name]
        titles = {key: self.sessions.get(key) for key in own}
        return {
            key: Summary(title) if isinstance(title, str) else Summary()
            for key, title in titles.items()
        }

    async def roots(self) -> tuple[RootState, ...]:
        return (RootState(path=self.name, sessions=len(self.sessions)),)


class Broken:
    """A store that can't be asked anything."""

    async def _fail(self, *_: object, **__: object) -> object:
        raise ReadError("io", "the disk is gone", path="/gone")

    list = read = entry = summaries = roots = _fail


def ask(corpus: Corpus, question: Callable[[Corpus], Awaitable[T]]) -> T:
    async def run() -> T:
        return await question(corpus)

    return anyio.run(run)


def title(corpus: Corpus, session_id: str) -> str | None:
    return ask(corpus, lambda store: store.read(session_id)).title


def titles(corpus: Corpus) -> dict[str, str | None]:
    entries = ask(corpus, Corpus.list).entries
    found = ask(corpus, lambda store: store.summaries(entries))
    return {session_id: summary.title for session_id, summary in found.items()}


def cause(corpus: Corpus, session_id: str) -> Cause:
    with pytest.raises(ReadError) as refused:
        title(corpus, session_id)
    return refused.value.cause


def test_a_session_is_read_from_the_store_that_has_it() -> None:
    corpus = Corpus([Shelf("one", a="first"), Shelf("two", b="second")])
    assert title(corpus, "a") == "first"
    assert title(corpus, "b") == "second"
    assert cause(corpus, "c") == "not_found"
    listing = ask(corpus, Corpus.list)
    assert sorted((entry.header.id, entry.store) for entry in listing.entries) == [
        ("a", "one"),
        ("b", "two"),
    ]
    assert [problem.path for problem in listing.problems] == ["one", "two"]
    assert listing.strangers == 2
    assert ask(corpus, Corpus.roots) == (
        RootState(path="one", sessions=1),
        RootState(path="two", sessions=1),
    )


def test_an_id_in_two_stores_is_a_conflict_for_that_id() -> None:
    damaged = ReadError("corrupt", "damaged")
    corpus = Corpus([Shelf("one", a="x", b="y", c="z"), Shelf("two", a="x", c=damaged)])
    assert cause(corpus, "a") == "conflict"
    assert cause(corpus, "c") == "conflict"
    assert title(corpus, "b") == "y"
    problems = {entry.header.id: entry.problem for entry in ask(corpus, Corpus.list).entries}
    assert sorted(problems) == ["a", "b", "c"]
    assert problems["b"] is None
    for session_id in ("a", "c"):
        problem = problems[session_id]
        assert problem is not None
        assert problem.cause == "conflict"
    assert titles(corpus) == {"a": None, "b": "y", "c": None}


def test_a_store_that_fails_takes_nothing_from_the_others() -> None:
    corpus = Corpus([Broken(), Shelf("one", a="first")])  # type: ignore[list-item]
    assert title(corpus, "a") == "first"
    assert cause(corpus, "b") == "io"  # it may well be in the store that can't be asked
    listing = ask(corpus, Corpus.list)
    assert [entry.header.id for entry in listing.entries] == ["a"]
    assert [problem.path for problem in listing.problems] == ["/gone", "one"]
    assert titles(corpus) == {"a": "first"}
    assert ask(corpus, Corpus.roots) == (RootState(path="one", sessions=1),)
