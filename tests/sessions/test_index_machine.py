"""Whatever happens to a root: a store that remembers answers as one that has never seen it.

Two of them live through random histories of a root, one with an index file that survives it, and
are held against a fresh one after each step. Changes come far faster than any clock ticks.
"""

import asyncio
import json
import os
import shutil
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sessionref.config import LIMITS
from sessionref.sessions import logfile, root, walk
from sessionref.sessions.dsh import DshStore
from sessionref.sessions.index import Index
from sessionref.sessions.model import Entry, Listing, ReadError, Reading
from sessionref.sessions.stamps import Identity, identity
from sessionref.sessions.workers import Workers
from sessions import make
from support import logs

IDS = ("a", "b", "c")
CWDS = ("/w", "/x", None)

randoms = st.randoms(use_true_random=False)
ids = st.sampled_from(IDS)


def entry_told(entry: Entry) -> tuple[object, ...]:
    problem = None if entry.problem is None else entry.problem.cause
    return entry.header, entry.path, entry.encoding, entry.archived, problem


def listing_told(listing: Listing) -> tuple[object, ...]:
    return (
        sorted(map(entry_told, listing.entries), key=str),
        sorted((p.path, p.session_id or "", p.error.cause) for p in listing.problems),
        listing.strangers,
        listing.is_complete,
    )


class Told(dict[str, Any]):
    """All that a store tells."""


async def told(store: DshStore) -> Told:
    listing = await store.list()
    summaries = await store.summaries(listing.entries)
    readings: dict[str, Reading | str] = {}
    for session_id in IDS:
        for salvage in (False, True):
            try:
                readings[f"{session_id} {salvage}"] = await store.read(session_id, salvage=salvage)
            except ReadError as error:
                readings[f"{session_id} {salvage}"] = error.cause
    return Told(listing=listing_told(listing), summaries=dict(summaries), readings=readings)


