"""What is remembered of one log between processes, as the bytes of a row of the index.

Where its folder and its file were like this when they were seen, its first line said this and the
whole of it came to that. Nothing here is believed before the disk has confirmed it. Pure. Source:
issue "instant at ten thousand sessions", 1.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from sessionref.sessions.digest import Digest, Look
from sessionref.sessions.folders import Contents, log_in
from sessionref.sessions.header import FirstLine
from sessionref.sessions.index import Record
from sessionref.sessions.model import Header, ReadError
from sessionref.sessions.paths import Key
from sessionref.sessions.stamps import Stamp
from sessionref.sessions.walk import SeenFolder, SeenLog
from sessionref_protocol import ecmascript
from sessionref_protocol.errors import Cause


class _Row(msgspec.Struct, frozen=True, omit_defaults=True):
    folder: Stamp
    contents: Contents
    log: Stamp
    header: Header
    problem: tuple[Cause, str] | None = None
    """Of the header: cause and reason."""
    digest: Digest | None = None


class Remembered(NamedTuple):
    """What an earlier process knew of a root."""

    folders: dict[Key, SeenFolder]
    logs: dict[str, SeenLog]
    """By path."""
    looks: dict[str, Look]
    """By path; their rests lie where the rows do."""


def record(folder: SeenFolder, log: SeenLog, look: Look | None) -> Record:
    """A log whose header could be read, to be remembered."""
    first = log.first
    assert isinstance(first, FirstLine)
    problem = first.problem
    digest = None if look is None or look.digest.passing else look.digest.for_later()
    row = _Row(
        folder.stamp.for_later(),
        folder.contents,
        log.stamp.for_later(),
        first.header,
        None if problem is None else (problem.cause, problem.reason),
        digest,
    )
    place = log.log.place
    rest = None
    if look is not None:
        rest = b"" if look.digest.failed else look.rest
    return Record((place.project, place.folder), ecmascript.encode(row), rest)


def remembered(root: str, rows: Iterable[tuple[Key, bytes]], *, openings: bool) -> Remembered:
    """What rows of the root at this path say. Those that say nothing are passed over.

    Without `openings` none is taken over, nor what came with it.
    """
    known = Remembered({}, {}, {})
    parent = os.path.join(root, "")
    for key, text in rows:
        row = _row(text)
        if row is None:
            continue
        log = log_in(parent + os.sep.join(key), key, row.contents)
        if log is None:
            continue
        problem = None if row.problem is None else ReadError(*row.problem)
        known.folders[key] = SeenFolder(row.folder, row.contents, log)
        known.logs[log.path] = SeenLog(log, row.log, FirstLine(row.header, problem))
        if row.digest is not None and (openings or row.digest.summary.opening is None):
            known.looks[log.path] = Look(row.digest)
    return known


def _row(text: bytes) -> _Row | None:
    try:
        return ecmascript.decode(text, _Row)
    except msgspec.DecodeError:
        return None
