"""A transcript with recall messages in it: whose each of them is, and one line to show for it.

Pure. A recall message stands right after or right before the direct message that it was made for;
which, the transcript alone can tell. Knows nothing of policies: a transcript may have several.
Source of the rule: the contract, section 5 (`preStep`: placement).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Raw

from sessionref.wording import size_in_words
from sessionref_protocol.display import excerpt

from .message import DirectMessage, direct_message
from .recall import Recalled, RecallMessage, is_own, recall_message, spells_all
from .retention import Stats

Placement = Literal["after", "before"]

_LABEL_UNITS: Final = 80
"""How much of a label a line shows, in UTF-16 code units."""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """One recall message of a transcript."""

    recall_index: int
    """Its place in the transcript."""
    recall: RecallMessage
    message_index: int | None
    """The place of its direct message; None where no neighbour is that."""

    @property
    def placement(self) -> Placement | None:
        """Where it stands, seen from its direct message."""
        if self.message_index is None:
            return None
        return "after" if self.message_index < self.recall_index else "before"


def describe(messages: Sequence[Raw]) -> tuple[Described, ...]:
    """Every recall message, in order. A direct message has at most one, and the reverse.

    Neighbours that have all labels of a recall are preferred to such as only refer to one of its
    sessions. Where a recall still has the choice, or two recalls contend for a message, the other
    recalls of the transcript decide on which side a context stands; if they do not, it is after.
    """
    recalls = {
        index: recall
        for index, message in enumerate(messages)
        if (recall := recall_message(message)) is not None
    }
    neighbours = {index + step for index in recalls for step in (-1, 1)} - recalls.keys()
    directs = {
        index: direct
        for index in neighbours
        if 0 <= index < len(messages) and (direct := direct_message(messages[index])) is not None
    }
    exact, likely = _edges(recalls, directs)
    owners = _pair(exact, recalls)
    paired = owners.keys() | owners.values()
    owners |= _pair([edge for edge in likely if paired.isdisjoint((edge, edge + 1))], recalls)
    return tuple(
        Described(recall_index=index, recall=recall, message_index=owners.get(index))
        for index, recall in recalls.items()
    )


def line(recalled: Recalled) -> str:
    """One source of a recall in a line for people: `Fix login — 12 of 40 messages, 8.1 KB omitted`.

    Nothing in it can hide, reorder or break lines.
    """
    label = excerpt(recalled.wanted.label, _LABEL_UNITS)
    facts = [] if recalled.stats is None else [_kept(recalled.stats)]
    if recalled.degraded is not None:
        facts.append("may be incomplete")
    return f"{label} — {', '.join(facts)}" if facts else label


def _edges(
    recalls: Mapping[int, RecallMessage], directs: Mapping[int, DirectMessage]
) -> tuple[list[int], list[int]]:
    """Neighbours that may belong together, each pair by its first index: surely, and likely."""
    exact: list[int] = []
    likely: list[int] = []
    for index, recall in recalls.items():
        for beside in (index - 1, index + 1):
            direct = directs.get(beside)
            if direct is not None and is_own(recall, direct):
                edges = exact if spells_all(recall, direct) else likely
                edges.append(min(index, beside))
    return sorted(exact), sorted(likely)


def _pair(edges: Iterable[int], recalls: Collection[int]) -> dict[int, int]:
    """For each recall its direct message: as many pairs as there can be."""
    certain: list[tuple[Placement, range]] = []
    open_: list[range] = []
    for chain in _chains(edges):
        if len(chain) % 2:
            open_.append(chain)
        else:
            certain.append(("before" if chain[0] in recalls else "after", chain))
    sides = [placement for placement, _ in certain]
    usual: Placement = "before" if sides.count("before") > sides.count("after") else "after"
    owners: dict[int, int] = {}
    for placement, chain in [*certain, *((usual, chain) for chain in open_)]:
        step = 1 if placement == "before" else -1
        for index in chain:
            if index in recalls and index + step in chain:
                owners[index] = index + step
    return owners


def _chains(edges: Iterable[int]) -> list[range]:
    """The indices that are linked by edges, run by run: recalls and direct messages in turn."""
    chains: list[range] = []
    for edge in edges:
        if chains and chains[-1].stop == edge + 1:
            chains[-1] = range(chains[-1].start, edge + 2)
        else:
            chains.append(range(edge, edge + 2))
    return chains


def _kept(stats: Stats) -> str:
    if stats.original_messages == 0:
        return "no messages"
    number = str(stats.original_messages)
    if stats.omitted_messages:
        number = f"{stats.retained_messages} of {number}"
    kept = f"{number} message{'' if stats.original_messages == 1 else 's'}"
    return f"{kept}, {size_in_words(stats.omitted_bytes)} omitted" if stats.omitted_bytes else kept
