"""The fold: which events the model currently sees, in which order.

An `append` puts a node at the end; a `replace` puts one node in the place of a contiguous span,
so surface order is not seq order. Every operation is validated before it is applied. Cost is
linear in the log: a node is visited once when it comes and once when it goes. This module knows
no files, no JSON and no format generation. Source: the log format, section 4.
"""

import enum
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from operator import attrgetter, sub
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from sessionref.sessions.model import Node, Voice
from sessionref.sessions.state import SurfaceState

_NODE_BYTES: Final = 180
"""About what a node takes in memory, besides its text."""
_LINK_BYTES: Final = 160
"""About what linking it takes, too."""

_seq: Final = attrgetter("seq")

_ENDS: Final = -1
"""Closes the ring of linked nodes: what precedes the first and what follows the last."""


class Kind(enum.Enum):
    """What a node is, as far as replacing it depends on that."""

    MESSAGE = 0
    TOOL_RESULT = 1
    SYSTEM = 2


class Replace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", gc=False):
    """A replacement as it is written: the inclusive span, in the spelling of v0 or of v3."""

    op: str
    start: int | UnsetType = UNSET
    end: int | UnsetType = UNSET
    start_seq: int | UnsetType = UNSET
    end_seq: int | UnsetType = UNSET

    def span(self) -> tuple[int, int]:
        """First and last seq of the span. Raises `InvalidSurfaceError`."""
        if self.op == "replace":
            match (self.start, self.end, self.start_seq, self.end_seq):
                case (int(first), int(last), UnsetType(), UnsetType()):
                    return first, last
                case (UnsetType(), UnsetType(), int(first), int(last)):
                    return first, last
        raise InvalidSurfaceError("a surface event has no operation that we know")


Citations = list[int | list[int]]
"""`sourceEventSeqs` as written: seqs, and inclusive ranges as pairs."""


class InvalidSurfaceError(Exception):
    """An operation that the surface does not allow. The text is for people."""


