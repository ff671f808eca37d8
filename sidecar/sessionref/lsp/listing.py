"""What the workspace's folders hold, looked at once for many keystrokes.

One look at a folder at a time, whoever waits for it, and nobody who stops waiting ends it: else a
folder that takes longer than a keystroke would never be known. What was seen is offered until
there is something newer. Source: issue "`@` completion in every editor", 6.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from sessionref.sessions.workers import Workers

from .files import Found, find_files, list_files

_log: Final = logging.getLogger(__name__)

_FRESH_SECONDS: Final = 2.0
"""How long after a look there is no other."""


class _Seen(NamedTuple):
    since: float
    files: Sequence[Found]


class Listing:
    """Of any folder that is asked for."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._seen: dict[str, _Seen] = {}
        self._looks: dict[str, asyncio.Task[_Seen]] = {}

    def close(self) -> None:
        """Nobody asks any more."""
        for look in self._looks.values():
            look.cancel()

    async def find(self, folder: str, query: str) -> Sequence[Found]:
        """The files that a query may mean, best first. Raises what looking at the folder raises."""
        seen = self._seen.get(folder)
        if seen is None:
            seen = await asyncio.shield(self._look(folder))
        elif time.monotonic() - seen.since > _FRESH_SECONDS:
            self._look(folder)
        return find_files(seen.files, query)

    def _look(self, folder: str) -> asyncio.Task[_Seen]:
        """The look at a folder that is under way, or a new one."""
        if (look := self._looks.get(folder)) is None:
            look = self._looks[folder] = asyncio.create_task(self._list(folder))
            look.add_done_callback(lambda done: self._done(folder, done))
        return look

    async def _list(self, folder: str) -> _Seen:
        files = await self._workers.run(lambda stop: list_files(folder, stop))
        return _Seen(time.monotonic(), files)

    def _done(self, folder: str, look: asyncio.Task[_Seen]) -> None:
        del self._looks[folder]
        if look.cancelled():
            return
        if (error := look.exception()) is not None:
            _log.warning("A folder can't be looked at: %s", error)
        else:
            self._seen[folder] = look.result()
