"""What is measured: one function a group, each a generator of rows and points.

What is "cold" has a fresh process and a fresh cache folder, what is "warm" the cache folder of a
process that had indexed everything. Files are in the page cache either way: how fast a disk is,
is no figure of this program.
"""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from statistics import median
from types import MappingProxyType
from typing import Final

from benchmarks import floor
from benchmarks.bench import Bench
from benchmarks.corpus import KB, MB, Corpus
from benchmarks.editor import Editor
from benchmarks.measure import (
    Pairs,
    Peer,
    Sidecar,
    apart,
    cancellation,
    candidates,
    least_memory,
    pairs,
    request,
    result,
    seconds,
)
from benchmarks.snapshots import Snapshots
from benchmarks.table import Point, Row, Wanted, at_least, at_most, memory, row, times

Figures = Iterator[Row | Point]

_QUERY: Final = "ing"
_KEYSTROKES: Final = 20
_EDITOR_WARM_SECONDS: Final = 3.0
_WINDOW: Final = 256
_ROUND_TRIPS: Final = 50
"""Of so many the median is taken: a busy machine interrupts the longer ones more often."""
_MENTION: Final = "@[Fix login](dsh-session:InNlc3Npb24tN2QxYyI)"


def wire(bench: Bench) -> Figures:
    """Requests that need no session."""
    line = request("parseText", text=f"As in {_MENTION}, please. 就像那样 ✅")
    requests = bench.scale.requests

    def round_trip(peer: Peer) -> float:
        return median([seconds(lambda: peer.ask(line)) for _ in range(_ROUND_TRIPS)])

    def stream(peer: Peer) -> float:
        return seconds(lambda: peer.stream(line, requests, _WINDOW))

    with Peer(floor.ECHO) as echo, Sidecar(bench.fresh(), bench.fresh()) as sidecar:
        result(sidecar.ask(line))
        with apart(echo, sidecar):
            taken = pairs(bench.scale.many, partial(round_trip, sidecar), partial(round_trip, echo))
        yield row("`parseText` round trip", taken, times(3))
        taken = pairs(bench.scale.few, partial(stream, sidecar), partial(stream, echo))
        yield Row(
            f"`parseText`, {_WINDOW} in flight",
            requests / taken.median,
            requests / taken.floor_median,
            taken.ratio,
            at_least(8_000),
            "a second",
        )


def start(bench: Bench) -> Figures:
    """From nothing to the first answer."""
    made = bench.typical()
    warm = bench.warm(made, _QUERY)

    def first_answer() -> float:
        began = time.perf_counter()
        with Sidecar(made.root, warm) as sidecar:
            answer = sidecar.ask(candidates(""))
            taken = time.perf_counter() - began
        result(answer)
        return taken

    def imports() -> float:
        return seconds(lambda: subprocess.run(floor.START, check=True))

    taken = pairs(bench.scale.many, first_answer, imports)
    yield row(f'start to first `listCandidates("")`, {_of(made)}, warm', taken, times(2))


def keystrokes(bench: Bench) -> Figures:
    """What a person waits for while typing."""
    made = bench.typical()
    yield from _listed(bench, made, f"{_of(made)}, warm", at_most(0.010))
    yield from _burst(bench, made)
    made = bench.short(bench.scale.counts[-1])
    yield from _listed(bench, made, f"{_of(made)} (short ones), warm", at_most(0.060))
    yield from _menu(bench, made)


def sessions(bench: Bench) -> Figures:
    """How costs grow with the number of sessions."""
    for count in bench.scale.counts:
        made = bench.short(count)
        taken, _ = _indexed(bench, made)
        yield Point("sessions", "index, cold", count, taken.median)
        yield Point("sessions", "floor of the index", count, taken.floor_median)
        if count == bench.scale.counts[-1]:
            yield row(f"index, {_of(made)} (short ones), cold", taken)
        with Sidecar(made.root, bench.warm(made, _QUERY)) as sidecar:
            sidecar.wait_for_index(_QUERY)
            for query in ("", _QUERY):
                ask = partial(seconds, partial(sidecar.ask, candidates(query)))
                took = [ask() for _ in bench.scale.many.rounds()]
                yield Point("sessions", f'listCandidates("{query}"), warm', count, median(took))


def index(bench: Bench) -> Figures:
    """From nothing to a complete answer."""
    made = bench.typical()
    taken, peaks = _indexed(bench, made)
    yield row(f"index, {_of(made)}, cold", taken, times(1.6))
    yield from memory(peaks, least_memory(made.logs()))


def prepare(bench: Bench) -> Figures:
    """What a snapshot costs, of logs of all sizes."""
    typical = bench.typical()
    session = typical.nearest(200 * KB)
    yield from Snapshots(bench, typical, session).rows("median session", at_most(0.010))
    made = bench.sized()
    ratios: list[float] = []
    for size, session in zip(bench.scale.sizes, made.sessions, strict=True):
        snapshots = Snapshots(bench, made, session)
        cold = snapshots.cold
        yield Point("size", "prepare, cold", size, cold.median)
        yield Point("size", "floor: decompress, count lines", size, cold.floor_median)
        ratios.append(cold.ratio)
        if size in bench.scale.held:
            yield from snapshots.rows(f"{size / MB:g} MB log", times(2))
    middle = len(ratios) // 2
    most, less = bench.scale.sizes[-1] / MB, bench.scale.sizes[middle] / MB
    yield Row(
        f"prepare, cold, growth: {most:g} MB (floor: {less:g} MB)",
        ratios[-1],
        ratios[middle],
        ratios[-1] / ratios[middle],
        times(1.2),
        "floors",
    )


