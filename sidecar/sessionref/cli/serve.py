"""`sessionref serve`: wire everything together and answer one host until it is done.

The only place where the parts meet: configuration, stores, handlers, dispatcher, descriptors.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import anyio

from sessionref import logs, stdio
from sessionref.config import Config
from sessionref.dispatcher import Dispatcher
from sessionref.handlers import Handlers
from sessionref.resolver import Resolver
from sessionref.sessions.corpus import Corpus
from sessionref.sessions.dsh import DshStore
from sessionref.sessions.workers import Stop, Workers
from sessionref_protocol.connection import Connection
from sessionref_protocol.display import printable

from .options import config, parser

_log: Final = logging.getLogger(__name__)

_LOG_FLUSH_SECONDS: Final = 0.2


def run(arguments: Sequence[str]) -> int:
    """Serve until the host ends it; never returns on the ordinary path."""
    made = parser("serve")
    settled = config(made.parse_args(arguments), os.environ, made)
    inward, outward = stdio.take()
    anyio.run(_serve, settled, inward, outward)
    return 0


async def _serve(settled: Config, inward: int, outward: int) -> None:
    try:
        log = logs.configure(settled)
    except OSError as error:
        print(f"sessionref: --log-file: {error.strerror}: {settled.log_file}", file=sys.stderr)
        stdio.leave(2)
    limits = settled.limits
    workers = Workers(limits.max_concurrent_reads, limits.max_abandoned_reads)
    corpus = Corpus([DshStore(root, workers=workers, limits=limits) for root in settled.roots])
    resolver = Resolver(corpus, workers)
    handlers = Handlers(settled, resolver, workers)
    connection = Connection(
        settled.framing,
        line_limit=limits.max_line_bytes,
        in_flight_limit=limits.max_requests_in_flight,
    )
    outlet = stdio.Outlet(outward, broken=_abandon)
    dispatcher = Dispatcher(connection, outlet, handlers.routes(), limits, _abandon)
    handlers.attach(dispatcher, outlet)
    stdio.on_signals(lambda: dispatcher.stop(0), lambda: dispatcher.stop(130))
    stdio.watch_parent(_abandon)
    stdio.Inlet(inward, dispatcher.receive, dispatcher.receive_end).open()

    async def finish(code: int) -> None:
        with anyio.move_on_after(_LOG_FLUSH_SECONDS):
            await log.flush()
        stdio.leave(code)

    look = asyncio.create_task(_report_missing_roots(settled.roots, workers))
    await dispatcher.run(finish)
    look.cancel()


async def _report_missing_roots(roots: Sequence[str], workers: Workers) -> None:
    """Say once which roots are not there; they count as empty until they are."""
    for root in roots:
        if not await workers.run(partial(_is_folder, root)):
            _log.warning("There is no folder of sessions at %s", printable(root))


def _is_folder(path: str, _: Stop) -> bool:
    return os.path.isdir(path)


def _abandon() -> None:
    """The peer is gone: nobody can be answered, so the process ends at once."""
    stdio.leave(1)
