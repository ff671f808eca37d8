"""Work in threads: answers, refusals, and work that hangs and is left behind."""

import subprocess
import sys
import threading

import anyio
import pytest
from anyio.lowlevel import checkpoint

from sessionref.sessions.model import ReadError
from sessionref.sessions.stop import Stop, StoppedError
from sessionref.sessions.workers import Workers


class Hanging:
    """Work that hangs, as a read from a dead disk does, until it is let go."""

    def __init__(self) -> None:
        self.running = threading.Semaphore(0)
        self.gate = threading.Event()
        self.stops: list[Stop] = []

    def __call__(self, stop: Stop) -> str:
        self.stops.append(stop)
        self.running.release()
        assert self.gate.wait(30)
        stop.check()
        return "came back"

    async def wait_for(self, count: int) -> None:
        """Until so many are at it."""
        for _ in range(count):
            while not self.running.acquire(blocking=False):
                await checkpoint()


async def leave_behind(workers: Workers, work: Hanging, count: int) -> None:
    for _ in range(count):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workers.run, work)
            await work.wait_for(1)
            tasks.cancel_scope.cancel()


async def come_back(workers: Workers, work: Hanging) -> None:
    work.gate.set()
    with anyio.fail_after(30):
        while workers.abandoned:
            await checkpoint()


@pytest.mark.asyncio
async def test_the_answer_of_the_work_is_the_answer() -> None:
    workers = Workers(2, 2)
    assert await workers.run(lambda _: threading.current_thread().daemon) is True
    with pytest.raises(ZeroDivisionError):
        await workers.run(lambda _: 1 // 0)
    assert workers.abandoned == 0


@pytest.mark.asyncio
async def test_no_more_work_runs_at_one_time_than_the_limit() -> None:
    workers, work = Workers(2, 2), Hanging()
    answers: list[str] = []

    async def run() -> None:
        answers.append(await workers.run(work))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(run)
            await work.wait_for(2)
            for _ in range(20):
                await checkpoint()
            assert len(work.stops) == 2
            work.gate.set()
    assert answers == ["came back"] * 5


@pytest.mark.asyncio
async def test_cancelling_releases_the_caller_at_once_and_stops_the_work() -> None:
    workers, work = Workers(1, 1), Hanging()
    await leave_behind(workers, work, 1)
    assert workers.abandoned == 1
    with pytest.raises(StoppedError):
        work.stops[0].check()
    await come_back(workers, work)


@pytest.mark.asyncio
async def test_what_hangs_keeps_nobody_else_waiting() -> None:
    workers, work = Workers(1, 3), Hanging()
    await leave_behind(workers, work, 3)
    with anyio.fail_after(30):
        assert await workers.run(lambda _: "done") == "done"
    await come_back(workers, work)


@pytest.mark.asyncio
async def test_too_much_that_hangs_refuses_new_work_until_some_comes_back() -> None:
    workers, work = Workers(1, 2), Hanging()
    await leave_behind(workers, work, 3)
    with pytest.raises(ReadError) as refused:
        await workers.run(lambda _: "done")
    assert refused.value.cause == "io"
    await come_back(workers, work)
    assert await workers.run(lambda _: "done") == "done"


@pytest.mark.asyncio
async def test_a_thread_that_came_back_is_used_again() -> None:
    workers = Workers(4, 4)
    threads = {await workers.run(lambda _: threading.get_ident()) for _ in range(10)}
    assert len(threads) == 1


PROGRAM = """
import anyio, anyio.lowlevel, threading
from sessionref.sessions.workers import Workers
async def main():
    ready = threading.Event()
    def hang(stop):
        ready.set()
        threading.Event().wait()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Workers(1, 1).run, hang)
        while not ready.is_set():
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
anyio.run(main)
print("ended")
"""


def test_a_read_that_hangs_for_ever_does_not_keep_the_process_alive() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, timeout=60, check=True, text=True
    )
    assert ended.stdout == "ended\n"
