"""What all logs of a root came to: kept while they are the same, looked at again when they are not.

Lives on the event loop; the looking is done in the background by a few threads, first what somebody
waits for, then the newest sessions. How long anybody waits is not decided here. Source: issue
"instant at ten thousand sessions", 1 and 2.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import anyio
import msgspec

from sessionref.config import KIB
from sessionref.sessions.digest import Digest, Look, look
from sessionref.sessions.header import FirstLine
from sessionref.sessions.model import ReadError, Summary
from sessionref.sessions.root import Root
from sessionref.sessions.walk import SeenLog
from sessionref.sessions.workers import Stop, StoppedError, Workers

_log: Final = logging.getLogger(__name__)

_AT_ONE_TIME: Final = 2
"""Threads."""

_BATCH_LOGS: Final = 32
_BATCH_BYTES: Final = 256 * KIB
"""A thread is given so much at one time, counted as it lies on disk, or one log that is larger."""

_UNREAD: Final = Summary(is_known=False)


class Digests:
    """The digests of one root, by the path of the log."""

    def __init__(self, root: Root, workers: Workers) -> None:
        self._root = root
        self._workers = workers
        self._looks: dict[str, Look] = {}
        self._told: dict[str, Summary] = {}
        """What is told of every log that was last seen and is to be read."""
        self._sure: dict[str, SeenLog] = {}
        """Logs as they were seen, where it is known that the digest holds for them."""
        self._pending: dict[str, SeenLog] = {}
        """Logs as they were seen that have to be looked at."""
        self._queue: list[str] = []
        """What is pending, the next one last; some of it may have been dealt with."""
        self._urgent: list[str] = []
        """The same, of what was waited for last."""
        self._under_way: set[str] = set()
        self._waiters: set[_Waiter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_news: Callable[[Collection[str]], None] = lambda _: None

    @property
    def pending(self) -> int:
        """How many logs have to be looked at."""
        return len(self._pending)

    @property
    def folded(self) -> int:
        """How many logs were looked at since they changed."""
        return len(self._told) - len(self._pending)

    @property
    def told(self) -> Mapping[str, Summary]:
        """What is known of each log that is to be read."""
        return self._told

    def expect(self, logs: Mapping[str, SeenLog]) -> None:
        """These are the logs now. What changed is looked at in the background."""
        for path in self._told.keys() - logs.keys():
            self._forget(path)
        for path, seen in logs.items():
            if self._sure.get(path) is not seen:
                self._examine(path, seen)
        if self._pending:
            self._queue = sorted(self._pending, key=lambda path: _age(self._pending[path]))
            self._kick()

    def learn(self, path: str, found: Look) -> None:
        """Somebody else has looked at a log."""
        if path in self._told:
            self._take(path, found)

    async def wait(self, paths: Sequence[str]) -> None:
        """Until these logs have been looked at, the first ones first."""
        missing = [path for path in paths if path in self._pending] if self._pending else []
        if not missing:
            return
        self._urgent = missing[::-1]
        self._kick()
        waiter = _Waiter(missing)
        self._waiters.add(waiter)
        try:
            await waiter.over.wait()
        finally:
            self._waiters.discard(waiter)

    # What is known

    def _examine(self, path: str, seen: SeenLog) -> None:
        known = self._looks.get(path)
        if known is not None and self._is_enough(known.digest, seen):
            self._pending.pop(path, None)
            self._settle(path, known.digest, seen)
        else:
            self._pending[path] = seen
            told = _UNREAD if known is None else known.digest.summary
            self._told[path] = msgspec.structs.replace(told, is_known=False)

    def _is_enough(self, digest: Digest, seen: SeenLog) -> bool:
        missing = self._root.openings and digest.header is not None and digest.opening is None
        return digest.holds(seen.stamp.identity) and not missing

    def _take(self, path: str, found: Look) -> None:
        known, digest = self._looks.get(path), found.digest
        if known is not None and known.digest.stamp.looked_at > digest.stamp.looked_at:
            return
        self._looks[path] = found
        self._on_news((path,))
        seen = self._pending.get(path)
        if seen is None:
            self._told[path] = digest.summary
        elif digest.stamp.looked_at >= seen.stamp.looked_at or self._is_enough(digest, seen):
            del self._pending[path]
            self._settle(path, digest, seen)

    def _settle(self, path: str, digest: Digest, seen: SeenLog) -> None:
        self._told[path] = digest.summary
        if self._is_enough(digest, seen):
            self._sure[path] = seen
        for waiter in self._waiters:
            waiter.tell(path)

    def _forget(self, path: str) -> None:
        del self._told[path]
        for known in (self._looks, self._sure, self._pending):
            known.pop(path, None)
        for waiter in self._waiters:
            waiter.tell(path)

    # Looking

    def _kick(self) -> None:
        while len(self._tasks) < _AT_ONE_TIME:
            task = asyncio.create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        while batch := self._next_batch():
            paths = [seen.log.path for seen, _ in batch]
            try:
                looks = await self._workers.run(partial(self._look_at, batch))
            except ReadError as error:
                _log.warning("Sessions are not indexed: %s", error.reason)
                return
            finally:
                self._under_way.difference_update(paths)
            for path, found in zip(paths, looks, strict=True):
                if path in self._told:
                    self._take(path, found)
                if path in self._pending:  # it changed again after it was looked at
                    self._queue.append(path)

    def _next_batch(self) -> list[tuple[SeenLog, Look | None]]:
        batch: list[tuple[SeenLog, Look | None]] = []
        size = 0
        for path in self._upcoming():
            seen = self._pending.get(path)
            if seen is not None and path not in self._under_way:
                self._under_way.add(path)
                batch.append((seen, self._looks.get(path)))
                size += seen.stamp.size
                if size >= _BATCH_BYTES or len(batch) == _BATCH_LOGS:
                    break
        return batch

    def _upcoming(self) -> Iterator[str]:
        while self._urgent or self._queue:
            yield (self._urgent or self._queue).pop()

    def _look_at(self, batch: Sequence[tuple[SeenLog, Look | None]], stop: Stop) -> list[Look]:
        return [self._look(seen, known, stop) for seen, known in batch]

    def _look(self, seen: SeenLog, known: Look | None, stop: Stop) -> Look:
        if self._root.openings and known is not None and known.digest.opening is None:
            known = None  # only the beginning of the log tells it
        try:
            return look(self._root, seen.log, seen.stamp, known, stop)
        except StoppedError:
            raise
        except Exception:  # our fault, and no reason to hide other sessions
            _log.exception("A log could not be looked at: %s", seen.log.path)
            return Look(Digest(stamp=seen.stamp, summary=Summary()))


class _Waiter:
    """Somebody who waits for logs to be looked at."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._missing = set(paths)
        self.over = anyio.Event()

    def tell(self, path: str) -> None:
        """A log has been looked at, or is gone."""
        self._missing.discard(path)
        if not self._missing:
            self.over.set()


def _age(seen: SeenLog) -> int:
    """Sorts the newest session last."""
    return seen.first.header.created_at if isinstance(seen.first, FirstLine) else 0
