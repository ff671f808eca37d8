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
from sessionref.sessions.model import Store
from sessionref.sessions.workers import Workers
from sessionref_protocol.types import Agent

T = TypeVar("T")

_LOG_FLUSH_SECONDS: Final = 0.2

FROM_A_SHELL: Final = Call(0.0, lambda _: None)
"""A request of nobody who waits for progress."""


class Parts(NamedTuple):
    """What answers questions about sessions."""

    workers: Workers
    stores: tuple[Store, ...]
    """One for each root, in their order."""
    corpus: Corpus
    """All stores as one."""
    handlers: Handlers


def wire(settled: Config) -> Parts:
    """Needs a running event loop."""
    limits = settled.limits
    workers = Workers(limits.max_concurrent_reads, limits.max_abandoned_reads)
    stores = tuple(DshStore(root, workers=workers, limits=limits) for root in settled.roots)
    corpus = Corpus(stores)
    return Parts(
        workers, stores, corpus, Handlers(settled, corpus, Resolver(corpus, workers), workers)
    )


def start_log(settled: Config) -> stdio.Outlet:
    """Log as the configuration says. Ends the process (2) where the log file can't be opened."""
    try:
        return logs.configure(settled)
    except OSError as error:
        print(f"sessionref: --log-file: {error.strerror}: {settled.log_file}", file=sys.stderr)
        stdio.leave(2)


async def flush_log(log: stdio.Outlet) -> None:
    """Give the log a moment to be written, and no more than that."""
    with anyio.move_on_after(_LOG_FLUSH_SECONDS, shield=True):
        await log.flush()


def nobody() -> Agent:
    """Who asks from a shell: an id that no log can have, in the folder that we are in."""
    try:
        return Agent(id="", cwd=os.getcwd())
    except FileNotFoundError:  # the folder was removed
        return Agent(id="")


def ask(settled: Config, question: Callable[[Parts], Awaitable[T]]) -> T:
    """The answer to one question, in an event loop of its own. Raises what the question raises."""

    async def answer() -> T:
        log = start_log(_for_people(settled))
        try:
            return await question(wire(settled))
        finally:
            await flush_log(log)

    return anyio.run(answer)


def _for_people(settled: Config) -> Config:
    """What stderr would warn of by default, a command tells in its own words."""
    if settled.log_file is None and settled.log_level == "warning":
        return msgspec.structs.replace(settled, log_level="error")
    return settled
