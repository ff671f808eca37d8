"""Keeps on disk what is known of a root, a little behind, and recalls it when a process starts.

Lives on the event loop; the index is written by one thread, some logs at a time. Nobody ever waits
for it but who starts, and that one not long. Source: issue "instant at ten thousand sessions", 1.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import anyio

from sessionref.sessions.digest import Look
from sessionref.sessions.digests import Digests
from sessionref.sessions.header import FirstLine
from sessionref.sessions.index import Index
from sessionref.sessions.log import Place
from sessionref.sessions.paths import Key
from sessionref.sessions.remembered import Remembered, record, remembered
from sessionref.sessions.root import Root
from sessionref.sessions.stop import Stop
from sessionref.sessions.walk import SeenFolder, SeenLog, Sight
from sessionref.sessions.workers import Workers

_RECALL_SECONDS: Final = 0.5
"""How long the first walk waits for what is remembered."""

_RECALLS: Final = 3
"""How often that is tried where somebody else holds the file."""

_BEHIND_SECONDS: Final = 0.5
_AGAIN_SECONDS: Final = 5.0
"""After the file could not be written."""

_AT_ONE_TIME: Final = 500
"""Logs that are written in one transaction."""


class _Kept(NamedTuple):
    """What is to be written of one log."""

    path: str
    folder: SeenFolder
    log: SeenLog
    look: Look | None


class Keeper:
    """Keeps one root in an index."""

    def __init__(self, index: Index, root: Root) -> None:
        self._index = index
        self._root = root
        self._workers = Workers(1, 1)
        self._recalls = _RECALLS
        self._epoch = 0
        self._digests: Digests | None = None
        self._folders: Mapping[Key, SeenFolder] = {}
        self._logs: Mapping[str, SeenLog] = {}
        """Logs as they were last seen."""
        self._changed: set[str] = set()
        """Paths of logs of which the row is not up to date."""
        self._gone: dict[str, Key] = {}
        self._is_all_there = False
        """Whether what was not seen last time is surely gone."""
        self._has_begun = False
        self._closing = anyio.Event()
        self._task: asyncio.Task[None] | None = None

    async def recall(self) -> Remembered | None:
        """What is remembered, the first time that it can be had; None after that."""
        if not self._recalls:
            return None
        self._recalls -= 1
        known = None
        with anyio.move_on_after(_RECALL_SECONDS) as waiting:
            known = await self._workers.run(self._load)
        if known is not None or waiting.cancelled_caught:
            self._recalls = 0
        if known is not None:
            self._epoch = self._index.epoch
            self._logs = known.logs
        return known

    def rest(self, place: Place) -> bytes | None:
        """Where a look at a log rested, if that was kept. Blocking."""
        return self._index.rest(self._root_path, (place.project, place.folder))

    def saw(self, sight: Sight, digests: Digests) -> None:
        """A walk saw this, and this is known of it."""
        before, self._logs = self._logs, sight.logs
        self._folders, self._digests = sight.folders, digests
        for path, seen in sight.logs.items():
            if before.get(path) is not seen:
                self.learned(path)
        for path in before.keys() - sight.logs.keys():
            place = before[path].log.place
            self._gone[path] = (place.project, place.folder)
        for path in self._gone.keys() & sight.logs.keys():
            del self._gone[path]
        unsure = (problem.session_id is None for problem in sight.listing.problems)
        self._is_all_there = not any(unsure)
        self._schedule()

    def learned(self, path: str) -> None:
        """A log came to something else than before."""
        self._changed.add(path)
        self._schedule()

    async def close(self) -> None:
        """Write what is not written yet. Whoever closes decides how long that may take."""
        self._closing.set()
        if self._task is not None:
            await asyncio.wait((self._task,))

    @property
    def _root_path(self) -> str:
        return os.path.abspath(self._root.path)

    def _load(self, _: Stop) -> Remembered | None:
        rows = self._index.load(self._root_path)
        if rows is None:
            return None
        return remembered(self._root.path, rows, openings=self._root.openings)

    def _schedule(self) -> None:
        if self._task is None and self._digests is not None and self._index.is_used:
            self._task = asyncio.create_task(self._keep_up())

    async def _keep_up(self) -> None:
        delay = _BEHIND_SECONDS
        try:
            while self._index.is_used and (self._changed or self._purgeable or not self._has_begun):
                with anyio.move_on_after(delay):
                    await self._closing.wait()
                self._has_begun = True
                saved = await self._write()
                delay = _BEHIND_SECONDS if saved else _AGAIN_SECONDS
                if self._closing.is_set() and not saved:
                    return
        finally:
            self._task = None

    @property
    def _purgeable(self) -> dict[str, Key]:
        return self._gone if self._is_all_there else {}

    async def _write(self) -> bool:
        """Write some of what is to be written. Whether that was possible."""
        paths = list(islice(self._changed, _AT_ONE_TIME))
        self._changed.difference_update(paths)
        gone = self._purgeable
        if gone:
            self._gone = {}
        kept = [kept for path in paths if (kept := self._kept(path)) is not None]
        saved = await self._workers.run(partial(self._save, kept, tuple(gone.values())))
        if not saved:
            self._changed.update(paths)
            self._gone = {**gone, **self._gone}
            return False
        assert self._digests is not None
        for each in kept:
            if each.look is not None:
                self._digests.stored(each.path, each.look)
        if self._epoch != self._index.epoch:  # it is another file, and has nothing else yet
            self._epoch = self._index.epoch
            self._changed.update(self._logs.keys() - paths)
        return True

    def _kept(self, path: str) -> _Kept | None:
        """What is to be written of a log; None where it is gone, or is no session's."""
        seen = self._logs.get(path)
        if seen is None or not isinstance(seen.first, FirstLine) or self._digests is None:
            return None
        place = seen.log.place
        folder = self._folders[(place.project, place.folder)]
        return _Kept(path, folder, seen, self._digests.look(path))

    def _save(self, kept: Sequence[_Kept], gone: Sequence[Key], _: Stop) -> bool:
        records = [record(each.folder, each.log, each.look) for each in kept]
        return self._index.save(self._root_path, records, gone)
