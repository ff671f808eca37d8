"""What one look at a whole log came to, without anything that was said in it.

It holds as long as the file does, and from it a later look can go on where this one paused. So it
may be kept where no conversation may be, unless openings of prompts were asked for. Blocking.
Source: issue "instant at ten thousand sessions", 1.
"""

import msgspec

from sessionref.sessions.folders import Log
from sessionref.sessions.log import Pause
from sessionref.sessions.model import Header, ReadError, Summary
from sessionref.sessions.root import Root, Start, Taken
from sessionref.sessions.stamps import Identity, Stamp
from sessionref.sessions.state import FoldState
from sessionref.sessions.workers import Stop
from sessionref_protocol import ecmascript


class Digest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a log came to. Without a header it could not be read."""

    stamp: Stamp
    """Of the file that was looked at."""
    summary: Summary
    passing: bool = False
    """Another look may find something else, although the file is the same."""
    header: Header | None = None
    position: int = 0
    """Where the next look may go on: the bytes before it have been read."""
    print: int = 0
    """Of those bytes."""
    opening: str | None = None
    """Of what is in them."""

    def holds(self, identity: Identity) -> bool:
        """Whether what has this identity now would come to the same."""
        return not self.passing and self.stamp.holds(identity)


class Look(msgspec.Struct, frozen=True, gc=False):
    """A digest, and the state in which its reader paused, as JSON; empty where there is none."""

    digest: Digest
    state: bytes = b""


def look(root: Root, log: Log, seen: Stamp, before: Look | None, stop: Stop) -> Look:
    """Look at a log as it is now. What is wrong with it is part of the answer.

    `seen`: of the file, before it was opened; `before`: an earlier look, to go on from.
    """
    start = None if before is None else _start(root, log, before)
    try:
        return look_of(root.take(log, stop, start))
    except ReadError as error:
        return Look(Digest(stamp=seen, summary=Summary(), passing=error.may_pass))


def look_of(taken: Taken) -> Look:
    """The look that a reading was."""
    assert taken.start is not None
    reader, position = taken.start.pause
    digest = Digest(
        stamp=taken.stamp,
        summary=Summary.of(taken.reading),
        header=taken.reading.header,
        position=position,
        print=taken.start.print,
        opening=reader.opening,
    )
    return Look(digest, ecmascript.encode(reader.state()))


def _start(root: Root, log: Log, before: Look) -> Start | None:
    digest = before.digest
    if digest.header is None or not before.state:
        return None
    try:
        state = ecmascript.decode(before.state, FoldState)
    except msgspec.DecodeError:
        return None
    reader = root.reader(log, header=digest.header, state=state, opening=digest.opening)
    return Start(Pause(reader, digest.position), digest.print)
