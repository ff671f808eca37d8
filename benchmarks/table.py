"""Figures as they are told: the rows of the table, the points of the plots, how they were taken."""

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Final, Literal, NamedTuple

from benchmarks.measure import Pairs

Unit = Literal["seconds", "bytes", "a second", "floors"]

_MISSED: Final = " **missed**"


class Wanted(NamedTuple):
    """A bound on a figure, or on its ratio to the floor."""

    of: Literal["figure", "ratio"]
    at_most: bool
    bound: float


class Row(NamedTuple):
    """One figure. A rate ("a second") is the better the higher, its ratio the cost all the same."""

    figure: str
    median: float
    floor: float
    ratio: float
    wanted: Wanted | None = None
    unit: Unit = "seconds"


class Point(NamedTuple):
    """One point of a plot, in seconds."""

    plot: Literal["size", "sessions"]
    series: str
    x: float
    y: float


def row(
    figure: str, taken: Pairs, wanted: Wanted | None = None, unit: Unit = "seconds", of: int = 1
) -> Row:
    """The row of pairs. `of`: how many of what the figure is about were taken at one time."""
    return Row(figure, taken.median / of, taken.floor_median / of, taken.ratio, wanted, unit)


def memory(peaks: Sequence[int], least: int, wanted: Wanted | None = None) -> Iterator[Row]:
    """The row of peak memory, beside that of a process that only decompresses; if known."""
    if least:
        most = median(peaks)
        yield Row("– peak memory", most, least, most / least, wanted, "bytes")


def at_most(bound: float) -> Wanted:
    """A bound on the figure itself."""
    return Wanted("figure", True, bound)


def at_least(bound: float) -> Wanted:
    """A bound from below."""
    return Wanted("figure", False, bound)


def times(bound: float) -> Wanted:
    """A bound on the ratio to the floor."""
    return Wanted("ratio", True, bound)


HEAD: Final = "| figure | median | floor | ratio | wanted |\n|---|---:|---:|---:|---|"


def markdown(told: Row) -> str:
    """One line of the table."""
    ratio = f"{told.ratio:.2f}" if told.ratio < 100 else f"{told.ratio:.0f}"
    median, floor = quantity(told.median, told.unit), quantity(told.floor, told.unit)
    return f"| {told.figure} | {median} | {floor} | {ratio} | {_told_wanted(told)} |"


def quantity(value: float, unit: Unit) -> str:
    """A number with its unit, in three digits or so."""
    match unit:
        case "bytes":
            return f"{value / 2**20:.0f} MiB"
        case "a second":
            return f"{value:,.0f}/s".replace(",", " ")
        case "floors":
            return f"{value:.2f} x"
    for scale, name in ((1, "s"), (1e3, "ms")):
        if value * scale >= 1:
            return f"{value * scale:.3g} {name}"
    return f"{value * 1e6:.3g} µs"


def how_taken(corpora: Iterable[str], quick: bool) -> str:
    """What a reader must know to judge the table."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    run = "a quick run, on smaller corpora" if quick else "a whole run"
    return "\n".join(
        [
            f"Taken by `make bench` ({run}) with {platform.python_implementation()} "
            f"{platform.python_version()} on {platform.system()} {platform.machine()}, "
            f"{os.cpu_count()} processors, load {load:.1f} at the end, files in the page cache.",
            "Medians; floor and program in turns, the ratio is the median of the pairs' ratios.",
            "Round trips of `parseText` are between two processors.",
            *(f"- {line}" for line in corpora),
        ]
    )


def _told_wanted(told: Row) -> str:
    if told.wanted is None:
        return ""
    of, at_most, bound = told.wanted
    value = told.median if of == "figure" else told.ratio
    sign = "≤" if at_most else "≥"
    text = f"{sign} {bound:g} x" if of == "ratio" else f"{sign} {quantity(bound, told.unit)}"
    missed = value > bound if at_most else value < bound
    return text + (_MISSED if missed else "")
