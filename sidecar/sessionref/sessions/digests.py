"""What all logs of a root came to: kept while they are the same, looked at again when they are not.

Lives on the event loop; the looking is done in the background by a few threads, first what somebody
waits for, then the newest sessions. How long anybody waits is not decided here. Source: issue
"instant at ten thousand sessions", 1 and 2.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import anyio
import msgspec

from sessionref.config import KIB
from sessionref.sessions.digest import Digest, Look, look
from sessionref.sessions.header import FirstLine
from sessionref.sessions.log import Place
from sessionref.sessions.lookers import Lookers, Sought
from sessionref.sessions.model import ReadError, Summary
from sessionref.sessions.root import Root
from sessionref.sessions.stop import Stop, StoppedError
from sessionref.sessions.walk import SeenLog
from sessionref.sessions.workers import Workers

_log: Final = logging.getLogger(__name__)

_AT_ONE_TIME: Final = 2
"""Threads."""

_BATCH_LOGS: Final = 32
_BATCH_BYTES: Final = 256 * KIB
"""A thread is given so much at one time, counted as it lies on disk, or one log that is larger."""

_UNREAD: Final = Summary(is_known=False)


class Digests:
    """The digests of one root, by the path of the log."""

    def __init__(
        self,
        root: Root,
        workers: Workers,
        *,
        recall: Callable[[Place], bytes | None] = lambda _: None,
        learned: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`recall`: asked in threads for the rest of a look that is not kept here.

        `learned`: told which log came to something else than before.
        """
        self._root = root
        self._workers = workers
        self._recall = recall
        self._learned = learned
        self._looks: dict[str, Look] = {}
        self._told: dict[str, Summary] = {}
        """What is told of every log that was last seen and is to be read."""
        self.version = 0
        """Grows with every change of what is told."""
        self._sure: dict[str, SeenLog] = {}
        """Logs as they were seen, where it is known that the digest holds for them."""
        self._pending: dict[str, SeenLog] = {}
        """Logs as they were seen that have to be looked at."""
        self._queue: list[str] = []
        """What is pending, the next one last; some of it may have been dealt with."""
        self._urgent: list[str] = []
        """The same, of what was waited for last."""
        self._under_way: set[str] = set()
        self._read_elsewhere: Counter[str] = Counter()
        """Logs that somebody reads whole just now, from which they will be learned."""
        self._waiters: set[_Waiter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._lookers = Lookers(root)

    @property
    def is_idle(self) -> bool:
        """Whether no log has to be looked at."""
        return not self._pending

    def count(self) -> tuple[int, int]:
        """How many logs were looked at since they last changed, it seems, and how many not."""
        unseen = 0
        for path, seen in self._pending.items():
            known = self._looks.get(path)
            if known is None or known.digest.stamp.identity != seen.stamp.identity:
                unseen += 1
        return len(self._told) - unseen, unseen

    @property
    def told(self) -> Mapping[str, Summary]:
        """What is known of each log that is to be read."""
        return self._told

    def expect(self, logs: Mapping[str, SeenLog]) -> None:
        """These are the logs now. What changed is looked at in the background."""
        for path in (self._looks.keys() | self._told.keys()) - logs.keys():
            self._forget(path)
        for path, seen in logs.items():
            if self._sure.get(path) is not seen:
                self._examine(path, seen)
        if self._pending:
            self._queue = sorted(self._pending, key=lambda path: _age(self._pending[path]))
            self._lookers.want(sum(seen.stamp.size for seen in self._pending.values()))
            self._kick()

    def learn(self, path: str, found: Look) -> None:
        """Somebody else has looked at a log."""
        if path in self._told:
            self._take(path, found)

    @contextmanager
    def left_alone(self, path: str) -> Iterator[None]:
        """While somebody reads this log whole: looking at it, too, would take twice as much."""
        self._read_elsewhere[path] += 1
        try:
            yield
        finally:
            self._read_elsewhere[path] -= 1
            if not self._read_elsewhere[path]:
                del self._read_elsewhere[path]
                if path in self._pending:
                    self._queue.append(path)
                    self._kick()

    def recalled(self, looks: Mapping[str, Look]) -> None:
        """An earlier process had looked at these logs."""
        self._looks = {**looks, **self._looks}

    def look(self, path: str) -> Look | None:
        """The latest look at a log."""
        return self._looks.get(path)

    def stored(self, path: str, saved: Look) -> None:
        """A look lies where `recall` finds it."""
        if self._looks.get(path) is saved:
            self._looks[path] = Look(saved.digest)

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
            self._tell(path, msgspec.structs.replace(told, is_known=False))

    def _is_enough(self, digest: Digest, seen: SeenLog) -> bool:
        if self._root.openings and not digest.failed and digest.summary.opening is None:
            return False
        return digest.holds(seen.stamp.identity)

    def _take(self, path: str, found: Look) -> None:
        known, digest = self._looks.get(path), found.digest
        if known is not None and known.digest.stamp.looked_at > digest.stamp.looked_at:
            return
        self._looks[path] = found
        self._learned(path)
        seen = self._pending.get(path)
        if seen is None:
            self._tell(path, digest.summary)
        elif digest.stamp.looked_at >= seen.stamp.looked_at or self._is_enough(digest, seen):
            del self._pending[path]
            self._settle(path, digest, seen)

    def _settle(self, path: str, digest: Digest, seen: SeenLog) -> None:
        self._tell(path, digest.summary)
        if self._is_enough(digest, seen):
            self._sure[path] = seen
        for waiter in self._waiters:
            waiter.tell(path)

    def _tell(self, path: str, summary: Summary) -> None:
        if self._told.get(path) != summary:
            self._told[path] = summary
            self.version += 1

    def _forget(self, path: str) -> None:
        self.version += 1
        for known in (self._told, self._looks, self._sure, self._pending):
            known.pop(path, None)
        for waiter in self._waiters:
            waiter.tell(path)

    # Looking

    def _kick(self) -> None:
        while len(self._tasks) < _AT_ONE_TIME:
            task = asyncio.create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            self._lookers.rest()

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
                if path in self._told and found is not None:
                    self._take(path, found)
                if path in self._pending:  # it was left alone, or changed after it was looked at
                    self._queue.append(path)

    def _next_batch(self) -> list[tuple[SeenLog, Look | None]]:
        batch: list[tuple[SeenLog, Look | None]] = []
        size = 0
        for path in self._upcoming():
            seen = self._pending.get(path)
            busy = path in self._under_way or path in self._read_elsewhere
            if seen is not None and not busy:
                self._under_way.add(path)
                batch.append((seen, self._looks.get(path)))
                size += seen.stamp.size
                if size >= _BATCH_BYTES or len(batch) == _BATCH_LOGS:
                    break
        return batch

    def _upcoming(self) -> Iterator[str]:
        while self._urgent or self._queue:
            yield (self._urgent or self._queue).pop()

    def _look_at(
        self, batch: Sequence[tuple[SeenLog, Look | None]], stop: Stop
    ) -> list[Look | None]:
        logs = [self._sought(seen, known) for seen, known in batch]
        looks = self._lookers.look(logs) or [None] * len(logs)
        return [
            self._look(sought, stop) if found is None else found
            for sought, found in zip(logs, looks, strict=True)
        ]

    def _sought(self, seen: SeenLog, known: Look | None) -> Sought:
        assert isinstance(seen.first, FirstLine)
        rest = None if known is None else known.rest or self._recall(seen.log.place)
        return Sought(seen.log, seen.first.header, seen.stamp, rest)

    def _look(self, sought: Sought, stop: Stop) -> Look | None:
        """None where somebody began to read the log whole."""
        path = sought.log.path
        try:
            return look(self._root, *sought, _PoliteStop(stop, self._read_elsewhere, path))
        except _YieldedError:
            return None
        except StoppedError:
            raise
        except Exception:  # our fault, and no reason to hide other sessions
            _log.exception("A log could not be looked at: %s", path)
            return Look(Digest(sought.seen, Summary(), failed=True))


class _YieldedError(Exception):
    """Looking at a log was given up, since somebody else reads it."""


class _PoliteStop(Stop):
    """Ends a look as another stop does, or at a log that is read elsewhere."""

    def __init__(self, stop: Stop, read_elsewhere: Container[str], path: str) -> None:
        super().__init__()
        self._stop = stop
        self._read_elsewhere = read_elsewhere
        self._path = path

    @property
    def is_set(self) -> bool:
        """Whether nobody waits any more."""
        return self._stop.is_set or self._path in self._read_elsewhere

    def check(self) -> None:
        """To be called at every step of the look."""
        self._stop.check()
        if self._path in self._read_elsewhere:
            raise _YieldedError


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
