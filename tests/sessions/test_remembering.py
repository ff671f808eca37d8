"""A store that remembers: what is not read again, who waits for what, what is told meanwhile."""

import asyncio
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from anyio.lowlevel import checkpoint

from sessionref.config import LIMITS
from sessionref.resolver import Resolver, Search
from sessionref.sessions import digests, dsh, stamps
from sessionref.sessions import readings as keeping
from sessionref.sessions.dsh import DshStore
from sessionref.sessions.frames import Block, plain_blocks
from sessionref.sessions.index import Index
from sessionref.sessions.logfile import LogFile
from sessionref.sessions.model import Listing, ReadError, Reading, Summary
from sessionref.sessions.readings import Readings
from sessionref.sessions.root import Root, Taken
from sessionref.sessions.stop import Stop
from sessionref.sessions.turns import HEAVY_BYTES, Turns
from sessionref.sessions.walk import Walker
from sessionref.sessions.workers import Workers
from support import logs

TALK = [logs.user("hello there"), logs.assistant("hi"), logs.title("A talk")]
BOUND = 30

pytestmark = pytest.mark.asyncio


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that ticks so fast that no two changes look alike."""
    monkeypatch.setattr(stamps, "_SETTLING_NS", -(10**18))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Offset and size of everything that is read of any log."""
    done: list[tuple[int, int]] = []
    real = LogFile.read

    def read(self: LogFile, offset: int, size: int) -> bytes:
        done.append((offset, size))
        return real(self, offset, size)

    monkeypatch.setattr(LogFile, "read", read)
    return done


class Gate:
    """Holds up what blocks in threads, until it is opened."""

    def __init__(self) -> None:
        self.arrived = threading.Semaphore(0)
        self.open = threading.Event()

    def __call__(self, stop: Stop | None = None) -> None:
        self.arrived.release()
        assert self.open.wait(BOUND)
        if stop is not None:
            stop.check()

    async def wait_for_arrival(self) -> None:
        with anyio.fail_after(BOUND):
            while not self.arrived.acquire(blocking=False):
                await checkpoint()


@pytest.fixture
def held_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Every reading of a whole log is held up at this gate."""
    gate = Gate()
    real = Root.take

    def take(self: Root, log: Any, stop: Stop, *rest: Any, **more: Any) -> Taken:
        gate(stop)
        return real(self, log, stop, *rest, **more)

    monkeypatch.setattr(Root, "take", take)
    yield gate
    gate.open.set()


@pytest.fixture
def held_walks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Every walk but the first is held up at this gate."""
    gate = Gate()
    real = Walker.walk
    walks: list[Walker] = []

    def walk(self: Walker, stop: Stop) -> Any:
        if self in walks:
            gate()
        walks.append(self)
        return real(self, stop)

    monkeypatch.setattr(Walker, "walk", walk)
    yield gate
    gate.open.set()


def store(root: Path, index: Index | None = None, *, openings: bool = False) -> DshStore:
    return DshStore(str(root), Workers(4, 4), LIMITS, index=index, openings=openings)


async def summaries(asked: DshStore) -> dict[str, Summary]:
    listing = await asked.list()
    return dict(await asked.summaries(listing.entries))


async def titles(asked: DshStore) -> dict[str, str | None]:
    return {key: summary.title for key, summary in (await summaries(asked)).items()}


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(BOUND):
        while not is_so():
            await checkpoint()


def append(log: Path, *rows: Any, seq: int = 3) -> None:
    lines = [logs.line({"seq": seq + at, "time": 1, **row}) for at, row in enumerate(rows)]
    with log.open("ab") as file:
        file.write(logs.frame(lines) if log.suffix == ".zstd" else b"".join(lines))


def said(reading: Reading) -> list[str]:
    return [node.text for node in reading.nodes]


# What is not read again


@pytest.mark.usefixtures("settled")
async def test_an_unchanged_log_is_not_read_again(
    tmp_path: Path, reads: list[tuple[int, int]]
) -> None:
    logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    first = await asked.read("a")
    assert await titles(asked) == {"a": "A talk"}
    assert reads
    reads.clear()
    assert await asked.read("a") is first
    assert await asked.read("a", salvage=True) is first
    assert await titles(asked) == {"a": "A talk"}
    assert reads == []


