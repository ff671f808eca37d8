"""What the resolver asks of a store, and which of several failures it tells."""

import math
import threading
from collections.abc import Collection, Mapping

import anyio
import pytest

from sessionref import resolver
from sessionref.config import Settings
from sessionref.reference.references import Reference
from sessionref.resolver import Resolver, Search
from sessionref.sessions.model import (
    Entry,
    Header,
    Listing,
    ReadError,
    Reading,
    RootState,
    Summary,
)
from sessionref.sessions.workers import Workers
from sessionref.sessions.workspace import Identity, Workspaces
from sessionref_protocol.errors import RpcError
from support.sidecar import TIMEOUT


def entry(session_id: str, cwd: str | None = None) -> Entry:
    return Entry(header=Header(id=session_id, created_at=0, version=0, cwd=cwd), store="x")


class AskedStore:
    """Remembers what it was asked. Its reads fail: that of `slow` when it is let go."""

    def __init__(self) -> None:
        self.read_ids: list[str] = []
        self.summarized: list[str] = []
        self.cwds: dict[str, str] = {}
        self.let_go = anyio.Event()

    async def list(self, *, patience: float = math.inf) -> Listing:
        return Listing(entries=tuple(entry(each, self.cwds.get(each)) for each in "abc"))

    async def entry(self, session_id: str) -> Entry:
        return entry(session_id)

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        self.read_ids.append(session_id)
        if session_id == "slow":
            await self.let_go.wait()
            raise ReadError("io", "reading failed")
        raise ReadError("not_found", "there is no such session")

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        ids = [each.header.id for each in entries]
        self.summarized += ids
        return dict.fromkeys(ids, Summary())

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        return {each.header.id: Summary() for each in entries}

    async def roots(self) -> tuple[RootState, ...]:
        return ()


@pytest.mark.asyncio
async def test_sources_are_read_at_one_time_and_the_first_that_failed_in_order_is_told() -> None:
    store = AskedStore()
    told: list[RpcError] = []

    async def ask() -> None:
        references = [Reference("slow", "l"), Reference("quick", "l")]
        with pytest.raises(RpcError) as caught:
            await Resolver(store, Workers(1, 1)).prepare("me", references, Settings())
        told.append(caught.value)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert store.read_ids == ["slow", "quick"]
        assert told == []
        store.let_go.set()
    (error,) = told
    assert (error.session_id, error.cause, error.input_index) == ("slow", "io", 0)


@pytest.mark.asyncio
async def test_without_a_query_only_those_that_are_shown_are_looked_into() -> None:
    store = AskedStore()
    found = await Resolver(store, Workers(1, 1)).find(Search(agent_id="me", limit=1))
    assert found.total == 3
    assert store.summarized == ["a"]


class StuckWorkspaces(Workspaces):
    """All folders are on a disk that hangs until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def identity(self, cwd: str, renamed: Mapping[str, str]) -> Identity:
        self.let_go.wait()
        return super().identity(cwd, renamed)


@pytest.mark.asyncio
async def test_folders_that_can_not_be_looked_at_are_told_apart_by_their_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolver, "_PATIENCE_SECONDS", 0.01)
    workspaces = StuckWorkspaces()
    store = AskedStore()
    store.cwds = {"b": "/w"}
    asked = Resolver(store, Workers(1, 0), workspaces)
    search = Search(agent_id="me", cwd="/w", limit=9, resolved=True)
    try:
        for _ in range(3):  # and after the first, one read too many hangs already
            with anyio.fail_after(TIMEOUT):
                found = await asked.find(search)
            assert [each.session_id for each in found.candidates] == ["b", "a", "c"]
            assert [each.same_workspace for each in found.candidates] == [True, False, False]
            assert not found.is_complete
    finally:
        workspaces.let_go.set()
