"""What one look at a whole log came to, without anything that was said in it.

It holds as long as the file does, and from it a later look can go on where this one paused. So it
may be kept where no conversation may be, unless openings of prompts were asked for. Blocking.
Source: issue "instant at ten thousand sessions", 1.
"""

from typing import Self

import msgspec

from sessionref.sessions.folders import Log
from sessionref.sessions.log import Pause
from sessionref.sessions.model import Header, ReadError, Summary
from sessionref.sessions.root import Root, Start, Taken
from sessionref.sessions.stamps import Identity, Stamp
from sessionref.sessions.state import FoldState
from sessionref.sessions.stop import Stop
from sessionref_protocol import ecmascript


class Digest(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a log came to."""

    stamp: Stamp
    """Of the file that was looked at."""
    summary: Summary
    failed: bool = False
    """The log could not be read."""
    passing: bool = False
    """Another look may find something else, although the file is the same."""

    def holds(self, identity: Identity) -> bool:
        """Whether what has this identity now would come to the same."""
        return not self.passing and self.stamp.holds(identity)

    def for_later(self) -> Self:
        """This digest for another process."""
        return msgspec.structs.replace(self, stamp=self.stamp.for_later())


class Rest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a later look can go on, as a `Start` can."""

    position: int
    """The bytes before it have been read."""
    print: int
    """Of those bytes."""
    identity: Identity
    """Of the file, when it was looked at."""
    state: FoldState
    opening: str | None = None
    """Of what is in those bytes; None where it was not asked for."""


class Look(msgspec.Struct, frozen=True, gc=False):
    """A digest, and a `Rest` as JSON; None where there is none, or it lies elsewhere."""

    digest: Digest
    rest: bytes | None = None


def look(
    root: Root, log: Log, header: Header, seen: Stamp, before: bytes | None, stop: Stop
) -> Look:
    """Look at a log as it is now. What is wrong with it is part of the answer.

    `seen`: of the file, before it was opened; `before`: the rest of an earlier look.
    """
    start = None if before is None else _start(root, log, header, before)
    try:
        return look_of(root.take(log, stop, start))
    except ReadError as error:
        told = Summary(is_known=not error.is_ours)
        return Look(Digest(seen, told, failed=True, passing=error.may_pass))


def look_of(taken: Taken) -> Look:
    """The look that a reading was."""
    assert taken.start is not None
    (reader, position), printed, identity = taken.start
    rest = Rest(position, printed, identity, reader.state(), reader.opening)
    return Look(Digest(taken.stamp, Summary.of(taken.reading)), ecmascript.encode(rest))


def _start(root: Root, log: Log, header: Header, before: bytes) -> Start | None:
    try:
        rest = ecmascript.decode(before, Rest)
    except msgspec.DecodeError:
        return None
    if root.openings and rest.opening is None:
        return None
    opening = rest.opening if root.openings else None
    reader = root.reader(log, header=header, state=rest.state, opening=opening)
    return Start(Pause(reader, rest.position), rest.print, rest.identity)