class Histories(RuleBasedStateMachine):
    times_may_lie = True

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.home = Path(tempfile.mkdtemp())
        self.root = self.home / "sessions"
        self.remembering = self.runner.run(self.store(None))
        self.begin_process()

    def begin_process(self) -> None:
        self.index = Index(str(self.home / "cache"))
        self.indexing = self.runner.run(self.store(self.index))

    def end_process(self) -> None:
        self.runner.run(self.indexing.close())
        self.index.close()

    def teardown(self) -> None:
        self.end_process()
        self.runner.close()
        shutil.rmtree(self.home)

    async def store(self, index: Index | None, openings: bool = True) -> DshStore:
        return DshStore(str(self.root), Workers(2, 2), LIMITS, index=index, openings=openings)

    def log(self, rnd: Random) -> Path | None:
        found = sorted(self.root.rglob("session*.jsonl*"))
        return rnd.choice(found) if found else None

    def lines(self, rnd: Random, generation: int = 0) -> list[bytes]:
        return make.make_lines(rnd, generation, mischief=rnd.choice([0.0, 0.0, 0.05]))

    def content(self, rnd: Random, head: bytes, compressed: bool, generation: int = 0) -> bytes:
        lines = [head, *self.lines(rnd, generation)[1:]]
        content = b"\n".join(lines) + b"\n"
        if not compressed:
            return content
        pieces = make.cut(rnd, content, rnd.randrange(4))
        return b"".join(map(make.frame, pieces))

    @rule(rnd=randoms, session_id=ids)
    def write(self, rnd: Random, session_id: str) -> None:
        cwd = rnd.choice(CWDS)
        generation = rnd.choice([0, 0, 0, 3, 4])
        compressed = rnd.random() < 0.7
        folder = self.root / logs.project_folder(cwd) / logs.session_folder(session_id)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / logs.log_name(zstd=compressed, version=generation)
        head = json.dumps(logs.header(session_id, cwd=cwd, version=generation)).encode()
        path.write_bytes(self.content(rnd, head, compressed, generation))

    @rule(rnd=randoms)
    def append(self, rnd: Random) -> None:
        """What a writer does, or one that is cut off while it does."""
        path = self.log(rnd)
        if path is None:
            return
        writer = make.Writer(rnd, 0)
        writer.seq = rnd.choice([0, *range(40)])
        try:
            store = self.remembering
            reading = self.runner.run(store.read(path.parent.name))
            writer.seq = 1 + (reading.captured_through_seq or -1)
        except ReadError:
            pass
        for _ in range(rnd.randrange(1, 5)):
            writer.mark() if rnd.random() < 0.5 else writer.log_only()
        data = b"".join(logs.line(row) for row in writer.rows)
        if path.suffix == ".zstd":
            data = make.frame(data)
        if rnd.random() < 0.3:
            data = data[: rnd.randrange(len(data) + 1)]
        with path.open("ab") as log:
            log.write(data)

    @rule(rnd=randoms)
    def truncate(self, rnd: Random) -> None:
        path = self.log(rnd)
        if path is not None:
            os.truncate(path, rnd.randrange(path.stat().st_size + 1))

    @rule(rnd=randoms, keep_time=st.booleans(), in_place=st.booleans())
    def rewrite(self, rnd: Random, keep_time: bool, in_place: bool) -> None:
        """Other contents, often of the same size, in the same file or in another one."""
        path = self.log(rnd)
        if path is None:
            return
        before = path.stat()
        data = path.read_bytes()
        if path.suffix == ".zstd" or rnd.random() < 0.5:
            head = json.dumps(logs.header(path.parent.name, cwd=rnd.choice(CWDS))).encode()
            data = self.content(rnd, head, path.suffix == ".zstd")
        else:
            data = data.replace(b"a", b"b", rnd.randrange(50))
        if not in_place:
            path.unlink()
        path.write_bytes(data)
        if keep_time and self.times_may_lie:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(rnd=randoms)
    def remove(self, rnd: Random) -> None:
        path = self.log(rnd)
        if path is not None:
            shutil.rmtree(path.parent) if rnd.random() < 0.5 else path.unlink()

    @rule(rnd=randoms, session_id=ids)
    def put_a_stranger(self, rnd: Random, session_id: str) -> None:
        path = self.log(rnd)
        if path is not None:
            (path.parent / session_id).write_bytes(b"")

    @rule(archived=st.lists(ids))
    def archive(self, archived: list[str]) -> None:
        storages = self.home / "storages"
        storages.mkdir(exist_ok=True)
        known = json.dumps({"global": {"archivedSessionIds": archived}})
        (storages / "workspace.json").write_text(known)

    @rule()
    def start_again(self) -> None:
        """Another process with the same index."""
        self.end_process()
        self.begin_process()

    def time_passes(self) -> None:
        """Between a change and the next look."""

    @invariant()
    def tells_the_same(self) -> None:
        self.time_passes()
        fresh = self.runner.run(self.store(None))
        expected = self.runner.run(told(fresh))
        assert self.runner.run(told(self.remembering)) == expected
        assert self.runner.run(told(self.indexing)) == expected


class Patched(Histories):
    """On a file system with other clocks."""

    @staticmethod
    def identity(found: os.stat_result) -> Identity:
        raise NotImplementedError

    def __init__(self) -> None:
        self.patch = pytest.MonkeyPatch()
        for module in (logfile, root, walk):
            self.patch.setattr(module, "identity", self.identity)
        super().__init__()

    def teardown(self) -> None:
        super().teardown()
        self.patch.undo()


class CoarseHistories(Patched):
    """Whose clock ticks every two seconds, so that changes hide in a tick."""

    @staticmethod
    def identity(found: os.stat_result) -> Identity:
        device, inode, size, modified_at, changed_at = identity(found)
        tick = 2 * 10**9
        return device, inode, size, modified_at // tick * tick, changed_at // tick * tick


class SettledHistories(Patched):
    """Whose changes all happened long ago, and at different times, so that each can be told."""

    times_may_lie = False
    last = 10**9

    @staticmethod
    def identity(found: os.stat_result) -> Identity:
        device, inode, size, modified_at, _ = identity(found)
        return device, inode, size, modified_at, 0

    def time_passes(self) -> None:
        for path in [self.root, *self.root.rglob("*")]:
            if path.exists() and path.stat().st_mtime > self.last:
                self.last += 10
                os.utime(path, (self.last, self.last))


for machine in (Histories, CoarseHistories, SettledHistories):
    machine.TestCase.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
TestHistories = Histories.TestCase
TestCoarseHistories = CoarseHistories.TestCase
TestSettledHistories = SettledHistories.TestCase