async def test_what_changed_a_moment_ago_is_looked_at_again(
    tmp_path: Path, reads: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not folded again where its bytes are the same, and once more when that is certain."""
    log = logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    first = await asked.read("a")
    for _ in range(2):
        reads.clear()
        assert await asked.read("a") is first
        assert reads
    monkeypatch.setattr(stamps, "_SETTLING_NS", -(10**18))
    assert await asked.read("a") is first
    reads.clear()
    assert await asked.read("a") is first
    assert reads == []
    append(log, logs.title("Another"), seq=len(TALK))
    assert (await asked.read("a")).title == "Another"


@pytest.mark.usefixtures("settled")
async def test_a_log_that_was_read_may_get_a_rival(tmp_path: Path) -> None:
    """An older generation in the other encoding, which changes nothing of the log itself."""
    path = logs.write_log(tmp_path, "a")
    newer = logs.encode(logs.header("a", version=3), TALK, zstd=True)
    path.with_name(logs.log_name(version=3)).write_bytes(newer)
    path.unlink()
    asked = store(tmp_path)
    await asked.read("a")
    logs.write_log(tmp_path, "a", TALK, zstd=False)
    for salvage in (False, True):
        with pytest.raises(ReadError) as caught:
            await asked.read("a", salvage=salvage)
        assert caught.value.cause == "conflict"


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("zstd", [True, False])
async def test_an_append_costs_what_was_appended(
    tmp_path: Path, reads: list[tuple[int, int]], zstd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "_PRINTED_BYTES", 16)
    log = logs.write_log(tmp_path, "a", TALK, zstd=zstd)
    asked = store(tmp_path)
    assert said(await asked.read("a")) == ["hello there", "hi"]
    assert await titles(asked) == {"a": "A talk"}
    size = log.stat().st_size
    append(log, logs.user("more"), logs.title("Renamed"))
    reads.clear()
    assert said(await asked.read("a")) == ["hello there", "hi", "more"]
    assert await titles(asked) == {"a": "Renamed"}
    assert all(offset >= size for offset, length in reads if length > 16 and offset)
    contents = [(offset, length) for offset, length in reads if length > 16]
    assert [offset for offset, _ in contents if offset] == [size]


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "another file"])
async def test_what_is_alike_at_both_ends_is_not_taken_for_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: Index, in_place: bool
) -> None:
    """Neither in this process nor in the next: somebody has taken a secret out of a long log."""
    monkeypatch.setattr(stamps, "_PRINTED_BYTES", 16)
    root = tmp_path / "root"
    rows = [logs.user("a secret"), logs.title("A secret"), logs.user("bye")]
    log = logs.write_log(root, "a", rows, zstd=False)
    asked = store(root, index)
    assert said(await asked.read("a")) == ["a secret", "bye"]
    assert await titles(asked) == {"a": "A secret"}
    await asked.close()
    data = log.read_bytes().replace(b"secret", b"******")
    if in_place:
        log.write_bytes(data)
    else:
        other = log.with_name("other.tmp")
        other.write_bytes(data + logs.line({"seq": 3, "time": 1, **logs.user("more")}))
        other.replace(log)
    for later in (asked, store(root, index)):
        assert said(await later.read("a"))[:2] == ["a ******", "bye"]
        assert await titles(later) == {"a": "A ******"}


@pytest.mark.usefixtures("settled")
async def test_readings_are_kept_as_long_as_there_is_room(
    tmp_path: Path, reads: list[tuple[int, int]]
) -> None:
    for session_id in "abc":
        logs.write_log(tmp_path, session_id, [logs.user(session_id * 10_000)])
    root = Root(str(tmp_path), LIMITS)
    readings = Readings(root, Workers(2, 2), lambda _path, _look: None, max_bytes=25_000)
    stop = Stop()

    async def is_read(session_id: str) -> bool:
        log, identity = root.find(session_id, stop)
        reads.clear()
        reading = await readings.read(log, identity, salvage=False)
        assert said(reading) == [session_id * 10_000]
        return bool(reads)

    assert [await is_read(each) for each in "abab"] == [True, True, False, False]
    assert [await is_read(each) for each in "cba"] == [True, False, True]
    assert [await is_read(each) for each in "bac"] == [False, False, True]


@pytest.mark.usefixtures("settled")
async def test_a_reading_larger_than_the_room_is_not_kept(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "a", [logs.user("x" * 10_000)])
    root = Root(str(tmp_path), LIMITS)
    readings = Readings(root, Workers(2, 2), lambda _path, _look: None, max_bytes=5_000)
    log, identity = root.find("a", Stop())
    first = await readings.read(log, identity, salvage=False)
    assert await readings.read(log, identity, salvage=False) is not first


@pytest.mark.usefixtures("settled")
async def test_what_is_kept_makes_room_for_a_read_that_takes_much_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for one of another root; the oldest goes first."""
    monkeypatch.setattr(keeping, "_TOGETHER_BYTES", HEAVY_BYTES + 25_000)
    order = Turns()
    for session_id in "ab":
        logs.write_log(tmp_path, session_id, [logs.user(session_id * 10_000)])
    root = Root(str(tmp_path), LIMITS, turns=order)
    readings = Readings(root, Workers(2, 2), lambda _path, _look: None)

    async def is_kept_after(weight: int) -> dict[str, bool]:
        logs_of = {each: root.find(each, Stop()) for each in "ab"}
        before = {each: await readings.read(*logs_of[each], salvage=False) for each in "ab"}
        elsewhere = Stop()
        order.weigh(elsewhere, weight)
        order.leave(elsewhere)
        return {
            each: await readings.read(*logs_of[each], salvage=False) is before[each]
            for each in "ba"
        }

    assert await is_kept_after(HEAVY_BYTES) == {"a": True, "b": True}
    assert await is_kept_after(HEAVY_BYTES + 1_000) == {"a": True, "b": True}
    assert await is_kept_after(HEAVY_BYTES + 10_000) == {"a": False, "b": True}
    assert await is_kept_after(HEAVY_BYTES + 20_000) == {"a": False, "b": False}


# Reads under way


async def read_of(asked: DshStore, into: list[Reading | str]) -> None:
    try:
        into.append(await asked.read("a"))
    except ReadError as error:
        into.append(error.cause)


async def test_equal_reads_under_way_are_one(tmp_path: Path, held_reads: Gate) -> None:
    logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    found: list[Reading | str] = []
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(read_of, asked, found)
        await held_reads.wait_for_arrival()
        (shared,) = asked._readings._shared.values()
        await until(lambda: shared.waiting == 5)
        held_reads.open.set()
    assert len(found) == 5
    assert all(each is found[0] for each in found)
    assert not held_reads.arrived.acquire(blocking=False)


async def test_a_failed_read_fails_for_all_who_wait(tmp_path: Path, held_reads: Gate) -> None:
    log = logs.write_log(tmp_path, "a", TALK)
    log.write_bytes(b"damaged")
    asked = store(tmp_path)
    found: list[Reading | str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_of, asked, found)
        tasks.start_soon(read_of, asked, found)
        await held_reads.wait_for_arrival()
        held_reads.open.set()
    assert found == ["corrupt", "corrupt"]


async def test_who_is_cancelled_leaves_the_read_to_the_others(
    tmp_path: Path, held_reads: Gate
) -> None:
    logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    found: list[Reading | str] = []
    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as cancelled:
            cancelled.start_soon(read_of, asked, found)
            await held_reads.wait_for_arrival()
            tasks.start_soon(read_of, asked, found)
            (shared,) = asked._readings._shared.values()
            await until(lambda: shared.waiting == 2)
            cancelled.cancel_scope.cancel()
        assert found == []
        held_reads.open.set()
    assert [said(each) for each in found if isinstance(each, Reading)] == [["hello there", "hi"]]
    assert not held_reads.arrived.acquire(blocking=False)


async def test_a_read_that_nobody_waits_for_is_stopped(tmp_path: Path, held_reads: Gate) -> None:
    logs.write_log(tmp_path, "a", TALK)
    workers = Workers(4, 4)
    asked = DshStore(str(tmp_path), workers)
    found: list[Reading | str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_of, asked, found)
        tasks.start_soon(read_of, asked, found)
        await held_reads.wait_for_arrival()
        (shared,) = asked._readings._shared.values()
        await until(lambda: shared.waiting == 2)
        tasks.cancel_scope.cancel()
    await until(lambda: workers.abandoned == 1)
    held_reads.open.set()  # where it finds that it was stopped
    await until(lambda: workers.abandoned == 0)
    assert found == []
    assert said(await asked.read("a")) == ["hello there", "hi"]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("damaged", [False, True])
async def test_a_log_that_is_read_whole_is_not_looked_at_besides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    """Looking at it ends when somebody reads it; what that comes to is what is told of it."""
    logs.write_log(tmp_path, "a", [*TALK, b"null"] if damaged else TALK)
    begun = 0
    given_up = threading.Event()
    real = Root.take

    def take(self: Root, log: Any, stop: Stop, *rest: Any, **more: Any) -> Taken:
        nonlocal begun
        begun += 1
        while begun == 1:
            try:
                stop.check()
            except Exception:
                given_up.set()
                raise
        assert given_up.wait(BOUND)
        return real(self, log, stop, *rest, **more)

    monkeypatch.setattr(Root, "take", take)
    asked = store(tmp_path)
    await asked.list()
    await until(lambda: begun == 1)
    found: list[Reading | str] = []
    await read_of(asked, found)
    assert found == ["corrupt"] if damaged else isinstance(found[0], Reading)
    assert await titles(asked) == {"a": None if damaged else "A talk"}
    assert begun == 2 + damaged  # where nothing is learned of a reading, it is looked at again


async def test_who_asks_after_a_change_does_not_share_what_was_read_before(
    tmp_path: Path, held_reads: Gate
) -> None:
    log = logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    found: list[Reading | str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_of, asked, found)
        await held_reads.wait_for_arrival()
        append(log, logs.user("more"))
        tasks.start_soon(read_of, asked, found)
        await held_reads.wait_for_arrival()
        held_reads.open.set()
    assert len(found) == 2


# Listing


async def walks_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, few: int, pause: float, took: float = 0.0
) -> int:
    """How many walks three lists take, between which some seconds pass."""
    monkeypatch.setattr(dsh, "_FEW", few)
    logs.write_log(tmp_path, "a", TALK)
    walks = 0
    real = Walker.walk

    def walk(self: Walker, stop: Stop) -> Any:
        nonlocal walks
        walks += 1
        return real(self, stop)

    monkeypatch.setattr(Walker, "walk", walk)
    asked = store(tmp_path)
    for _ in range(3):
        assert len((await asked.list()).entries) == 1
        sight = asked._sight
        assert sight is not None
        asked._sight = msgspec.structs.replace(sight, began=sight.began - pause, took=took)
    return walks


