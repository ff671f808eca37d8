"""Of the reads that take much memory one goes on, and the others do not wait for ever."""

import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard

from sessionref.config import LIMITS
from sessionref.sessions import turns
from sessionref.sessions.root import Root
from sessionref.sessions.stop import Stop, StoppedError
from sessionref.sessions.turns import HEAVY_BYTES, Turns
from support import logs

BOUND = 30
HEAVY = HEAVY_BYTES + 1


class Waiting:
    """A heavy read in a thread of its own."""

    def __init__(self, order: Turns) -> None:
        self.stop = Stop()
        self.has_it = threading.Event()
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._ask, args=(order,), daemon=True)
        self._thread.start()

    def _ask(self, order: Turns) -> None:
        try:
            order.weigh(self.stop, HEAVY)
        except StoppedError as error:
            self.error = error
        else:
            self.has_it.set()

    def end(self) -> None:
        self._thread.join(BOUND)
        assert not self._thread.is_alive()


def test_a_heavy_read_waits_for_the_one_before_and_a_light_one_does_not() -> None:
    order, first = Turns(), Stop()
    order.weigh(first, HEAVY)
    order.weigh(first, 2 * HEAVY)
    order.weigh(Stop(), HEAVY_BYTES)
    second = Waiting(order)
    assert not second.has_it.wait(3 * turns._LOOK_SECONDS)
    order.leave(Stop())  # whose turn it is not
    assert not second.has_it.wait(3 * turns._LOOK_SECONDS)
    order.leave(first)
    assert second.has_it.wait(BOUND)


def test_who_waits_may_be_stopped() -> None:
    order, first = Turns(), Stop()
    order.weigh(first, HEAVY)
    second = Waiting(order)
    second.stop.set()
    second.end()
    assert isinstance(second.error, StoppedError)


def test_a_read_that_was_left_behind_has_lost_its_turn() -> None:
    order, hanging = Turns(), Stop()
    order.weigh(hanging, HEAVY)
    second = Waiting(order)
    hanging.set()
    assert second.has_it.wait(BOUND)
    order.leave(hanging)  # when it comes back at last
    third = Waiting(order)
    assert not third.has_it.wait(3 * turns._LOOK_SECONDS)
    order.leave(second.stop)
    assert third.has_it.wait(BOUND)


def wide_frame(content: bytes) -> bytes:
    """A frame that asks for a window of 128 KiB."""
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=17)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return compressor.compress(content) + compressor.flush()


@pytest.mark.parametrize("salvage", [False, True])
def test_reading_takes_its_turn_and_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, salvage: bool
) -> None:
    """For a log that says much, for a long line of one, for a window, and after a failure, too."""
    monkeypatch.setattr(turns, "HEAVY_BYTES", 50_000)
    rows: list[Any] = [logs.user("x" * 10_000)] * 30
    logs.write_log(tmp_path, "a", [*rows, b"null"] if salvage else rows)
    logs.write_log(tmp_path, "b", [logs.user("x" * 200_000)])
    logs.write_log(tmp_path, "c", rows[:2])
    damage = b"null\n" if salvage else b""
    with logs.write_log(tmp_path, "d", rows[:2]).open("ab") as log:
        log.write(logs.frame([damage]) + wide_frame(b'{"type":"x","seq":2}\n'))
    root = Root(str(tmp_path), LIMITS)
    other = Stop()
    for session_id, is_heavy in (("a", True), ("b", True), ("c", False), ("d", True)):
        log, _ = root.find(session_id, Stop())
        root.take(log, Stop(), salvage=salvage)
        root.turns.weigh(other, HEAVY)  # it was left
        read = threading.Thread(target=lambda log=log: root.take(log, Stop(), salvage=salvage))
        read.start()
        read.join(3 * turns._LOOK_SECONDS if is_heavy else BOUND)
        assert read.is_alive() == is_heavy
        root.turns.leave(other)
        read.join(BOUND)
        assert not read.is_alive()
