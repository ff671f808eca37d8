"""What the agents of a soak refer to: logs that are written meanwhile, and live sessions.

Everything grows and is then begun anew, so that what there is stays as much as it was. Knows no
requests of agents, only what the program asks of its host.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.corpus import KB, Corpus, Session, Shape, append_turn, corpus
from benchmarks.log import Talk
from benchmarks.words import words

_LOGS: Final = 60
_MEDIAN: Final = 20 * KB
_SPREAD: Final = 0.8
_APPENDS: Final = 20
"""After so many a log is replaced by what it was at first."""

_LIVE: Final = 15
_PAGE: Final = 20
"""Events that are given at one time."""
_FIRST_EVENTS: Final = 30
_MOST_EVENTS: Final = 90
_CREATED_AT: Final = 1_790_000_000_000


class Logs:
    """A session root, and somebody who goes on writing in it."""

    def __init__(self, folder: Path, random: Random) -> None:
        self._random = random
        shape = Shape(sessions=_LOGS, median=_MEDIAN, spread=_SPREAD)
        self._corpus: Corpus = corpus(shape, folder)
        self.root = self._corpus.root
        self.ids = [session.id for session in self._corpus.sessions]
        self._first = [self._corpus.log(session).read_bytes() for session in self._corpus.sessions]
        self._now: list[Session] = list(self._corpus.sessions)
        self._appends = [0] * len(self._now)

    def write(self) -> None:
        """A turn more of some session; or it is as it was at first."""
        at = self._random.randrange(len(self._now))
        if self._appends[at] < _APPENDS:
            self._appends[at] += 1
            self._now[at] = append_turn(self._corpus, self._now[at])
            return
        self._appends[at] = 0
        self._now[at] = self._corpus.sessions[at]
        log = self._corpus.log(self._now[at])
        replacement = log.with_name("session.jsonl.0123456789ab.tmp")
        replacement.write_bytes(self._first[at])
        replacement.replace(log)


class Live:
    """Sessions in the host's memory, which it tells of in pages."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._events: dict[str, list[Any]] = {f"live-{number}": [] for number in range(_LIVE)}
        self._more: dict[str, Iterator[Any]] = {}
        self.ids = list(self._events)
        for session_id in self.ids:
            self._begin(session_id)

    def go_on(self) -> None:
        """An event more of some session, or it begins anew."""
        session_id = self._random.choice(self.ids)
        if len(self._events[session_id]) >= _MOST_EVENTS:
            self._begin(session_id)
        else:
            self._events[session_id].append(next(self._more[session_id]))

    def headers(self) -> list[Any]:
        """What the host lists."""
        return [self._header(session_id) for session_id in self.ids]

    def page(self, session_id: str, after: int | None) -> Any:
        """Events of a session; None where it is none of these."""
        events = self._events.get(session_id)
        if events is None:
            return None
        start = -1 if after is None else after
        later = [event for event in events if event.get("seq", event.get("seq0")) > start]
        page = {"header": self._header(session_id), "events": later[:_PAGE]}
        if len(later) > _PAGE:
            page["nextSeq"] = later[_PAGE].get("seq", later[_PAGE].get("seq0"))
        return page

    def _begin(self, session_id: str) -> None:
        talk = Talk(Random(session_id), words(1), _CREATED_AT, packed=False)
        self._more[session_id] = map(json.loads, talk.rows(1 << 40))
        self._events[session_id] = [next(self._more[session_id]) for _ in range(_FIRST_EVENTS)]

    def _header(self, session_id: str) -> Any:
        title = f"Live {session_id}"
        return {"id": session_id, "createdAt": _CREATED_AT, "version": 0, "title": title}
