"""What the snapshot of one log costs: cold, warm, after the log has grown, in a new process."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import floor
from benchmarks.bench import Bench
from benchmarks.corpus import Corpus, Session, append_turn
from benchmarks.measure import (
    Pairs,
    Peer,
    Sidecar,
    least_memory,
    pairs,
    request,
    result,
    seconds,
)
from benchmarks.table import Row, Wanted, at_most, memory, row, times

_PEAK_BYTES: Final = 64 * 2**20
_WARM_SECONDS: Final = 0.005


class Snapshots:
    """Measures one session, a copy of which is the only one in its root."""

    def __init__(self, bench: Bench, made: Corpus, session: Session) -> None:
        self._bench = bench
        self._alone = bench.alone(made, session)
        self._session = session
        self._line = request(
            "prepare",
            agent={"id": "benchmark"},
            content=[{"type": "text", "text": "As there."}],
            references=[{"sessionId": session.id}],
        )
        self._peaks: list[int] = []
        self.cold: Pairs = pairs(bench.scale.few, self._cold, self._floor)
        """The first snapshot of a process without a cache."""

    def rows(self, label: str, cold: Wanted) -> Iterator[Row]:
        """All that is to be told, `cold` is what is wanted of the first row."""
        yield row(f"prepare, {label}, cold", self.cold, cold)
        least = least_memory(self._alone.logs())
        yield from memory(self._peaks, least, at_most(_PEAK_BYTES))
        scale, cache = self._bench.scale, self._bench.fresh()
        with Peer(floor.ECHO) as echo, Sidecar(self._alone.root, cache) as sidecar:
            result(sidecar.ask(self._line))
            warm = partial(seconds, partial(sidecar.ask, self._line))
            taken = pairs(scale.many, warm, partial(seconds, partial(echo.ask, self._line)))
            yield row("– warm", taken, at_most(_WARM_SECONDS))

            def grown() -> float:
                self._session = append_turn(self._alone, self._session)
                return warm()

            taken = pairs(scale.few, grown, warm)
            yield row("– after one appended frame (floor: warm)", taken, times(2))
        taken = pairs(scale.few, partial(self._first, cache), self._floor)
        yield row("– in a new process, same cache", taken)

    def _cold(self) -> float:
        return self._first(self._bench.fresh(), self._peaks)

    def _first(self, cache: Path, peaks: list[int] | None = None) -> float:
        """The first snapshot of a process that has started; notes its peak memory."""
        with Sidecar(self._alone.root, cache) as sidecar:
            sidecar.warm_up()
            began = time.perf_counter()
            answer = sidecar.ask(self._line)
            taken = time.perf_counter() - began
            if peaks is not None:
                peaks.append(sidecar.peak_memory())
        result(answer)
        return taken

    def _floor(self) -> float:
        return seconds(lambda: floor.count_lines(self._alone.logs()))
