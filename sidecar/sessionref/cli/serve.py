"""`sessionref serve`: wire everything together and answer one host until it is done.

Adds to the parts that every command shares what only a peer needs: dispatcher, descriptors.
"""

import argparse
import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import anyio

from sessionref import stdio
from sessionref.config import Config
from sessionref.dispatcher import Dispatcher, Route
from sessionref.sessions.stop import Stop
from sessionref.sessions.workers import Workers
from sessionref_protocol.connection import Connection
from sessionref_protocol.framing import Mode

from .exits import Exit
from .options import config, parser
from .wiring import flush_log, start_log, wire

_log: Final = logging.getLogger(__name__)


def command_line() -> argparse.ArgumentParser:
    """What `serve` can be told."""
    return parser("serve")


def run(arguments: Sequence[str]) -> int:
    """Serve until the host ends it; never returns on the ordinary path."""
    made = command_line()
    settled = config(made.parse_args(arguments), os.environ, made)
    inward, outward = stdio.take()
    anyio.run(_serve, settled, inward, outward)
    return Exit.DONE


async def _serve(settled: Config, inward: int, outward: int) -> None:
    log = start_log(settled)
    limits = settled.limits
    parts = wire(settled)
    handlers = parts.handlers
    connection = Connection(
        settled.framing,
        line_limit=limits.max_line_bytes,
        in_flight_limit=limits.max_requests_in_flight,
        nesting_limit=limits.max_line_nesting,
    )
    outlet = stdio.Outlet(outward, broken=_abandon)
    ends: list[Callable[[], None]] = []

    def routes(mode: Mode) -> Mapping[str, Route]:
        if mode == "line":
            return handlers.routes()
        from sessionref.lsp.server import LanguageServer  # costs more than all the rest

        watch = partial(stdio.watch_process, gone=_abandon)
        server = LanguageServer(handlers, dispatcher, parts.workers, limits, watch)
        ends.append(server.close)
        return server.routes()

    dispatcher = Dispatcher(connection, outlet, routes, limits, _abandon)
    handlers.attach(dispatcher, outlet)
    stdio.on_signals(lambda: dispatcher.stop(Exit.DONE), lambda: dispatcher.stop(Exit.INTERRUPTED))
    stdio.watch_parent(_abandon)
    stdio.Inlet(inward, dispatcher.receive, dispatcher.receive_end).open()

    async def finish(code: int) -> None:
        for end in ends:
            end()
        await parts.close()
        await flush_log(log)
        stdio.leave(code)

    look = asyncio.create_task(_report_missing_roots(settled.roots, parts.workers))
    await dispatcher.run(finish)
    look.cancel()


async def _report_missing_roots(roots: Sequence[str], workers: Workers) -> None:
    """Say once which roots are not there; they count as empty until they are."""
    for root in roots:
        if not await workers.run(partial(_is_folder, root)):
            _log.warning("There is no folder of sessions at %s", root)


def _is_folder(path: str, _: Stop) -> bool:
    return os.path.isdir(path)


def _abandon() -> None:
    """The peer is gone: nobody can be answered, so the process ends at once."""
    stdio.leave(Exit.FAILED)
