"""Sessions that the host holds in memory, ahead of any disk: a store that asks the host.

What the host says of them is believed as far as it is consistent; a contradiction fails that read
with cause `host`, and nothing that closes an open turn is added, since the turn goes on. This
module knows no JSON-RPC: how the host is asked is somebody else's concern. Source: the contract,
section 6 (`host/...`).
"""

import math
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Final, Protocol

import anyio
import msgspec

from sessionref.config import KIB
from sessionref.sessions.fold import LogFold
from sessionref.sessions.generations import KNOWN, generation
from sessionref.sessions.model import Entry, Header, Listing, ReadError, Reading, RootState, Summary
from sessionref.sessions.records import (
    BadRecordError,
    Members,
    NullRecordError,
    count,
    record_members,
    string,
)
from sessionref.sessions.workers import Workers

_CONCURRENT_READS: Final = 8
"""Sessions that are read from the host at one time."""

_INLINE_BYTES: Final = 64 * KIB
"""Events up to this size are folded on the event loop, where they wait for no read of a disk."""

_TITLE_SECONDS: Final = 2.0
"""How long titles that only reading tells are waited for: at most half the time there is."""


class Page(msgspec.Struct, frozen=True):
    """A part of a live session: some events, in order."""

    header: bytes
    events: Sequence[bytes]
    next_seq: int | None
    """Set where there is more."""


class Host(Protocol):
    """How the host is asked. Both raise `ReadError` (`host`) where it fails or is gone."""

    def sessions(self) -> Awaitable[Sequence[bytes]]:
        """The headers of its sessions, each a JSON text."""
        ...

    def page(self, session_id: str, after_seq: int | None) -> Awaitable[Page | None]:
        """Events after a seq; None where it has no such session."""
        ...


class _Live(msgspec.Struct, frozen=True):
    """What the host says of one session when it lists them."""

    header: Header
    title: str | None
    running: bool | None


