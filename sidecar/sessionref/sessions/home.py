"""A DSH home around a session root: what its owner says of sessions outside their logs.

Only which sessions are archived so far. The home belongs to the host: it is read, never written,
and whatever cannot be read there counts as not said. Source: the log format, section 8.
"""

import os
import stat
from typing import Final

import msgspec

from sessionref.config import MIB
from sessionref_protocol import ecmascript

_MAX_BYTES: Final = 16 * MIB
"""Real files have some kilobytes."""


class _Global(msgspec.Struct, rename="camel"):
    archived_session_ids: list[str]


class _Workspace(msgspec.Struct, rename={"owned": "global"}):
    owned: _Global


def archived_sessions(root: str) -> frozenset[str] | None:
    """The ids that the home of this root has archived; None where it keeps no account of them."""
    home = os.path.dirname(os.path.abspath(root))
    text = _read(os.path.join(home, "storages", "workspace.json"))
    if text is None:
        return None
    try:
        return frozenset(ecmascript.decode(text, _Workspace).owned.archived_session_ids)
    except msgspec.DecodeError:
        return None


def _read(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > _MAX_BYTES:
            return None
        try:
            return file.read(_MAX_BYTES)
        except OSError:
            return None
