"""The operations: checks first, concurrent reads, then the domain.

Between the wire and the sessions: it knows when to read and what a failed read means to an
operation, and nothing of ids, frames or files. Everything that may take long happens in the
store or in a worker thread; the event loop stays free. Source: the contract, section 5.
"""

import contextlib
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from sessionref_protocol.errors import ErrorKind, RpcError

from .config import EVERYTHING, Scope, Settings
from .reference import candidates, pages, prestep, snapshot
from .reference.glance import Glance, glance
from .reference.pages import Page
from .reference.preview import Captured, Preview, preview
from .reference.projection import is_larger, project
from .reference.references import Reference, Wanted, check_references, sift
from .reference.snapshot import ContextMessage, Snapshot
from .sessions.model import Entry, Listing, ReadError, Reading, RootState, Store, Summary
from .sessions.scope import ScopedStore
from .sessions.stop import Stop
from .sessions.workers import Workers
from .sessions.workspace import Identity, Workspaces

T = TypeVar("T")

_INLINE_BYTES: Final = 128 * 1024
"""A conversation up to this size is fitted on the event loop; a thread would cost more."""

_SUMMARIES_A_STEP: Final = 64
"""How many logs are asked for their summaries between two reports of progress."""

_PATIENCE_SECONDS: Final = 2.0
"""How long a list waits for what may come later: at most half the time there is."""

_NOTHING: Final = Summary()

Report = Callable[[int, int], None]
"""Called with how many sessions were looked at, of how many."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What candidates are looked for."""

    agent_id: str
    cwd: str | None = None
    query: str = ""
    limit: int
    filter: candidates.Filter = candidates.Filter()
    resolved: bool = False
    """Compare workspaces by what the folders are, not by how they were recorded."""
    renamed_roots: Mapping[str, str] = {}


class Found(msgspec.Struct, frozen=True):
    """The answer to a search for candidates."""

    candidates: Sequence[candidates.Candidate]
    total: int
    """Matches before the limit."""
    is_complete: bool
    """False where something that could not be asked in time might change the answer."""