@pytest.mark.parametrize(
    ("few", "pause", "took", "expected"),
    [
        (0, 0.3, 0.0, 1),
        (0, 1.0, 0.0, 3),
        (1, 0.0, 0.0, 3),
        (1, 0.1, 0.6, 1),
        (1, 0.7, 0.6, 2),
        (0, 1.0, 3.0, 1),
        (0, 6.0, 3.0, 3),
    ],
)
async def test_a_walk_is_believed_for_a_second_unless_it_is_short_or_very_long(
    few: int,
    pause: float,
    took: float,
    expected: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await walks_of(tmp_path, monkeypatch, few=few, pause=pause, took=took) == expected


async def test_where_nothing_changed_the_listing_is_the_same(tmp_path: Path) -> None:
    log = logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    listing = await asked.list()
    assert await asked.list() is listing
    append(log, logs.title("x"))
    assert await asked.list() is listing  # which tells of headers only
    logs.write_log(tmp_path, "b", TALK)
    assert len((await asked.list()).entries) == 2


async def test_a_walk_that_takes_long_is_not_waited_for(
    tmp_path: Path, held_walks: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    assert await titles(asked) == {"a": "A talk"}
    sight = asked._sight
    assert sight is not None
    asked._sight = msgspec.structs.replace(sight, began=sight.began - 2)
    monkeypatch.setattr(dsh, "_FEW", 0)
    monkeypatch.setattr(dsh, "_WALK_SECONDS", 0.01)
    logs.write_log(tmp_path, "b", TALK)
    with anyio.fail_after(BOUND):
        listing = await asked.list(patience=1000)
    assert ([entry.header.id for entry in listing.entries], listing.is_complete) == (["a"], False)
    held_walks.open.set()
    listing = await asked.list()
    assert {entry.header.id for entry in listing.entries} == {"a", "b"}
    assert listing.is_complete


async def test_the_first_walk_tells_what_it_has_found_when_patience_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for session_id in "ab":
        logs.write_log(tmp_path, session_id, TALK, cwd="/" + session_id)
    gate = Gate()
    real = Root.first_line

    def first_line(self: Root, log: Any, stop: Stop) -> Any:
        if log.place.folder == "b":
            gate()
        return real(self, log, stop)

    monkeypatch.setattr(Root, "first_line", first_line)
    asked = store(tmp_path)
    with anyio.move_on_after(0):
        await asked.list()
    await gate.wait_for_arrival()
    listing = await asked.list(patience=0)
    assert ([entry.header.id for entry in listing.entries], listing.is_complete) == (["a"], False)
    assert asked.known(listing.entries) == {"a": Summary(is_known=False)}
    gate.open.set()
    assert (await asked.list()).is_complete


async def test_an_empty_store_is_incomplete_before_anything_was_found(tmp_path: Path) -> None:
    asked = store(tmp_path)
    assert await asked.list(patience=0) == Listing(entries=(), is_complete=False)
    assert await asked.list() == Listing(entries=())


async def test_a_search_is_answered_with_what_is_known_and_says_so(
    tmp_path: Path, held_reads: Gate
) -> None:
    logs.write_log(tmp_path, "a", TALK)
    workers = Workers(4, 4)
    resolver = Resolver(DshStore(str(tmp_path), workers), workers)

    async def found(query: str, seconds: float) -> tuple[list[str], bool]:
        search = Search(agent_id="x", query=query, limit=5)
        answer = await resolver.find(search, anyio.current_time() + seconds)
        return [each.label for each in answer.candidates], answer.is_complete

    assert await found("", 0.5) == (["a"], False)
    assert await found("talk", 0.5) == ([], False)
    held_reads.open.set()
    assert await found("", BOUND) == (["A talk"], True)
    assert await found("talk", BOUND) == (["A talk"], True)


# Digests


async def test_what_is_not_looked_at_yet_is_told_to_be_unknown(
    tmp_path: Path, held_reads: Gate
) -> None:
    log = logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    listing = await asked.list()
    assert asked.known(listing.entries) == {"a": Summary(is_known=False)}
    assert (asked.state.folded, asked.state.pending) == (0, 1)
    held_reads.open.set()
    assert await titles(asked) == {"a": "A talk"}
    assert (asked.state.folded, asked.state.pending) == (1, 0)
    held_reads.open.clear()
    append(log, logs.title("Renamed"))
    await asked.list()
    told = asked.known(listing.entries)["a"]
    assert (told.title, told.is_known) == ("A talk", False)
    held_reads.open.set()
    assert await titles(asked) == {"a": "Renamed"}
    assert asked.known(listing.entries)["a"].is_known


async def test_the_newest_sessions_are_looked_at_first_but_for_what_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "_AT_ONE_TIME", 1)
    monkeypatch.setattr(digests, "_BATCH_LOGS", 1)
    for at, session_id in enumerate("abcde"):
        logs.write_log(tmp_path, session_id, TALK, created_at=at)
    gate = Gate()
    order: list[str] = []
    real = Root.take

    def take(self: Root, log: Any, *rest: Any, **more: Any) -> Taken:
        order.append(log.place.folder)
        gate()
        return real(self, log, *rest, **more)

    monkeypatch.setattr(Root, "take", take)
    asked = store(tmp_path)
    listing = await asked.list()
    await gate.wait_for_arrival()
    wanted = [entry for entry in listing.entries if entry.header.id in "ab"]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.summaries, wanted)
        await until(lambda: asked._digests._urgent != [])
        gate.open.set()
    await asked.summaries(listing.entries)
    assert order == ["e", "b", "a", "d", "c"]


