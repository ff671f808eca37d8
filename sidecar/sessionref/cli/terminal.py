"""What a command shows to people: styled and fitted on a terminal, plain lines elsewhere.

All text for people passes through `printable` on its way: it may come from a log. Text and JSON for
programs goes out as it is. Colours are for whom `colours` says; lines are fitted on terminals only.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol, TextIO

from sessionref.resolver import Report
from sessionref_protocol import ecmascript
from sessionref_protocol.display import json_printable, printable

from . import streams
from .colours import has_colours

Facts = Iterable[tuple[str, str]]
"""What is said of something: label and value each."""


class Column(NamedTuple):
    """One column of a table."""

    name: str
    whole: bool
    """Not cut where the terminal is narrow."""


class Screen(Protocol):
    """A stream for people. Every text is made printable here."""

    def line(self, text: str, *, bad: bool = False) -> None:
        """A paragraph of its own; `bad` news stand out."""
        ...

    def facts(self, heading: str, facts: Facts) -> None:
        """What is said of one thing."""
        ...

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        """Rows with a cell for each column."""
        ...


def screen(stream: TextIO) -> Screen:
    """The screen that a stream makes."""
    if not stream.isatty():
        return _PlainScreen(stream)
    from .styled import StyledScreen

    return StyledScreen(stream)


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """A bar on stderr that tells how far something is, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from .styled import bar

    with bar(what, sys.stderr) as report:
        yield report


def write_json(value: object) -> None:
    """One line of JSON on stdout. What could deceive people is spelled out in it.

    Not on a terminal only, since what goes through a pipe may well end on one.
    """
    line = json_printable(ecmascript.encode(value).decode())
    streams.write(line.encode() + b"\n", sys.stdout)


def write_text(text: str, stream: TextIO) -> None:
    """Text that is printable already; what the stream's encoding lacks is escaped."""
    streams.write(text.encode(stream.encoding, "backslashreplace"), stream)


def complain(command: str, text: str) -> None:
    """One line on stderr, after the name of the command."""
    write_text(f"sessionref {command}: {printable(text)}\n", sys.stderr)


_BOLD: Final = "1"
_BAD: Final = "1;31"
_DIM: Final = "2"


class _PlainScreen:
    """Lines that are never wrapped; a table has a tab between its columns and no heading."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._has_colours = has_colours(stream)

    def line(self, text: str, *, bad: bool = False) -> None:
        self._write([self._styled(printable(text), _BAD if bad else _BOLD)])

    def facts(self, heading: str, facts: Facts) -> None:
        pairs = list(facts)
        width = max(len(label) for label, _ in pairs)
        lines = [
            f"  {self._styled(label.ljust(width), _DIM)}  {printable(value)}"
            for label, value in pairs
        ]
        self._write([self._styled(printable(heading), _BOLD), *lines, ""])

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
        self._write("\t".join(map(printable, row)) for row in rows)

    def _styled(self, text: str, style: str) -> str:
        """The text between the sequences that begin and end a style (ECMA-48, SGR)."""
        return f"\x1b[{style}m{text}\x1b[0m" if self._has_colours else text

    def _write(self, lines: Iterable[str]) -> None:
        write_text("".join(f"{line}\n" for line in lines), self._stream)