class Surface:
    """The surface of one log, as far as the log has been read.

    Nodes that were appended since the last replacement wait in a list. A replacement links them
    into the ring first, so each node is linked once at most, and in most logs never.
    """

    def __init__(self, *, system_first: bool) -> None:
        self._system_first = system_first
        self._appended: list[Node] = []
        self._linked: dict[int, Node] = {}
        self._next = {_ENDS: _ENDS}
        self._previous = {_ENDS: _ENDS}
        self._kinds: dict[int, Kind] = {}
        self._node_bytes = 0

    @staticmethod
    def resumed(state: SurfaceState, *, system_first: bool) -> "Surface":
        """A surface that goes on from a state, with nodes that say nothing."""
        surface = Surface(system_first=system_first)
        surface._appended = [Node(seq, Voice.OTHER) for seq in accumulate(state.gaps)]
        surface._node_bytes = _NODE_BYTES * len(state.gaps)
        surface._kinds = dict.fromkeys(state.tool_results, Kind.TOOL_RESULT)
        surface._kinds |= dict.fromkeys(state.systems, Kind.SYSTEM)
        return surface

    def state(self) -> SurfaceState:
        """What `resumed` needs."""
        seqs = tuple(map(_seq, self.nodes()))
        return SurfaceState(
            gaps=tuple(map(sub, seqs, (0, *seqs))),
            tool_results=self._of_kind(Kind.TOOL_RESULT),
            systems=self._of_kind(Kind.SYSTEM),
        )

    def copy(self) -> "Surface":
        """Another surface with the same nodes."""
        made = Surface(system_first=self._system_first)
        made._appended = self._appended.copy()
        made._linked = self._linked.copy()
        made._next = self._next.copy()
        made._previous = self._previous.copy()
        made._kinds = self._kinds.copy()
        made._node_bytes = self._node_bytes
        return made

    @property
    def weight(self) -> int:
        """About how many bytes all of it takes in memory."""
        return self._node_bytes + _LINK_BYTES * len(self._linked)

    def nodes(self) -> list[Node]:
        """The nodes in surface order."""
        nodes: list[Node] = []
        seq = self._next[_ENDS]
        while seq != _ENDS:
            nodes.append(self._linked[seq])
            seq = self._next[seq]
        return nodes + self._appended

    def append(self, node: Node, kind: Kind) -> None:
        """Put a node at the end. What it cites is checked by `check_citations`."""
        if kind is not Kind.MESSAGE:
            self._kinds[node.seq] = kind
        self._node_bytes += _NODE_BYTES + node.size
        self._appended.append(node)

    def replace(self, node: Node, kind: Kind, span: tuple[int, int], citations: Citations) -> None:
        """Put a node in the place of an inclusive span. Raises `InvalidSurfaceError`."""
        self._link_appended()
        removed = self._span(*span)
        if not _covers(_checked(citations, node.seq), removed):
            raise InvalidSurfaceError("a replacement does not cite everything that it replaces")
        self._check_kinds(kind, removed)
        before, after = self._previous[removed[0]], self._next[removed[-1]]
        self._node_bytes += _NODE_BYTES + node.size
        for seq in removed:
            self._node_bytes -= _NODE_BYTES + self._linked[seq].size
            del self._linked[seq], self._next[seq], self._previous[seq]
            self._kinds.pop(seq, None)
        if kind is not Kind.MESSAGE:
            self._kinds[node.seq] = kind
        self._link(node, before, after)

    def _of_kind(self, wanted: Kind) -> tuple[int, ...]:
        return tuple(seq for seq, kind in self._kinds.items() if kind is wanted)

    def _link_appended(self) -> None:
        for node in self._appended:
            self._link(node, self._previous[_ENDS], _ENDS)
        self._appended.clear()

    def _link(self, node: Node, before: int, after: int) -> None:
        seq = node.seq
        self._linked[seq] = node
        self._next[before] = self._previous[after] = seq
        self._previous[seq] = before
        self._next[seq] = after

    def _span(self, first: int, last: int) -> list[int]:
        """The seqs of an inclusive span, in surface order."""
        if first not in self._linked or last not in self._linked:
            raise InvalidSurfaceError("a replacement names an event that is not on the surface")
        span = [first]
        while span[-1] != last:
            following = self._next[span[-1]]
            if following == _ENDS:
                raise InvalidSurfaceError("a replacement ends before it starts")
            span.append(following)
        return span

    def _check_kinds(self, kind: Kind, removed: list[int]) -> None:
        first = self._kinds.get(removed[0], Kind.MESSAGE)
        alone = len(removed) == 1
        if kind is Kind.TOOL_RESULT and not (alone and first is Kind.TOOL_RESULT):
            raise InvalidSurfaceError("a tool result may replace exactly one tool result")
        opening = first is Kind.SYSTEM and removed[0] == self._next[_ENDS]
        if self._system_first and opening and not (alone and kind is Kind.SYSTEM):
            raise InvalidSurfaceError("only a system message may replace the opening one")


def check_citations(citations: Citations, seq: int) -> None:
    """Raises `InvalidSurfaceError` unless the cited seqs are unique and earlier than `seq`."""
    if len(citations) != 1 or type(citations[0]) is not int or not 0 <= citations[0] < seq:
        _checked(citations, seq)


_Ranges = list[tuple[int, int]]


def _checked(citations: Citations, seq: int) -> set[int] | _Ranges:
    """The cited seqs, unique and earlier than `seq`: a set, or increasing ranges."""
    if len(citations) == 1 or list in set(map(type, citations)):
        return _checked_ranges(citations, seq)
    cited: list[int] = citations  # type: ignore[assignment]
    if cited and not 0 <= min(cited) <= max(cited) < seq:  # before sets: huge ones may collide
        raise InvalidSurfaceError("an event cites one that is not earlier")
    unique = set(cited)
    if len(unique) != len(cited):
        raise InvalidSurfaceError("an event is cited twice")
    return unique


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


def _pair(cited: list[int]) -> tuple[int, int]:
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
