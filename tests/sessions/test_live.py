"""The store of live sessions, over a host in memory that is slow, or fails."""

import json
import threading
from collections.abc import Sequence

import anyio
import pytest

from sessionref.sessions.live import LiveStore, Page
from sessionref.sessions.model import Entry, Header, ReadError, Summary
from sessionref.sessions.workers import Workers


class Host:
    """Has what its sessions come to by id; fails for one without, hangs for one that it lacks."""

    def __init__(self, **titles: str | None) -> None:
        self.titles = titles

    async def sessions(self) -> Sequence[bytes]:
        raise AssertionError("nobody asks for a list here")

    async def page(self, session_id: str, after_seq: int | None) -> Page | None:
        assert after_seq is None
        if session_id not in self.titles:
            await anyio.sleep_forever()
        title = self.titles[session_id]
        if title is None:
            raise ReadError("host", "it fails")
        data = {"title": title, "messageSeqs": [], "source": {"kind": "user"}}
        event = {"type": "session/title", "seq": 0, "time": 0, "data": data}
        header = {"id": session_id, "createdAt": 0}
        return Page(json.dumps(header).encode(), [json.dumps(event).encode()], None)


def entry(session_id: str, title: str | None = None) -> Entry:
    header = Header(id=session_id, created_at=0, version=4)
    return Entry(header=header, store="live", live=True, title=title)


@pytest.mark.asyncio
async def test_titles_that_come_in_time_and_one_that_does_not() -> None:
    store = LiveStore(Host(read="Read", fails=None), Workers(1, 1))
    entries = [entry("read"), entry("fails"), entry("hangs"), entry("told", "Told")]
    with anyio.fail_after(1):
        found = await store.summaries(entries)
    assert {session_id: (each.title, each.is_known) for session_id, each in found.items()} == {
        "read": ("Read", True),
        "fails": (None, True),
        "hangs": (None, False),
        "told": ("Told", True),
    }
    assert found["fails"] == Summary()


@pytest.mark.asyncio
async def test_a_live_session_waits_for_no_read_of_a_disk() -> None:
    """Unless a page of it is so large that folding it would hold up everybody."""
    workers, disk = Workers(1, 1), threading.Event()
    store = LiveStore(Host(small="Small", large="x" * 1_000_000), workers)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(workers.run, lambda _: disk.wait())
        await anyio.wait_all_tasks_blocked()
        try:
            with anyio.fail_after(5):
                assert (await store.read("small")).title == "Small"
            with anyio.move_on_after(0.05) as waiting:
                await store.read("large")
            assert waiting.cancelled_caught
        finally:
            disk.set()
    large = await store.read("large")
    assert large.captured_through_seq == 0
