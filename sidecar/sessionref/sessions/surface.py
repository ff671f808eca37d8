"""The fold: which events the model currently sees, in which order.

An `append` puts a node at the end; a `replace` puts one node in the place of a contiguous span,
so surface order is not seq order. Every operation is validated before it is applied. Cost is
linear in the log: a node is visited once when it comes and once when it goes. This module knows
no files, no JSON and no format generation. Source: the log format, section 4.
"""

import enum
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from sessionref.sessions.model import Node

_ENDS: Final = -1
"""Closes the ring of nodes: what precedes the first and what follows the last."""


class Kind(enum.Enum):
    """What a node is, as far as replacing it depends on that."""

    MESSAGE = 0
    TOOL_RESULT = 1
    SYSTEM = 2


class Replace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", gc=False):
    """A replacement as it is written: the inclusive span, in the spelling of v0 or of v3."""

    op: str
    start: int | None = None
    end: int | None = None
    start_seq: int | None = None
    end_seq: int | None = None

    def span(self) -> tuple[int, int] | None:
        """First and last seq of the span, or None where the operation is not a valid one."""
        match (self.start, self.end, self.start_seq, self.end_seq):
            case (int(first), int(last), None, None) | (None, None, int(first), int(last)):
                return (first, last) if self.op == "replace" else None
        return None


Citations = Sequence[int | Sequence[int]]
"""`sourceEventSeqs` as written: seqs, and inclusive ranges as pairs."""


class InvalidSurfaceError(Exception):
    """An operation that the surface does not allow. The text is for people."""


class Surface:
    """The surface of one log, as far as the log has been read."""

    def __init__(self, *, system_first: bool) -> None:
        self._system_first = system_first
        self._nodes: dict[int, Node] = {}
        self._kinds: dict[int, Kind] = {}
        self._next = {_ENDS: _ENDS}
        self._previous = {_ENDS: _ENDS}

    def nodes(self) -> tuple[Node, ...]:
        """The nodes in surface order."""
        return tuple(self._nodes[seq] for seq in self._walk())

    def append(self, node: Node, kind: Kind, citations: Citations | None) -> None:
        """Put a node at the end. None: the event cites nothing."""
        if citations is not None:
            _checked(citations, node.seq)
        self._insert(node, kind, self._previous[_ENDS], _ENDS)

    def replace(
        self, node: Node, kind: Kind, span: tuple[int, int], citations: Citations | None
    ) -> None:
        """Put a node in the place of an inclusive span of the surface."""
        removed = self._span(*span)
        if citations is None or not _covers(_checked(citations, node.seq), removed):
            raise InvalidSurfaceError("a replacement does not cite everything that it replaces")
        self._check_kinds(kind, removed)
        before, after = self._previous[removed[0]], self._next[removed[-1]]
        for seq in removed:
            del self._nodes[seq], self._next[seq], self._previous[seq]
            self._kinds.pop(seq, None)
        self._insert(node, kind, before, after)

    def _insert(self, node: Node, kind: Kind, before: int, after: int) -> None:
        seq = node.seq
        self._nodes[seq] = node
        if kind is not Kind.MESSAGE:
            self._kinds[seq] = kind
        self._next[before] = self._previous[after] = seq
        self._previous[seq] = before
        self._next[seq] = after

    def _walk(self) -> Iterator[int]:
        seq = self._next[_ENDS]
        while seq != _ENDS:
            yield seq
            seq = self._next[seq]

    def _span(self, first: int, last: int) -> list[int]:
        """The seqs of an inclusive span, in surface order."""
        if first not in self._nodes or last not in self._nodes:
            raise InvalidSurfaceError("a replacement names an event that is not on the surface")
        span = [first]
        while span[-1] != last:
            following = self._next[span[-1]]
            if following == _ENDS:
                raise InvalidSurfaceError("a replacement ends before it starts")
            span.append(following)
        return span

    def _check_kinds(self, kind: Kind, removed: list[int]) -> None:
        kinds = [self._kinds.get(seq, Kind.MESSAGE) for seq in removed[:2]]
        if kind is Kind.TOOL_RESULT and kinds != [Kind.TOOL_RESULT]:
            raise InvalidSurfaceError("a tool result may replace exactly one tool result")
        first = self._next[_ENDS]
        opens = removed[0] == first and kinds[0] is Kind.SYSTEM
        if self._system_first and opens and (kind is not Kind.SYSTEM or len(removed) > 1):
            raise InvalidSurfaceError(
                "only a system message may replace the opening system message"
            )


_Ranges = list[tuple[int, int]]


def _checked(citations: Citations, seq: int) -> set[int] | _Ranges:
    """The cited seqs, unique and earlier than `seq`: a set, or increasing ranges."""
    plain = [cited for cited in citations if isinstance(cited, int)]
    if len(plain) == len(citations):
        unique = set(plain)
        if len(unique) != len(plain):
            raise InvalidSurfaceError("an event is cited twice")
        if plain and not 0 <= min(plain) <= max(plain) < seq:
            raise InvalidSurfaceError("an event cites one that is not earlier")
        return unique
    return _checked_ranges(citations, seq)


def _checked_ranges(citations: Citations, seq: int) -> _Ranges:
    ranges: _Ranges = []
    free = 0
    for cited in citations:
        first, last = (cited, cited) if isinstance(cited, int) else _pair(cited)
        if not free <= first <= last < seq:
            raise InvalidSurfaceError("cited ranges are not increasing and earlier")
        ranges.append((first, last))
        free = last + 1
    return ranges


def _pair(cited: Sequence[int]) -> tuple[int, int]:
    if len(cited) != 2:
        raise InvalidSurfaceError("a cited range is not a pair")
    return cited[0], cited[1]


def _covers(cited: set[int] | _Ranges, seqs: Iterable[int]) -> bool:
    if isinstance(cited, set):
        return cited.issuperset(seqs)
    starts = [first for first, _ in cited]
    for seq in seqs:
        at = bisect_right(starts, seq) - 1
        if at < 0 or cited[at][1] < seq:
            return False
    return True