class LiveStore:
    """The host's own sessions. What it pushed is believed until it pushes again."""

    def __init__(self, host: Host, workers: Workers) -> None:
        self._host = host
        self._workers = workers
        self._slots = anyio.Semaphore(_CONCURRENT_READS)
        self._pushed: dict[str, _Live] | None = None
        self._pushes = 0
        """Above 0 the host tells when its sessions change, so a list that it gave stays true."""

    def changed(self, headers: Sequence[bytes] | None) -> None:
        """The host pushes: its sessions are these now, or (None) no longer those it listed."""
        self._pushes += 1
        self._pushed = None if headers is None else _by_id(headers)

    async def list(self, *, patience: float = math.inf) -> Listing:
        """Every live session. Raises `ReadError` (`host`)."""
        del patience  # whoever asks may stop waiting
        known = await self._known()
        return Listing(
            entries=tuple(
                Entry(
                    header=live.header,
                    store="live",
                    live=True,
                    persisted=False,
                    title=live.title,
                    running=live.running,
                )
                for live in known.values()
            )
        )

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        """One live session, whole. Raises `ReadError`; `not_found` where it is not live."""
        del salvage  # what a host holds in memory is not damaged in parts
        known = self._pushed
        if known is not None and session_id not in known:
            raise ReadError("not_found", "there is no such session")
        async with self._slots:
            return await self._read(session_id, None if known is None else known[session_id])

    async def entry(self, session_id: str) -> Entry:
        """What a listing says of one session. Raises `ReadError`; `not_found` if it is not live."""
        for entry in (await self.list()).entries:
            if entry.header.id == session_id:
                return entry
        raise ReadError("not_found", "there is no such session")

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """The titles; a session is only read where the host did not tell its title.

        One that can't be read has none; one that does not come in time says that it may have one.
        """
        summaries = dict(self.known(entries))

        async def look_up(session_id: str) -> None:
            try:
                summaries[session_id] = Summary.of(await self.read(session_id))
            except ReadError:
                summaries[session_id] = Summary()

        left = anyio.current_effective_deadline() - anyio.current_time()
        with anyio.move_on_after(min(_TITLE_SECONDS, left / 2)):
            async with anyio.create_task_group() as tasks:
                for entry in entries:
                    if entry.title is None:
                        tasks.start_soon(look_up, entry.header.id)
        return summaries

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        """The titles that the host told when it listed its sessions."""
        return {
            entry.header.id: Summary(entry.title, is_known=entry.title is not None)
            for entry in entries
        }

    async def roots(self) -> tuple[RootState, ...]:
        """None: the host's memory has no path."""
        return ()

    async def _known(self) -> dict[str, _Live]:
        known, pushes = self._pushed, self._pushes
        if known is not None:
            return known
        known = _by_id(await self._host.sessions())
        if pushes != self._pushes:  # what was listed is from before a push
            return known if self._pushed is None else self._pushed
        if pushes:
            self._pushed = known
        return known

    async def _read(self, session_id: str, listed: _Live | None) -> Reading:
        fold: LogFold | None = None
        header: Header | None = None if listed is None else listed.header
        after: int | None = None
        while True:
            page = await self._host.page(session_id, after)
            if page is None:
                if fold is None:
                    raise ReadError("not_found", "there is no such session")
                raise ReadError("host", "the host lost a live session while it was read")
            told = _parse(page.header).header
            if header is not None and fold is None and contradict(header, told):
                raise ReadError("conflict", "the host gives two headers of one live session")
            if told.id != session_id or (fold is not None and told != header):
                raise ReadError("host", "a page of a live session contradicts the one before")
            header = told
            if fold is None:
                fold = LogFold(generation(header.version), sparse=True)
            if after is not None and _goes_back(page.events, after):
                raise ReadError("host", "a page of a live session begins before its place")
            await self._feed(fold, page.events)
            if page.next_seq is None:
                return fold.reading(header, closed=False)
            reached = max(fold.last_seq, page.next_seq - 1)
            if reached <= (-1 if after is None else after):
                raise ReadError("host", "a page of a live session leads nowhere")
            after = reached

    async def _feed(self, fold: LogFold, events: Sequence[bytes]) -> None:
        lines = list(events)
        try:
            if sum(map(len, lines)) <= _INLINE_BYTES:
                fold.feed(lines)
            else:
                await self._workers.run(lambda _: fold.feed(lines))
        except ReadError as error:
            if error.cause != "corrupt":
                raise
            raise ReadError("host", f"an event of a live session is bad: {error.reason}") from None
        if fold.dropping:
            raise ReadError("host", "an event of a live session is malformed or out of order")


def contradict(one: Header, other: Header) -> bool:
    """Whether two headers of one id can't be those of the same session."""
    return (one.id, one.created_at, one.cwd) != (other.id, other.created_at, other.cwd)


def _goes_back(events: Sequence[bytes], after: int) -> bool:
    """Whether a page begins with an event that was to be on an earlier one.

    The order of the others, and what is no event at all, is the fold's concern.
    """
    try:
        first = record_members(events[0]) if events else {}
    except (BadRecordError, NullRecordError):
        return False
    seq = count(first.get("seq", first.get("seq0")))
    return seq is not None and seq <= after


def _by_id(headers: Sequence[bytes]) -> dict[str, _Live]:
    """What can be understood of a list of headers; the rest is no session."""
    known: dict[str, _Live] = {}
    for text in headers:
        try:
            live = _parse(text)
        except ReadError:
            continue
        known[live.header.id] = live
    return known


def _parse(text: bytes) -> _Live:
    try:
        members = record_members(text)
    except (BadRecordError, NullRecordError):
        raise ReadError("host", "a header of a live session is no object") from None
    session_id, created_at = string(members.get("id")), count(members.get("createdAt"))
    if session_id is None or created_at is None:
        raise ReadError("host", "a header of a live session has no valid id or time of creation")
    version = count(members.get("version"))
    header = Header(
        id=session_id,
        created_at=created_at,
        version=KNOWN[-1].number if version is None else version,
        cwd=string(members.get("cwd")),
        origin=string(members.get("origin")),
        parent_session=string(members.get("parentSession")),
        delegation_depth=count(members.get("delegationDepth")),
        agent_preset=string(members.get("agentPreset")),
    )
    return _Live(header, string(members.get("title")), _running(members))


def _running(members: Members) -> bool | None:
    return {b"true": True, b"false": False}.get(members.get("running", b""))
