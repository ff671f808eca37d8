"""Readings of the logs of a root: kept while a log is the same, continued when it was appended to.

Kept are the latest ones, bounded by the bytes of their texts, and fewer while a log is read that
takes very much memory itself. Who asks for what is being read just now waits for the same read,
which goes on until nobody waits for it any more. Lives on the event loop; reading is done by worker
threads. Source: issue "instant at ten thousand sessions", 4.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final

from sessionref.config import LIMITS, MIB
from sessionref.sessions.digest import Look, look_of
from sessionref.sessions.folders import Log
from sessionref.sessions.model import Reading
from sessionref.sessions.root import Root, Taken
from sessionref.sessions.stamps import Identity
from sessionref.sessions.stop import Stop
from sessionref.sessions.turns import give_back
from sessionref.sessions.workers import Workers

_MAX_BYTES: Final = 64 * MIB

_TOGETHER_BYTES: Final = LIMITS.max_zstd_window_bytes + LIMITS.max_session_bytes
"""Of memory, for what is kept and a read that is under way: as much as one read may take."""

_Kept = tuple[Taken, int]
"""And its size in bytes."""

_Key = tuple[str, Identity, bool]


class Readings:
    """Readings by the path of the log."""

    def __init__(
        self,
        root: Root,
        workers: Workers,
        learn: Callable[[str, Look], None],
        alone: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext(),
        max_bytes: int = _MAX_BYTES,
    ) -> None:
        """`learn` is told what each new one came to, `alone` when and which log is being read."""
        self._root = root
        self._workers = workers
        self._learn = learn
        self._alone = alone
        self._max_bytes = max_bytes
        self._kept: dict[str, _Kept] = {}
        """The one that was used last is the last one."""
        self._bytes = 0
        self._lock = threading.Lock()
        """For both: a thread that reads may want room."""
        self._shared: dict[_Key, _SharedRead] = {}
        root.turns.tell(self._make_room)

    async def read(self, log: Log, identity: Identity | None, *, salvage: bool) -> Reading:
        """The reading of a log that has this identity now, or of a later state of it.

        Raises `ReadError`.
        """
        if log.conflict is not None:
            raise log.conflict  # it may have got its rival after it was read
        if identity is None:
            return (await self._read(log, salvage=salvage)).reading
        kept = self._kept.get(log.path)
        if kept is not None and kept[0].stamp.holds(identity):
            self._keep(log.path, kept)
            return kept[0].reading
        return (await self._join((log.path, identity, salvage), log)).reading

    async def _join(self, key: _Key, log: Log) -> Taken:
        """Wait for a read, which is begun if need be and ends with the last one who waits."""
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = _SharedRead(self._read(log, salvage=key[-1]))
        shared.waiting += 1
        try:
            await asyncio.wait((shared.task,))
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                del self._shared[key]
                shared.task.cancel()  # does nothing where it is done
        return shared.task.result()

    async def _read(self, log: Log, *, salvage: bool) -> Taken:
        kept = self._kept.get(log.path)
        known = None if kept is None else kept[0]
        with self._alone(log.path):
            taken, found = await self._workers.run(partial(self._take, log, known, salvage))
            if found is not None:
                assert taken.start is not None  # where something was found
                self._keep(log.path, (taken, taken.start.pause.reader.weight))
                self._learn(log.path, found)
            elif kept is not None and taken.reading is kept[0].reading:
                self._keep(log.path, (taken, kept[1]))
            return taken

    def _take(
        self, log: Log, known: Taken | None, salvage: bool, stop: Stop
    ) -> tuple[Taken, Look | None]:
        start = None if known is None else known.start
        taken = self._root.take(log, stop, start, salvage=salvage)
        if known is not None and taken.adds_nothing_to(known):
            return Taken(taken.stamp, known.reading, known.start), None
        return taken, None if taken.start is None else look_of(taken)

    def _keep(self, path: str, kept: _Kept) -> None:
        """Keep a reading as the one that was used last, as long as there is room for it."""
        with self._lock:
            _, before = self._kept.pop(path, (None, 0))
            _, size = self._kept[path] = kept
            self._bytes += size - before
            self._forget(self._max_bytes)

    def _make_room(self, weight: int) -> None:
        """A read takes so many bytes of memory. For any thread."""
        if self._kept and self._bytes + weight > _TOGETHER_BYTES:
            with self._lock:
                self._forget(_TOGETHER_BYTES - weight)
            give_back()

    def _forget(self, max_bytes: int) -> None:
        while self._kept and self._bytes > max_bytes:
            oldest = next(iter(self._kept))
            self._bytes -= self._kept.pop(oldest)[1]


class _SharedRead:
    """A read under way, and how many wait for it."""

    def __init__(self, read: Coroutine[None, None, Taken]) -> None:
        self.task = asyncio.create_task(read)
        self.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        self.waiting = 0