class PlaceInSession(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of which session is wanted."""

    session_id: str
    offset: int
    limit: int | None
    max_bytes: int
    after: Captured | None
    """What the page before was read from."""


class PageOfSession(msgspec.Struct, frozen=True):
    """A page, and the reading that it was made of."""

    page: Page
    reading: Reading


class Label(msgspec.Struct, frozen=True):
    """What a session may be called by."""

    session_id: str
    title: str | None
    cwd: str | None

    @property
    def of_reference(self) -> str:
        """The label of a copied reference: the title, else the folder's name, else the id."""
        base = os.path.basename((self.cwd or "").rstrip("/\\"))
        return self.title or base or self.session_id


class Resolver:
    """Prepares snapshots and lists candidates, over one store."""

    def __init__(
        self, store: Store, workers: Workers, workspaces: Workspaces | None = None
    ) -> None:
        self._store = store
        self._workers = workers
        self._workspaces = workspaces or Workspaces()
        self._last_offer: tuple[object, candidates.Offer] | None = None
        """And the question that it answers: who types asks the same but for the query."""

    def within(self, scope: Scope, cwd: str | None, renamed_roots: Mapping[str, str]) -> "Resolver":
        """This resolver as far as a scope and the agent's folder reach."""
        if scope == EVERYTHING:
            return self

        async def resolve(cwds: Collection[str]) -> Mapping[str, object]:
            return await self._identities(cwds, renamed_roots)

        scoped = ScopedStore(self._store, scope, cwd, resolve)
        return Resolver(scoped, self._workers, self._workspaces)

    async def roots(self) -> tuple[RootState, ...]:
        """The roots behind the store."""
        return await self._store.roots()

    async def prepare(
        self,
        agent_id: str,
        references: Iterable[Reference],
        settings: Settings,
        deadline: float = math.inf,
    ) -> ContextMessage | None:
        """One context message for all references; None where there are none.

        All or nothing: raises the `RpcError` of the first reference, in their order, that failed.
        `deadline` is a time of the event loop's clock.
        """
        if not settings.is_enabled:
            return None
        wanted = check_references(agent_id, references, settings.references)
        if not wanted:
            return None
        snapshots: list[Snapshot] = []
        for taken in await self._take_all(wanted, settings, deadline, stop_at_failure=True):
            if isinstance(taken, RpcError):
                raise taken
            snapshots.append(taken)
        return snapshot.context_message(snapshots, omissions=bool(settings.omissions))

    async def pre_step(
        self,
        agent_id: str,
        decision: msgspec.Raw,
        policy: prestep.Policy,
        settings: Settings,
        deadline: float = math.inf,
    ) -> prestep.Assembled:
        """The decision with its contexts in place, and what became of each message."""
        if not settings.is_enabled:
            return prestep.Assembled(decision, ())
        plan = prestep.plan(
            decision, policy=policy, agent_id=agent_id, max_references=settings.references
        )
        pending = plan.pending
        taken = iter(
            await self._take_all(
                [wanted for step in pending for wanted in step.wanted],
                settings,
                deadline,
                stop_at_failure=policy.on_failure == "terminate",
            )
        )
        results = {step.message_index: [next(taken) for _ in step.wanted] for step in pending}
        return prestep.assemble(plan, results, omissions=bool(settings.omissions))

    async def preview(
        self,
        agent_id: str,
        references: Iterable[Reference],
        captured: Mapping[str, Captured],
        settings: Settings,
        deadline: float = math.inf,
    ) -> Preview:
        """What `prepare` would make of the references, and where it would fail; raises nothing."""
        if not settings.is_enabled:
            return Preview()
        sifted = sift(agent_id, references, settings.references)
        results = await self._take_all(sifted.wanted, settings, deadline, stop_at_failure=False)
        return preview(sifted, results, captured)

    async def read_page(
        self,
        agent_id: str,
        place: PlaceInSession,
        settings: Settings,
        deadline: float = math.inf,
    ) -> PageOfSession:
        """A page of what a session's snapshot would quote if nothing had to be left out.

        Raises `RpcError`: for the agent's own session, for one that cannot be read, and
        (`changed`) for one that moved on since the page before.
        """
        check_references(agent_id, [Reference(place.session_id, "")], settings.references)
        if not settings.is_enabled:
            raise _unread(place.session_id, ReadError("denied", "references are switched off"))

        def make(reading: Reading) -> PageOfSession:
            through_seq, version = reading.captured_through_seq, reading.header.version
            if place.after is not None and place.after.is_stale(through_seq, version):
                raise ReadError("changed", "the session moved on since the page before")
            items = project(reading.nodes)
            return PageOfSession(
                page=pages.page(items, place.offset, place.limit, place.max_bytes), reading=reading
            )

        return await self._observe(place.session_id, settings, deadline, make)

    async def glance(self, session_id: str, settings: Settings) -> Glance:
        """What a person may see of a session before referring to it. Raises `RpcError`."""
        return await self._observe(
            session_id,
            settings,
            math.inf,
            lambda reading: glance(reading, settings.reference_bytes),
        )

    async def label(self, session_id: str) -> Label:
        """What to call a session, from what a listing tells of it. Raises `RpcError`."""
        try:
            entry = await self._store.entry(session_id)
            summaries = await self._store.summaries([entry])
        except ReadError as error:
            raise _unread(session_id, error) from None
        return Label(session_id, summaries.get(session_id, _NOTHING).title, entry.header.cwd)

    async def find(
        self,
        search: Search,
        deadline: float = math.inf,
        report: Report | None = None,
    ) -> Found:
        """The sessions that could be referred to, best first, at most `search.limit`.

        Raises `RpcError` where the deadline passes.
        """
        with anyio.CancelScope(deadline=deadline):
            now = anyio.current_time()
            patience = min(_PATIENCE_SECONDS, (deadline - now) / 2)
            listing = await self._store.list(patience=patience)
            found = await self._choose(listing, search, now + patience, report)
            if anyio.current_time() < deadline:
                return found
        raise _late()

    async def _choose(
        self, listing: Listing, search: Search, until: float, report: Report | None
    ) -> Found:
        own, is_told = await self._own_folders(listing, search, until)
        offer = self._offer(listing, search, own)
        matches: Sequence[Entry]
        if search.query:
            summaries = await self._summaries(offer.entries, until, report)
            offer.tell(summaries)
            await checkpoint()  # whoever types on has cancelled this by now
            matches = offer.matching(search.query)
            is_known = is_told and offer.is_known
        else:
            matches = offer.entries
            summaries = await self._summaries(matches[: search.limit], until, report)
            is_known = is_told
        await checkpoint()
        chosen: list[candidates.Candidate] = []
        for entry in matches[: search.limit]:
            summary = summaries.get(entry.header.id, _NOTHING)
            is_known &= summary.is_known
            chosen.append(candidates.candidate(entry, summary, own.__contains__))
        return Found(chosen, len(matches), listing.is_complete and is_known)

    def _offer(self, listing: Listing, search: Search, own: Collection[str]) -> candidates.Offer:
        """The sessions to choose from, in their order: the same as last time, if all else is."""
        question = listing, search.agent_id, search.filter, own
        if self._last_offer is None or self._last_offer[0] != question:
            is_same = own.__contains__
            offered = candidates.offered(listing.entries, search.agent_id, search.filter, is_same)
            self._last_offer = question, candidates.Offer(candidates.ranked(offered, is_same))
        return self._last_offer[1]

    async def _own_folders(
        self, listing: Listing, search: Search, until: float
    ) -> tuple[Collection[str], bool]:
        """The recorded folders that are the agent's workspace, and whether these are all.

        Any of them may be on a disk that hangs; then they are told apart by their names.
        """
        own = search.cwd
        if own is None:
            return frozenset(), True
        if not search.resolved:
            return frozenset((own,)), True
        recorded = {own, *(entry.header.cwd for entry in listing.entries if entry.header.cwd)}
        with anyio.CancelScope(deadline=until), contextlib.suppress(ReadError):  # too many hang
            identities = await self._identities(recorded, search.renamed_roots)
            return frozenset(cwd for cwd in recorded if identities[cwd] == identities[own]), True
        return frozenset((own,)), False

    async def _identities(
        self, cwds: Collection[str], renamed_roots: Mapping[str, str]
    ) -> dict[str, Identity]:
        """What each recorded folder is; asking the disk may take long."""

        def resolve(stop: Stop) -> dict[str, Identity]:
            identities: dict[str, Identity] = {}
            for cwd in cwds:
                stop.check()
                identities[cwd] = self._workspaces.identity(cwd, renamed_roots)
            return identities

        return await self._workers.run(resolve)

    async def _summaries(
        self, entries: Sequence[Entry], until: float, report: Report | None
    ) -> Mapping[str, Summary]:
        """The summaries, asked for in steps where somebody wants to see progress.

        After `until`, a time of the event loop's clock, with what is known by then.
        """
        if report is None:
            return await self._summaries_of(entries, until)
        summaries: dict[str, Summary] = {}
        for start in range(0, len(entries), _SUMMARIES_A_STEP):
            some = entries[start : start + _SUMMARIES_A_STEP]
            summaries.update(await self._summaries_of(some, until))
            report(start + len(some), len(entries))
        return summaries

    async def _summaries_of(self, entries: Sequence[Entry], until: float) -> Mapping[str, Summary]:
        with anyio.CancelScope(deadline=until):
            return await self._store.summaries(entries)
        return self._store.known(entries)

    async def _take_all(
        self,
        wanted: Sequence[Wanted],
        settings: Settings,
        deadline: float,
        *,
        stop_at_failure: bool,
    ) -> list[Snapshot | RpcError]:
        """One result each, in order; all are read at the same time.

        With `stop_at_failure`, the rest is not waited for once it is known which failure comes
        first in order, and has that failure as its result.
        """
        taken: list[Snapshot | RpcError | None] = [None] * len(wanted)
        async with anyio.create_task_group() as tasks:

            async def take(place: int) -> None:
                taken[place] = await self._take(wanted[place], settings, deadline)
                first = next((each for each in taken if not isinstance(each, Snapshot)), None)
                if stop_at_failure and first is not None:
                    tasks.cancel_scope.cancel()

            for place in range(len(wanted)):
                tasks.start_soon(take, place)
        failure = next((each for each in taken if isinstance(each, RpcError)), None)
        return [each or failure or _late() for each in taken]

    async def _take(
        self, wanted: Wanted, settings: Settings, deadline: float
    ) -> Snapshot | RpcError:
        try:
            return await self._observe(
                wanted.session_id,
                settings,
                deadline,
                lambda reading: snapshot.take(wanted, reading, settings.reference_bytes),
            )
        except RpcError as error:
            error.input_index = wanted.input_index
            return error

    async def _observe(
        self, session_id: str, settings: Settings, deadline: float, make: Callable[[Reading], T]
    ) -> T:
        """Read one session, and what `make` makes of it. Raises `RpcError`."""
        try:
            with anyio.CancelScope(deadline=deadline):
                reading = await self._store.read(session_id, salvage=bool(settings.salvage))
                if is_larger(reading.nodes, _INLINE_BYTES):
                    return await self._workers.run(lambda _: make(reading))
                return make(reading)
            raise _late(session_id)
        except ReadError as error:
            raise _unread(session_id, error) from None


def _unread(session_id: str, error: ReadError) -> RpcError:
    return RpcError(
        ErrorKind.READ_FAILED,
        f"The session could not be read: {error.reason}",
        cause=error.cause,
        session_id=session_id,
    )


def _late(session_id: str | None = None) -> RpcError:
    return RpcError(ErrorKind.TIMED_OUT, "The request's deadline passed.", session_id=session_id)