async def test_what_this_process_lacks_the_means_to_look_at_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it has them: a title that the disk has is not told to be none."""
    logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    for lacks in (True, False):

        def refuse(*_: Any, lacks: bool = lacks, **more: Any) -> Any:
            raise ReadError("io", "no", is_ours=lacks)

        with monkeypatch.context() as patch:
            patch.setattr(Root, "take", refuse)
            assert await summaries(asked) == {"a": Summary(is_known=not lacks)}
    assert await titles(asked) == {"a": "A talk"}


async def test_our_own_mistake_with_one_log_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for session_id in "ab":
        logs.write_log(tmp_path, session_id, TALK)
    real = Root.take

    def take(self: Root, log: Any, *rest: Any, **more: Any) -> Taken:
        if log.place.folder == "a":
            raise ZeroDivisionError
        return real(self, log, *rest, **more)

    monkeypatch.setattr(Root, "take", take)
    assert await titles(store(tmp_path)) == {"a": None, "b": "A talk"}
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_session_that_goes_while_it_is_waited_for_is_not_waited_for(
    tmp_path: Path, held_reads: Gate
) -> None:
    log = logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    listing = await asked.list()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.summaries, listing.entries)
        await held_reads.wait_for_arrival()
        log.unlink()
        assert (await asked.list()).entries == ()
        with anyio.fail_after(BOUND):
            while asked._digests._waiters:
                await checkpoint()
    assert await titles(asked) == {}


async def test_who_asks_for_one_session_gets_what_it_is_called_now(tmp_path: Path) -> None:
    log = logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    assert await titles(asked) == {"a": "A talk"}
    append(log, logs.title("Renamed"))
    logs.write_log(tmp_path, "b", TALK)
    for session_id, title in (("a", "Renamed"), ("b", "A talk")):
        entry = await asked.entry(session_id)
        assert (await asked.summaries([entry]))[session_id].title == title


async def test_summaries_tell_when_it_was_and_how_far_it_got(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "a", TALK)
    told = (await summaries(store(tmp_path)))["a"]
    assert (told.captured_through_seq, told.last_activity_at) == (2, logs.CREATED_AT + 2)
    assert told.opening is None
    assert (await summaries(store(tmp_path, openings=True)))["a"].opening == "hello there"


async def test_no_reading_mixes_two_states_of_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written anew in its place, and longer, between two blocks of a read."""
    rows = [logs.user("old " * 50_000), logs.assistant("old"), logs.title("old")]
    log = logs.write_log(tmp_path, "a", rows, zstd=False)
    data = log.read_bytes()
    writes = [data.replace(b"old", b"new") + b'{"torn']
    real = plain_blocks

    def blocks(*given: Any, **more: Any) -> Iterator[Block]:
        found = real(*given, **more)
        yield next(found)
        if writes:
            log.write_bytes(writes.pop())
        yield from found

    monkeypatch.setattr("sessionref.sessions.root.plain_blocks", blocks)
    reading = await store(tmp_path).read("a")
    assert (reading.title, {text[:3] for text in said(reading)}) == ("new", {"new"})


