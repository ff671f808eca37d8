"""Walking through a session root: which logs there are now, and what their first lines say.

A walk costs two questions to the system for a session, one of them about its log. A folder is read
again, and a first line, only where the answer differs from that of the walk before, or came so soon
after a change that another change might hide behind it. Blocking; what logs say after their first
lines is nothing of its. Source: issue "instant at ten thousand sessions", 2.
"""

import os
import time
from collections.abc import Mapping

import msgspec

from sessionref.sessions.folders import Contents, Log, contents
from sessionref.sessions.header import FirstLine
from sessionref.sessions.logfile import read_error
from sessionref.sessions.model import Listing, ReadError
from sessionref.sessions.paths import Key
from sessionref.sessions.root import Root
from sessionref.sessions.stamps import Stamp, identity, moment
from sessionref.sessions.stop import Stop
from sessionref.sessions.survey import Survey


class SeenLog(msgspec.Struct, frozen=True, gc=False):
    """A log as a walk saw it."""

    log: Log
    stamp: Stamp
    first: FirstLine | ReadError


class SeenFolder(msgspec.Struct, frozen=True, gc=False):
    """A session folder as a walk saw it."""

    stamp: Stamp
    contents: Contents
    log: Log | None


class Sight(msgspec.Struct, frozen=True):
    """What one walk saw."""

    began: float
    """When, by the monotonic clock: later changes need not be in it."""
    took: float
    """Seconds."""
    listing: Listing
    folders: Mapping[Key, SeenFolder]
    logs: Mapping[str, SeenLog]
    """By path."""


class Walker:
    """Walks through one root, again and again, one walk at a time."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._folders: Mapping[Key, SeenFolder] = {}
        self._logs: Mapping[str, SeenLog] = {}
        self._survey: Survey | None = None
        self._listing = Listing(entries=())

    def remember(self, folders: Mapping[Key, SeenFolder], logs: Mapping[str, SeenLog]) -> None:
        """Begin with what an earlier process saw."""
        self._folders, self._logs = folders, logs

    def so_far(self) -> Listing:
        """What the walk that is under way has found, if there is one. For any thread."""
        survey = self._survey
        if survey is None:
            return Listing(entries=(), is_complete=False)
        return survey.listing(is_complete=False)

    def walk(self, stop: Stop) -> Sight:
        """Look through the whole root. Raises `StoppedError`."""
        began = time.monotonic()
        walk = _Walk(self._root, self._folders, self._logs, stop)
        self._survey = walk.survey
        walk.go()
        self._survey = None
        self._folders, self._logs = walk.folders, walk.logs
        listing = walk.survey.listing()
        if listing != self._listing:
            self._listing = listing  # or else who remembers the one before need not look at it
        took = time.monotonic() - began
        return Sight(began, took, self._listing, walk.folders, walk.logs)


class _Walk:
    """One walk."""

    def __init__(
        self,
        root: Root,
        known_folders: Mapping[Key, SeenFolder],
        known_logs: Mapping[str, SeenLog],
        stop: Stop,
    ) -> None:
        self.survey = Survey(root.path)
        self.folders: dict[Key, SeenFolder] = {}
        self.logs: dict[str, SeenLog] = {}
        self._root = root
        self._known_folders = known_folders
        self._known_logs = known_logs
        self._stop = stop

    def go(self) -> None:
        root = self._root.path
        for project in self.survey.folders(root):
            parent = os.path.join(root, project)
            for folder in self.survey.folders(parent):
                self._stop.check()
                self._visit(project, folder, f"{parent}{os.sep}{folder}")
        for pair in self.survey.conflicts:
            self._root.tell_conflict(*pair)

    def _visit(self, project: str, folder: str, path: str) -> None:
        try:
            seen = self._folder((project, folder), path)
            self.survey.add_strangers(seen.contents.strangers)
            log = seen.log
            if log is None:
                return
            path = log.path
            first = self._log(log).first
        except ReadError as error:
            self.survey.add_problem(path, folder, error)
            return
        if isinstance(first, ReadError):
            self.survey.add_problem(path, folder, first)
        else:
            self.survey.add(first, log)

    def _folder(self, key: Key, path: str) -> SeenFolder:
        known = self._known_folders.get(key)
        looked_at = moment()
        try:
            found = identity(os.lstat(path))
        except FileNotFoundError:
            raise ReadError("not_found", "there is no such folder", path=path) from None
        except OSError as error:
            raise read_error(error, path) from error
        if known is None or not known.stamp.holds(found):
            inside = contents(path)
            log = self._root.log_in(path, key, inside)
            if known is not None and known.log == log:
                log = known.log
            known = SeenFolder(Stamp.of(found, looked_at), inside, log)
        self.folders[key] = known
        return known

    def _log(self, log: Log) -> SeenLog:
        known = self._known_logs.get(log.path)
        looked_at = moment()
        try:
            found = identity(os.stat(log.path))
        except OSError as error:
            raise read_error(error, log.path) from error
        if known is None or known.log is not log or not known.stamp.holds(found):
            known = SeenLog(log, Stamp.of(found, looked_at), self._first_line(log))
        if not isinstance(known.first, ReadError) or not known.first.may_pass:
            self.logs[log.path] = known
        return known

    def _first_line(self, log: Log) -> FirstLine | ReadError:
        try:
            return self._root.first_line(log, self._stop)
        except ReadError as error:
            return error.alone()
