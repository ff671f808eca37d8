"""Looking at very many logs in processes of their own, so that every core can take part.

`python -m` this module is such a process: it is given logs, some at a time, and gives back looks.
Nothing is different but the time it takes, and that the process that was asked stays free to
answer. Source: issue "instant at ten thousand sessions", 3.
"""

import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from sessionref.config import MIB, Limits
from sessionref.sessions.child import Child, LostError, Parent
from sessionref.sessions.digest import Look, look
from sessionref.sessions.folders import Log
from sessionref.sessions.model import Header
from sessionref.sessions.root import Root
from sessionref.sessions.stamps import Stamp
from sessionref.sessions.stop import Stop

MANY_BYTES: Final = 32 * MIB
"""Of logs on disk: from here on it takes less time than beginning processes does."""

_MODULE: Final = "sessionref.sessions.lookers"


class Sought(NamedTuple):
    """A log to be looked at: what `digest.look` needs to know of it."""

    log: Log
    header: Header
    seen: Stamp
    before: bytes | None


class _Errand(NamedTuple):
    root: str
    openings: bool
    limits: Limits
    logs: Sequence[Sought]


class Lookers:
    """The processes, one for each thread that asks at one time. Begun when they are asked."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._lock: Final = threading.Lock()
        self._idle: list[Child] = []
        self._is_lost = False
        self._is_wanted = False

    def want(self, size: int) -> None:
        """There are logs of so many bytes to be looked at."""
        self._is_wanted = self._is_wanted or size >= MANY_BYTES

    def rest(self) -> None:
        """There is nothing more to be looked at: end the processes."""
        self._is_wanted = False
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.close()

    def look(self, logs: Sequence[Sought]) -> list[Look | None] | None:
        """What there is to be seen in each log; None where it must be looked at here. Blocking."""
        if not self._is_wanted or self._is_lost:
            return None
        root = self._root
        try:
            child = self._child()
            try:
                child.send(_Errand(root.path, root.openings, root.limits, logs))
                looks: list[Look | None] = child.receive()
            except BaseException:
                child.close()
                raise
        except LostError:
            self._is_lost = True  # whatever ended this process would end the next one, too
            return None
        with self._lock:
            self._idle.append(child)
        if not self._is_wanted:
            self.rest()
        return looks

    def _child(self) -> Child:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Child(_MODULE)


def _serve() -> None:
    parent = Parent()
    while True:
        errand: _Errand = parent.receive()
        root = Root(errand.root, errand.limits, openings=errand.openings, alone=True)
        parent.send([_look(root, each) for each in errand.logs])


def _look(root: Root, sought: Sought) -> Look | None:
    try:
        return look(root, *sought, Stop())
    except Exception:  # our fault; where it is looked at again, there is a log to tell it to
        return None


if __name__ == "__main__":
    _serve()