def frames(bench: Bench) -> Figures:
    """What the smallest frames cost."""
    made = bench.framed()
    (session,) = made.sessions
    snapshots = Snapshots(bench, made, session)
    yield from snapshots.rows(f"{session.size / MB:.0f} MB log, one event a frame", times(2))
    yield row("– cold, each of its frames", snapshots.cold, of=session.frames)


GROUPS: Final[Mapping[str, Callable[[Bench], Figures]]] = MappingProxyType(
    {
        "keystrokes": keystrokes,
        "start": start,
        "index": index,
        "prepare": prepare,
        "frames": frames,
        "wire": wire,
        "sessions": sessions,
    }
)
"""Everything, in the order of the table."""


# Lists


def _listed(bench: Bench, made: Corpus, label: str, bound: Wanted) -> Figures:
    scale = bench.scale

    def after_pause(ask: Callable[[], float]) -> float:
        time.sleep(scale.pause)
        return ask()

    with Peer(floor.ECHO) as echo, Sidecar(made.root, bench.warm(made, _QUERY)) as sidecar:
        sidecar.wait_for_index(_QUERY)
        for query in (_QUERY, ""):
            line = candidates(query)
            ask, ask_echo = (partial(seconds, partial(peer.ask, line)) for peer in (sidecar, echo))
            name = f'`listCandidates("{query}")`, {label}'
            yield row(name, pairs(scale.many, ask, ask_echo), bound)
            taken = pairs(scale.few, partial(after_pause, ask), ask_echo)
            yield row(f"– the first after {scale.pause:g} s", taken)


def _menu(bench: Bench, made: Corpus) -> Figures:
    """A key in an editor, until the menu is there; the floor is the same question on a line."""
    cache = bench.warm(made, _QUERY)
    with Sidecar(made.root, cache) as sidecar, Editor(made.root, cache) as editor:
        sidecar.wait_for_index(_QUERY)
        editor.warm_up(f"@{_QUERY}", _EDITOR_WARM_SECONDS)
        for query in (_QUERY, ""):
            press = partial(seconds, partial(editor.type, f"@{query}"))
            ask = partial(seconds, partial(sidecar.ask, candidates(query)))
            name = f"`@{query}` to menu, {_of(made)} (short ones), warm (floor: `listCandidates`)"
            yield row(name, pairs(bench.scale.many, press, ask), at_most(0.060))
        keys = [f"@{_QUERY[: 1 + (at + 1) % len(_QUERY)]}" for at in range(_KEYSTROKES)]
        press = partial(seconds, partial(editor.type, keys[-1]))
        taken = pairs(bench.scale.many, partial(editor.burst, keys), press)
        name = f"– {_KEYSTROKES} keystrokes in a burst, from the last one (floor: one)"
        yield row(name, taken)


def _burst(bench: Bench, made: Corpus) -> Figures:
    """Keystrokes that each cancel the one before: from the last of them to the end."""

    def burst(sidecar: Sidecar) -> float:
        asked = [candidates(_QUERY[: 1 + (at + 1) % len(_QUERY)]) for at in range(_KEYSTROKES)]
        lines = [asked[0]]
        lines += [cancellation(before) + line for before, line in pairwise(asked)]

        for line in lines[:-1]:
            sidecar.send(line)

        def all_answered() -> list[bytes]:
            sidecar.send(lines[-1])
            return [sidecar.answer() for _ in lines]

        return seconds(all_answered)

    with Sidecar(made.root, bench.warm(made, _QUERY)) as sidecar:
        sidecar.wait_for_index(_QUERY)
        single = partial(seconds, partial(sidecar.ask, candidates(_QUERY)))
        taken = pairs(bench.scale.many, partial(burst, sidecar), single)
        yield row(
            f"– {_KEYSTROKES} keystrokes in a burst, from the last one (floor: one)",
            taken,
            times(1.25),
        )


def _indexed(bench: Bench, made: Corpus) -> tuple[Pairs, list[int]]:
    """The index of a corpus, from the start of a process with nothing; and its peak memory."""
    peaks: list[int] = []

    def cold() -> float:
        began = time.perf_counter()
        with Sidecar(made.root, bench.fresh()) as sidecar:
            sidecar.wait_for_index(_QUERY)
            taken = time.perf_counter() - began
            peaks.append(sidecar.peak_memory())
        return taken

    logs = made.logs()
    return pairs(bench.scale.few, cold, lambda: seconds(lambda: floor.count_lines(logs))), peaks


def _of(made: Corpus) -> str:
    return f"{len(made.sessions):,} sessions".replace(",", " ")
