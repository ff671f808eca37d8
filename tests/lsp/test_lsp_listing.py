"""One look at a folder for many keystrokes."""

import threading
from pathlib import Path

import anyio
import pytest

from sessionref.lsp import listing
from sessionref.lsp.listing import Listing
from sessionref.sessions.model import ReadError
from sessionref.sessions.stop import Stop
from sessionref.sessions.workers import Workers

pytestmark = pytest.mark.asyncio

BOUND = 20.0


def paths(found: object) -> list[str]:
    assert isinstance(found, list)
    return [each.path for each in found]


async def test_what_was_seen_is_offered_until_there_is_something_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Listing(Workers(1, 1))
    (tmp_path / "one").touch()
    assert paths(await own.find(str(tmp_path), "")) == ["one"]
    (tmp_path / "two").touch()
    assert paths(await own.find(str(tmp_path), "")) == ["one"]
    monkeypatch.setattr(listing, "_FRESH_SECONDS", 0)
    assert paths(await own.find(str(tmp_path), "")) == ["one"]
    with anyio.fail_after(BOUND):
        while paths(await own.find(str(tmp_path), "")) == ["one"]:
            await anyio.lowlevel.checkpoint()
    assert paths(await own.find(str(tmp_path), "")) == ["one", "two"]
    own.close()


async def test_keystrokes_that_are_given_up_do_not_end_a_slow_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, may_go_on = [], threading.Event()
    really = listing.list_files

    def slow(folder: str, stop: Stop) -> list[listing.Found]:
        looks.append(folder)
        may_go_on.wait(BOUND)
        return really(folder, stop)

    monkeypatch.setattr(listing, "list_files", slow)
    (tmp_path / "one").touch()
    own = Listing(Workers(8, 8))
    for _ in range(20):
        with anyio.move_on_after(0.001):
            await own.find(str(tmp_path), "o")
    may_go_on.set()
    assert paths(await own.find(str(tmp_path), "o")) == ["one"]
    assert looks == [str(tmp_path)]


async def test_a_look_that_fails_may_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(folder: str, stop: Stop) -> list[listing.Found]:
        raise ReadError("io", "too many reads hang")

    own = Listing(Workers(1, 1))
    with monkeypatch.context() as patched:
        patched.setattr(listing, "list_files", fails)
        with pytest.raises(ReadError):
            await own.find(str(tmp_path), "")
    (tmp_path / "one").touch()
    assert paths(await own.find(str(tmp_path), "")) == ["one"]
    assert "too many reads hang" in caplog.text
