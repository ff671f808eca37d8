"""Which sessions can be referred to, and in what order they are offered.

Pure functions over listed headers and summaries; whoever calls them decides when those are looked
up: only for the cut list where the query is empty, for all before filtering where it is not. Knows
nothing of how a title is found. Source of the rule: the contract, section 5 (`listCandidates`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Final

import msgspec

from sessionref.sessions.model import Degraded, Entry, Summary
from sessionref_protocol.ecmascript import containing, contains, lower
from sessionref_protocol.mention import format_mention, printable

Summaries = Mapping[str, Summary]
"""What was found out about each session, by id."""

_NOTHING: Final = Summary()

_BETWEEN: Final = "\0"
"""Stands between texts that are searched together; a letter beside it is one at an end."""


class Display(msgspec.Struct, frozen=True):
    """Label and cwd with everything escaped that could deceive a person's eye."""

    label: str
    cwd: str | None


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One session that could be referred to. Every field but `display` is exact."""

    session_id: str
    label: str
    """The latest title, which may be empty, or the id where there is none."""
    cwd: str | None
    created_at: int
    """Milliseconds since the epoch."""
    mention: str
    """The text that refers to it."""
    display: Display
    display_title: str
    """What people call it: a sub-agent by the name its parent gave it, else the label."""
    same_workspace: bool
    entry: Entry
    degraded: Degraded | None
    """Set where the log holds more than we know how to read."""
    preview: str | None
    """The first words of its first prompt, safe to show, where they were asked for."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions are offered at all, whatever the query. By default all of them are."""

    subagents: bool = True
    archived: bool = True
    same_workspace_only: bool = False


SameWorkspace = Callable[[str], bool]
"""Whether a recorded working directory is the agent's."""


def offered(
    entries: Iterable[Entry], agent_id: str, wanted: Filter, is_same: SameWorkspace
) -> list[Entry]:
    """Every session that passes the filter, but the agent's own."""
    return [
        entry
        for entry in entries
        if entry.header.id != agent_id
        and (wanted.subagents or not entry.header.is_subagent)
        and (wanted.archived or not entry.archived)
        and (not wanted.same_workspace_only or _is_same(entry, is_same))
    ]


def matching(entries: Iterable[Entry], query: str, summaries: Summaries) -> list[Entry]:
    """The sessions whose id, cwd or title contains the query, letter case aside.

    Both sides are lower-cased without a locale; the query is neither trimmed nor normalized.
    """
    offer = Offer(list(entries))
    offer.tell(summaries)
    return offer.matching(query)


class Offer:
    """Sessions in the order in which they are offered, and what is searched of them.

    Made once for all the queries of somebody who types.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.is_known = False
        """Whether all that was told of them is known for good."""
        self._summaries: Summaries | None = None
        self._texts: Sequence[str] = ()

    def tell(self, summaries: Summaries) -> None:
        """What was found out about each session, as far as it is known by now."""
        if self._summaries is summaries or self._summaries == summaries:
            return
        told = [summaries.get(entry.header.id, _NOTHING) for entry in self.entries]
        self._summaries = summaries
        self._texts = list(map(_searched, self.entries, told))
        self.is_known = all(summary.is_known for summary in told)

    def matching(self, query: str) -> list[Entry]:
        """The sessions whose id, cwd or title contains the query, letter case aside.

        Both sides are lower-cased without a locale; the query is neither trimmed nor normalized.
        """
        wanted = lower(query)
        found = list(compress(self.entries, containing(self._texts, wanted)))
        if _BETWEEN not in wanted:
            return found
        return [entry for entry in found if self._has_in_one_text(entry, wanted)]

    def _has_in_one_text(self, entry: Entry, wanted: str) -> bool:
        assert self._summaries is not None
        title = self._summaries.get(entry.header.id, _NOTHING).title
        texts = (entry.header.id, entry.header.cwd, title)
        return any(contains(lower(text), wanted) for text in texts if text is not None)


def ranked(entries: Iterable[Entry], is_same: SameWorkspace) -> list[Entry]:
    """Sessions of the agent's own workspace, then those without one, then the others.

    Inside a rank the newest come first, ties by id in code-point order: a total order over
    distinct ids, whatever order the entries come in.
    """
    own: list[Entry] = []
    nowhere: list[Entry] = []
    elsewhere: list[Entry] = []
    for entry in entries:
        cwd = entry.header.cwd
        (nowhere if cwd is None else own if is_same(cwd) else elsewhere).append(entry)
    return [entry for rank in (own, nowhere, elsewhere) for entry in sorted(rank, key=_newest)]


def candidate(entry: Entry, summary: Summary, is_same: SameWorkspace) -> Candidate:
    """The session as it is offered."""
    header = entry.header
    label = header.id if summary.title is None else summary.title
    return Candidate(
        session_id=header.id,
        label=label,
        cwd=header.cwd,
        created_at=header.created_at,
        mention=format_mention(header.id, label),
        display=Display(printable(label), None if header.cwd is None else printable(header.cwd)),
        display_title=summary.name or label,
        same_workspace=_is_same(entry, is_same),
        entry=entry,
        degraded=summary.degraded,
        preview=printable(summary.opening) if summary.opening else None,
    )


def _newest(entry: Entry) -> tuple[int, str]:
    """Sorts the newest first, and equal ones by id, since a `str` compares by code point."""
    return -entry.header.created_at, entry.header.id


def _searched(entry: Entry, summary: Summary) -> str:
    """All that is searched of a session."""
    header = entry.header
    return lower(f"{header.id}{_BETWEEN}{header.cwd or ''}{_BETWEEN}{summary.title or ''}")


def _is_same(entry: Entry, is_same: SameWorkspace) -> bool:
    return entry.header.cwd is not None and is_same(entry.header.cwd)
