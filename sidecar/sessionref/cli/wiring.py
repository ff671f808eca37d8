"""A configuration -> the parts that every command shares, and one question to them from a shell.

What a command adds (descriptors, a dispatcher, words for people) is its own concern.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

import anyio
import msgspec

from sessionref import logs, stdio
from sessionref.config import Config
from sessionref.dispatcher import Call
from sessionref.handlers import Handlers
from sessionref.resolver import Resolver
from sessionref.sessions.corpus import Corpus
from sessionref.sessions.dsh import DshStore
from sessionref.sessions.index import Index
from sessionref.sessions.turns import Turns
from sessionref.sessions.workers import Workers
from sessionref_protocol import types
from sessionref_protocol.display import printable
from sessionref_protocol.types import Agent

from .exits import Exit

T = TypeVar("T")

_LOG_FLUSH_SECONDS: Final = 0.2
_CLOSE_SECONDS: Final = 1.0
_BACKGROUND_THREADS: Final = 2


class Parts(NamedTuple):
    """What answers questions about sessions."""

    workers: Workers
    stores: tuple[DshStore, ...]
    """One for each root, in their order."""
    corpus: Corpus
    """All stores as one."""
    handlers: Handlers
    index_file: Index | None

    async def close(self) -> None:
        """Keep what was found out, if that does not take long."""
        index = self.index_file
        if index is not None and index.epoch:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                async with anyio.create_task_group() as tasks:
                    for store in self.stores:
                        tasks.start_soon(store.close)
                await self.workers.run(lambda _: index.close())


def wire(settled: Config) -> Parts:
    """Needs a running event loop."""
    limits = settled.limits
    workers = Workers(limits.max_concurrent_reads, limits.max_abandoned_reads)
    background = Workers(_BACKGROUND_THREADS, limits.max_abandoned_reads)
    index = None if settled.cache_folder is None else Index(settled.cache_folder)
    turns = Turns()
    stores = tuple(
        DshStore(
            root,
            workers,
            limits,
            background=background,
            index=index,
            openings=settled.index_previews,
            turns=turns,
        )
        for root in settled.roots
    )
    corpus = Corpus(stores)

    def state() -> types.IndexState:
        states = [store.state for store in stores]
        is_used = index is not None and index.is_used
        return types.IndexState(
            state="disk" if is_used else "memory",
            sessions=sum(state.sessions for state in states),
            folded=sum(state.folded for state in states),
            pending=sum(state.pending for state in states),
            path=index.path if index is not None and is_used else None,
        )

    handlers = Handlers(settled, corpus, Resolver(corpus, workers), workers, state)
    return Parts(workers, stores, corpus, handlers, index)


def start_log(settled: Config) -> stdio.Outlet:
    """Log as the configuration says. Ends the process (2) where the log file can't be opened."""
    try:
        return logs.configure(settled)
    except OSError as error:
        where = printable(settled.log_file or "")
        print(f"sessionref: --log-file: {error.strerror}: {where}", file=sys.stderr)
        stdio.leave(Exit.USAGE)


async def flush_log(log: stdio.Outlet) -> None:
    """Give the log a moment to be written, and no more than that."""
    with anyio.move_on_after(_LOG_FLUSH_SECONDS, shield=True):
        await log.flush()


def asker(session_id: str | None) -> Agent:
    """Who asks from a shell, in the folder that we are in: a session, or an id that no log has."""
    try:
        return Agent(id=session_id or "", cwd=os.getcwd())
    except FileNotFoundError:  # the folder was removed
        return Agent(id=session_id or "")


def call() -> Call:
    """A request that is made now, by nobody who wants to see progress."""
    return Call(anyio.current_time(), lambda _: None)


def ask(settled: Config, question: Callable[[Parts], Awaitable[T]]) -> T:
    """The answer to one question, in an event loop of its own. Raises what the question raises."""

    async def answer() -> T:
        log = start_log(_for_people(settled))
        try:
            parts = wire(settled)
            try:
                return await question(parts)
            finally:
                await parts.close()
        finally:
            await flush_log(log)

    return anyio.run(answer)


def _for_people(settled: Config) -> Config:
    """What stderr would warn of by default, a command tells in its own words."""
    if settled.log_file is None and settled.log_level == "warning":
        return msgspec.structs.replace(settled, log_level="error")
    return settled