# What the next process knows


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = Index(str(tmp_path / "cache"))
    yield made
    made.close()


@pytest.mark.usefixtures("settled")
async def test_the_next_process_reads_nothing_that_has_not_changed(
    tmp_path: Path, index: Index, reads: list[tuple[int, int]]
) -> None:
    root = tmp_path / "root"
    for session_id in "abc":
        logs.write_log(root, session_id, TALK, cwd="/w")
    bad = logs.write_log(root, "bad", TALK, cwd="/w")
    bad.write_bytes(logs.frame([logs.line(logs.header("bad", cwd="/w"))]) + b"garbage")
    first = store(root, index)
    expected = await summaries(first)
    await first.close()
    reads.clear()
    second = store(root, index)
    assert await summaries(second) == expected
    assert reads == []
    assert expected["bad"] == Summary()
    append(root / "--w--" / "a" / bad.name, logs.title("Renamed"))
    assert await titles(second) == {"a": "Renamed", "b": "A talk", "c": "A talk", "bad": None}
    assert len(reads) < 10


@pytest.mark.parametrize("seconds", [-3600, 3600])
async def test_a_clock_that_is_set_hides_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    log = logs.write_log(tmp_path, "a", TALK)
    asked = store(tmp_path)
    assert await titles(asked) == {"a": "A talk"}
    monkeypatch.setattr(stamps, "time_ns", lambda: time.time_ns() + seconds * 10**9)
    append(log, logs.title("Renamed"))
    with anyio.fail_after(BOUND):
        assert await titles(asked) == {"a": "Renamed"}
    assert asked.state.pending == 0


