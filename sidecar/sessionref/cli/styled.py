"""The screen and the progress bar of a terminal: colours, and columns that fit its width.

The only importer of rich; `terminal` imports it where there is a terminal to dress things up for.
Nothing is taken for markup, and all text passes through `printable`: it may come from a log.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TextIO

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from sessionref.resolver import Report
from sessionref_protocol.display import printable

from .colours import has_colours
from .terminal import Column, Facts, write_text

_MIN_WIDTH: Final = 20
"""Narrower than this nothing can be laid out; lines are wrapped by the terminal then."""

_TABLE_WIDTH: Final = 60
"""Narrower than this a table has no room for its cells."""


class StyledScreen:
    """A terminal as a `Screen`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._console = _console(stream)

    def line(self, text: str, *, bad: bool = False) -> None:
        """A paragraph of its own; `bad` news stand out."""
        self._print(Text(printable(text), "bold red" if bad else "bold"))

    def facts(self, heading: str, facts: Facts) -> None:
        """What is said of one thing."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=0)
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column()
        for label, value in facts:
            grid.add_row("", label, Text(printable(value), overflow="fold"))
        self._print(Text(printable(heading), "bold", overflow="fold"), grid, "")

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """Rows with a cell for each column; below each other where there is no room for that."""
        if self._console.width < _TABLE_WIDTH:
            self._print(*(line for row in rows for line in _stacked(*row)))
            return
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for column in columns:
            grid.add_column(column.name, no_wrap=column.whole)
        for row in rows:
            grid.add_row(*map(_cell, columns, row))
        self._print(grid)

    def _print(self, *parts: RenderableType) -> None:
        with self._console.capture() as captured:
            for part in parts:
                self._console.print(part)
        write_text(captured.get(), self._stream)


@contextmanager
def bar(what: str, stream: TextIO) -> Iterator[Report]:
    """A progress bar, which is gone at the end."""
    console = _console(stream)
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    with Progress(
        *columns, console=console, transient=True, disable=console.is_dumb_terminal
    ) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def _console(stream: TextIO) -> Console:
    colours = has_colours(stream)
    make = partial(Console, file=stream, highlight=False, markup=False, emoji=False)
    console = make(color_system="auto" if colours else None)
    if colours and console.color_system is None:  # a dumb terminal, and somebody who insists
        console = make(color_system="standard")
    console.width = max(console.width, _MIN_WIDTH)
    return console


def _cell(column: Column, text: str) -> Text:
    if column.whole:
        return Text(printable(text), overflow="fold", no_wrap=False)
    return Text(printable(text), overflow="ellipsis", no_wrap=True)


def _stacked(first: str, *rest: str) -> tuple[Text, Text]:
    below = "  " + "  ".join(printable(cell) for cell in rest if cell)
    return Text(printable(first), "bold", overflow="fold"), Text(below, overflow="fold")
