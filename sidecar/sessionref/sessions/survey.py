"""What looking through a session root has found so far, as a listing.

Every session stands for itself: what is wrong with one is its own problem, and an id that two
logs claim is in conflict. This module opens no log. Source: the contract, section 3; the native
corners 27, 28 and 34 to 37, with our differences.
"""

from operator import attrgetter
from typing import Final

import msgspec

from sessionref.sessions.folders import Log, children
from sessionref.sessions.header import FirstLine
from sessionref.sessions.home import archived_sessions
from sessionref.sessions.model import Entry, Listing, Problem, ReadError
from sessionref.sessions.paths import decode_segment

_created_at: Final = attrgetter("header.created_at")


class Survey:
    """Grows as its owner looks; what it has can be asked for at any time, from any thread."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._archived = archived_sessions(root)
        self._entries: dict[str, Entry] = {}
        self._problems: list[Problem] = []
        self._strangers = 0
        self.conflicts: list[tuple[str, str]] = []
        """Pairs of logs that claim to be one session."""

    def folders(self, path: str) -> list[str]:
        """The real folders in a folder; what else is there is a stranger."""
        try:
            folders, others = children(path, missing_ok=True)
        except ReadError as error:
            self._problems.append(Problem(path=path, error=error.alone()))
            return []
        self._strangers += len(others)
        return folders

    def add(self, first: FirstLine, log: Log) -> None:
        """A session whose header could be read."""
        session_id = first.header.id
        known = self._entries.get(session_id)
        if known is not None:
            self.conflicts.append((known.path or "", log.path))
            problem = ReadError("conflict", "the session is in several projects")
            self._entries[session_id] = msgspec.structs.replace(known, problem=problem)
            return
        self._entries[session_id] = Entry(
            header=first.header,
            store=self._root,
            path=log.path,
            encoding="zstd" if log.place.name.compressed else "none",
            archived=None if self._archived is None else session_id in self._archived,
            problem=log.conflict or first.problem,
        )

    def add_strangers(self, count: int) -> None:
        """Files that are no logs."""
        self._strangers += count

    def add_problem(self, path: str, folder: str, error: ReadError) -> None:
        """A session folder of which not even a header could be read."""
        session_id = decode_segment(folder)
        self._problems.append(Problem(path=path, error=error.alone(), session_id=session_id))

    def listing(self, *, is_complete: bool = True) -> Listing:
        """All of it, the newest sessions first, since nearly everybody wants them so."""
        newest_first = sorted(self._entries.values(), key=_created_at, reverse=True)
        return Listing(
            entries=tuple(newest_first),
            problems=tuple(self._problems),
            strangers=self._strangers,
            is_complete=is_complete and not any(each.error.is_ours for each in self._problems),
        )
