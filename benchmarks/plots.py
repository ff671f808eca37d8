"""Points to a plot: both axes logarithmic, one line a series, plain SVG.

On such axes what is linear rises by one decade a decade, so the eye sees what is not.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from benchmarks.table import Point

_WIDTH: Final = 640
_HEIGHT: Final = 400
_LEFT: Final = 70
_RIGHT: Final = 20
_TOP: Final = 40
_BOTTOM: Final = 50
_COLOURS: Final = ("#1f6feb", "#8b949e", "#d4351c", "#2da44e")


class Plot(NamedTuple):
    """What a plot is called and what its axis says."""

    name: str
    title: str
    axis: str


PLOTS: Final = (
    Plot("size", "Cost of a snapshot by size of the log", "logical bytes"),
    Plot("sessions", "Cost of lists and of the index by number of sessions", "sessions"),
)


class _Scale(NamedTuple):
    """Whole decades of values over a stretch of pixels."""

    first: int
    last: int
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value is."""
        part = (math.log10(value) - self.first) / (self.last - self.first)
        return self.start + part * (self.end - self.start)

    def decades(self) -> Iterator[tuple[float, float]]:
        """The powers of ten, and where they are."""
        for power in range(self.first, self.last + 1):
            yield 10.0**power, self.at(10.0**power)


def svg(plot: Plot, points: Sequence[Point]) -> str:
    """The plot of points, which all belong to it."""
    across = _scale([point.x for point in points], _LEFT, _WIDTH - _RIGHT)
    up = _scale([point.y for point in points], _HEIGHT - _BOTTOM, _TOP)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
            _text(_WIDTH / 2, 20, plot.title, "middle"),
            _text(_WIDTH / 2, _HEIGHT - 10, plot.axis, "middle"),
            *_grid(across, up),
            *_lines(points, across, up),
            "</svg>\n",
        ]
    )


def _scale(values: Sequence[float], start: float, end: float) -> _Scale:
    powers = [math.log10(value) for value in values] or [0.0]
    first = math.floor(min(powers))
    return _Scale(first, max(first + 1, math.ceil(max(powers))), start, end)


def _grid(across: _Scale, up: _Scale) -> Iterator[str]:
    for value, x in across.decades():
        yield _line(x, up.start, x, up.end)
        yield _text(x, up.start + 18, f"{value:,.0f}".replace(",", " "), "middle")
    for value, y in up.decades():
        yield _line(across.start, y, across.end, y)
        told = f"{value:g} s" if value >= 1 else f"{value * 1000:g} ms"
        yield _text(across.start - 6, y + 4, told, "end")


def _lines(points: Sequence[Point], across: _Scale, up: _Scale) -> Iterator[str]:
    series = list(dict.fromkeys(point.series for point in points))
    for at, name in enumerate(series):
        colour = _COLOURS[at % len(_COLOURS)]
        places = [(across.at(point.x), up.at(point.y)) for point in points if point.series == name]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
        y = _TOP + 16 * (at + 1)
        yield f'<rect x="{_LEFT + 10}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
        yield _text(_LEFT + 26, y, name, "start")


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
