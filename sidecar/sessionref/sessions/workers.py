"""Blocking work in threads that can be left behind.

A read from a dead disk cannot be interrupted, only abandoned: its caller goes on at once, its
thread ends when the system lets it. So threads are daemons, which never keep the process alive,
and the ones left behind are counted until they really come back. This module knows no sessions
beyond `ReadError`. Source: the contract, section 6, rules 2 and 7.
"""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

import anyio

from sessionref.sessions.model import ReadError
from sessionref.sessions.stop import Stop

T = TypeVar("T")


class _Job:
    """One piece of work, on its way through a thread and back to its event loop."""

    def __init__(self, work: Callable[[Stop], None]) -> None:
        self.stop = Stop()
        self.finished = anyio.Event()
        self.failure: BaseException | None = None
        self._work = work
        self._loop = asyncio.get_running_loop()

    def run(self, came_back: Callable[["_Job"], None]) -> None:
        """In a thread: do the work, then call `came_back` on the event loop."""
        try:
            self._work(self.stop)
        except ReadError as error:
            # An expected answer. Its traceback would keep all that had been read until then.
            error.__cause__ = error.__context__ = None
            self.failure = error.with_traceback(None)
        except BaseException as error:
            self.failure = error
        try:
            self._loop.call_soon_threadsafe(came_back, self)
        except RuntimeError:
            return  # the loop is closed: nobody is left to tell


class Workers:
    """Runs at most `limit` pieces of work at one time, those left behind not counted.

    With more than `abandoned_limit` of the latter new work is refused until some come back. So
    there are never more threads than both limits and one together.
    """

    def __init__(self, limit: int, abandoned_limit: int) -> None:
        self._slots = anyio.Semaphore(limit)
        self._abandoned_limit = abandoned_limit
        self._abandoned: set[_Job] = set()
        self._idle = 0
        self._jobs: SimpleQueue[_Job] = SimpleQueue()

    @property
    def abandoned(self) -> int:
        """How many pieces of work were left behind and have not come back."""
        return len(self._abandoned)

    async def run(self, work: Callable[[Stop], T]) -> T:
        """Do `work` in a thread and return what it returns.

        Cancelling releases the caller at once and sets the `Stop` of the work. Raises what the
        work raises, and `ReadError` ("io") where too much work hangs.
        """
        async with self._slots:
            if self.abandoned > self._abandoned_limit:
                raise ReadError("io", "too many reads hang")
            results: list[T] = []
            job = _Job(lambda stop: results.append(work(stop)))
            self._start(job)
            try:
                await job.finished.wait()
            except BaseException:
                job.stop.set()
                if not job.finished.is_set():
                    self._abandoned.add(job)
                raise
        failure, job.failure = job.failure, None
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # or the failure and this frame would keep each other
        return results[0]

    def _start(self, job: _Job) -> None:
        if self._idle:
            self._idle -= 1
        else:
            threading.Thread(target=self._serve, name="session reader", daemon=True).start()
        self._jobs.put(job)

    def _serve(self) -> None:
        while True:
            self._jobs.get().run(self._came_back)

    def _came_back(self, job: _Job) -> None:
        self._idle += 1
        self._abandoned.discard(job)
        job.finished.set()
