"""When a session was last active: the time of the last event of its log.

No snapshot depends on times, so nothing is refused here: a time that is no whole number of
milliseconds counts as absent. This module knows no files and no fold. Source: the log format,
section 3.
"""

import math
from collections.abc import Iterable

import msgspec

from sessionref.sessions.records import (
    BadRecordError,
    Members,
    NullRecordError,
    count,
    record_members,
)
from sessionref_protocol import ecmascript


class _Deltas(msgspec.Struct):
    """The data of a packed row."""

    dt: list[float]
    """Milliseconds from each of its events to the next."""


def last_activity(lines: Iterable[bytes], last_seq: int) -> int | None:
    """The time of the event `last_seq`, in milliseconds since the epoch, if it tells one.

    `lines` are the latest of the log, that of the event before any others that claim its seq.
    """
    for line in lines:
        try:
            members = record_members(line)
        except (BadRecordError, NullRecordError):
            continue
        # No packed row has a seq of its own, but other rows may have any members besides theirs.
        seq, time = _plain(members) if "seq" in members else _packed(members)
        if seq == last_seq:
            return time
    return None


def _plain(members: Members) -> tuple[int | None, int | None]:
    return count(members.get("seq")), count(members.get("time"))


def _packed(members: Members) -> tuple[int | None, int | None]:
    """Seq and time of the last event that a packed row stands for."""
    first, start = count(members.get("seq0")), count(members.get("time0"))
    try:
        gaps = ecmascript.decode(msgspec.Raw(members.get("data", b"null")), _Deltas).dt
    except msgspec.DecodeError:
        return None, None
    passed = sum(gaps)
    if first is None or start is None or not math.isfinite(passed):
        return None, None
    return first + len(gaps), start + int(passed)
