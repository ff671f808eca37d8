"""The folders of a session root: what is in one, and which of it is a session's log.

Only names are looked at, nothing is opened. Source: the log format, section 1; the contract,
section 3; the native corners 34 and 36.
"""

import errno
import os
import stat
from functools import lru_cache
from operator import attrgetter
from typing import Final

import msgspec

from sessionref.sessions.log import Place
from sessionref.sessions.logfile import read_error
from sessionref.sessions.model import ReadError
from sessionref.sessions.paths import Key, LogName, parse_log_name

_LOCK: Final = "session.lock"
"""Held by a writer: no log, and no stranger either."""

_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
"""What the system says of a path that no session can have here."""


class Log(msgspec.Struct, frozen=True, gc=False):
    """The log of a session folder: the one of the highest generation in it."""

    path: str
    place: Place
    conflict: ReadError | None
    """Set where the folder has logs of both encodings, of which neither is to be preferred."""


class Contents(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is in a session folder."""

    names: tuple[str, ...]
    """Of logs, whatever they are."""
    strangers: int
    """How many files are no logs."""


def children(path: str, *, missing_ok: bool = False) -> tuple[list[str], list[str]]:
    """The names of the real folders in a folder, and of all else in it, both sorted."""
    folders: list[str] = []
    others: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                (folders if is_folder else others).append(entry.name)
    except FileNotFoundError:
        if not missing_ok:
            raise ReadError("not_found", "there is no such folder", path=path) from None
    except OSError as error:
        raise read_error(error, path) from error
    return sorted(folders), sorted(others)


def is_folder(path: str) -> bool:
    """Whether there is a real folder. Raises `ReadError` where that can't be told."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise read_error(error, path) from error


def contents(path: str) -> Contents:
    """What is in a session folder. Raises `ReadError`."""
    folders, others = children(path)
    names = [name for name in (*folders, *others) if parse_log_name(name) is not None]
    strangers = sum(parse_log_name(name) is None and name != _LOCK for name in others)
    return Contents(tuple(names), strangers)


def log_in(path: str, key: Key, found: Contents) -> Log | None:
    """The log of the session folder `key`, which is at `path`."""
    name, text, is_in_conflict = _highest(found.names)
    if name is None:
        return None
    log = f"{path}{os.sep}{text}"
    conflict = None
    if is_in_conflict:
        rivals = tuple(sorted(os.path.join(path, text) for text in found.names))
        reason = "the session has logs of both encodings"
        conflict = ReadError("conflict", reason, path=log, rivals=rivals)
    return Log(log, Place(*key, name), conflict)


@lru_cache(maxsize=256)  # nearly all folders have the same names in them
def _highest(names: tuple[str, ...]) -> tuple[LogName | None, str, bool]:
    """The name of the highest generation, also as text, and whether there are both encodings."""
    parsed = [name for text in names if (name := parse_log_name(text)) is not None]
    if not parsed:
        return None, "", False
    name = max(parsed, key=attrgetter("generation", "compressed"))
    return name, name.text, len({name.compressed for name in parsed}) > 1