async def test_a_machine_that_started_anew_hides_no_change(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its clocks show less than they did when the index was written."""
    root = tmp_path / "root"
    log = logs.write_log(root, "a", TALK)
    before = store(root, index)
    assert await titles(before) == {"a": "A talk"}
    await before.close()
    monkeypatch.setattr(stamps, "time_ns", itertools.count(10**9).__next__)
    monkeypatch.setattr(stamps, "monotonic_ns", itertools.count(1).__next__)
    append(log, logs.title("Renamed"))
    asked = store(root, index)
    with anyio.fail_after(BOUND):
        assert await titles(asked) == {"a": "Renamed"}
    assert asked.state.pending == 0


@pytest.mark.usefixtures("settled")
async def test_only_what_was_appended_is_read_by_the_next_process(
    tmp_path: Path, index: Index, reads: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "_PRINTED_BYTES", 16)
    root = tmp_path / "root"
    log = logs.write_log(root, "a", TALK)
    first = store(root, index)
    await titles(first)
    await first.close()
    size = log.stat().st_size
    append(log, logs.title("Renamed"))
    reads.clear()
    assert await titles(store(root, index)) == {"a": "Renamed"}
    assert [offset for offset, length in reads if length > 16 and offset] == [size]


async def test_what_is_gone_is_purged_but_not_what_can_not_be_looked_at(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    for session_id, cwd in (("a", "/w"), ("b", "/w"), ("c", "/secret")):
        logs.write_log(root, session_id, TALK, cwd=cwd)
    asked = store(root, index)
    await titles(asked)
    await asked.close()

    def kept() -> set[str]:
        return {key[1] for key, _ in index.load(str(root)) or ()}

    assert kept() == {"a", "b", "c"}
    real = os.scandir

    def scandir(path: str) -> Any:
        if path.endswith("--secret--"):
            raise PermissionError(13, "no")
        return real(path)

    (root / "--w--" / "a" / "session.jsonl.zstd").unlink()
    asked = store(root, index)
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scandir)
        await titles(asked)
        await asked.close()
        assert kept() == {"a", "b", "c"}
    asked = store(root, index)
    await titles(asked)
    await asked.close()
    assert kept() == {"b", "c"}


@pytest.mark.usefixtures("settled")
async def test_openings_are_kept_as_long_as_they_are_wanted(tmp_path: Path, index: Index) -> None:
    root = tmp_path / "root"
    logs.write_log(root, "a", [logs.user("a very private prompt " * 9), *TALK[1:]])

    async def opening(*, wanted: bool) -> str | None:
        asked = store(root, index, openings=wanted)
        found = (await summaries(asked))["a"]
        assert found.title == "A talk"
        await asked.close()
        index.close()
        assert (b"private" in await anyio.Path(index.path).read_bytes()) == wanted
        return found.opening

    assert await opening(wanted=False) is None
    words = ("a very private prompt " * 9)[:80]
    assert [await opening(wanted=True) for _ in range(2)] == [words, words]
    assert await opening(wanted=False) is None
    assert await opening(wanted=True) == words


async def test_what_was_kept_of_another_file_is_kept_again(tmp_path: Path, index: Index) -> None:
    root = tmp_path / "root"
    for session_id in "ab":
        logs.write_log(root, session_id, TALK)
    asked = store(root, index)
    await titles(asked)
    keeper = asked._keeper
    assert keeper is not None
    await until(lambda: bool(index.load(str(root))))
    os.unlink(index.path)
    append(root / logs.NO_CWD / "a" / "session.jsonl.zstd", logs.title("Renamed"))
    await titles(asked)
    await asked.close()
    assert len(index.load(str(root)) or ()) == 2


async def test_an_index_that_hangs_is_not_waited_for(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()

    def load(_self: Index, _root: str) -> None:
        gate()

    monkeypatch.setattr(Index, "load", load)
    monkeypatch.setattr("sessionref.sessions.keeper._RECALL_SECONDS", 0.01)
    logs.write_log(tmp_path / "root", "a", TALK)
    with anyio.fail_after(BOUND):
        assert await titles(store(tmp_path / "root", index)) == {"a": "A talk"}
    gate.open.set()


async def test_nothing_goes_on_when_the_loop_has_ended(tmp_path: Path, index: Index) -> None:
    """Tasks of the background end with the loop, and complain of nothing."""
    logs.write_log(tmp_path, "a", TALK)

    async def ask() -> None:
        asked = store(tmp_path, index)
        await asked.list()

    await asyncio.to_thread(anyio.run, ask)
