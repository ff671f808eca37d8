"""A DSH session root on disk, blocking: which sessions it has, and what one of them says.

What is looked for where; what a log says is `log`'s concern. Only real folders and regular files
count, and nothing is ever written, created or locked. Every session stands for itself: what is
wrong with one is its own problem. Source: the log format, section 1; the contract, section 3; the
native corners 27, 28 and 34 to 37, with our differences.
"""

import errno
import logging
import os
import stat
from collections.abc import Iterator
from typing import Final

import msgspec

from sessionref.config import KIB, Limits
from sessionref.sessions.frames import STEP, Block, good_end, plain_blocks, zstd_blocks
from sessionref.sessions.header import FirstLine
from sessionref.sessions.home import archived_sessions
from sessionref.sessions.log import Place, read_first_line, read_log, salvage_log
from sessionref.sessions.logfile import LogFile, open_log, read_error
from sessionref.sessions.model import Entry, Listing, Problem, ReadError, Reading
from sessionref.sessions.paths import decode_segment, encode_segment, parse_log_name
from sessionref.sessions.workers import Stop

_log: Final = logging.getLogger(__name__)

_HEADER_STEP: Final = 4 * KIB
"""A header takes little, and a listing reads very many."""

_LOCK: Final = "session.lock"
"""Held by a writer: no log, and no stranger either."""


_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
"""What the system says of a path that no session can have here."""


class Log(msgspec.Struct, frozen=True):
    """The log of a session folder: the one of the highest generation in it."""

    path: str
    place: Place
    conflict: ReadError | None
    """Set where the folder has logs of both encodings, of which neither is to be preferred."""


class Root:
    """One session root. Its methods block, and raise `StoppedError` when their `Stop` is set."""

    def __init__(self, path: str, limits: Limits) -> None:
        self.path = path
        self._limits = limits
        self._told: set[tuple[str, str]] = set()

    def problem(self) -> str | None:
        """What is wrong with the root itself, for people; None where it can be listed."""
        try:
            _children(self.path)
        except ReadError as error:
            return "there is no such folder" if error.cause == "not_found" else error.reason
        return None

    def sessions(self, stop: Stop) -> Listing:
        """Every session whose header can be read, and what else is in the place of one."""
        survey = _Survey(self.path)
        for project in survey.folders(self.path):
            for folder in survey.folders(os.path.join(self.path, project)):
                stop.check()
                self._visit(survey, project, folder, stop)
        for pair in survey.conflicts:
            self._tell_conflict(*pair)
        return survey.listing()

    def read(self, session_id: str, stop: Stop, *, salvage: bool = False) -> Reading:
        """One session, whole; with `salvage` a damaged one up to its damage. Raises `ReadError`.

        `not_found` where there is none.
        """
        logs = self._logs_of(session_id)
        if len(logs) > 1:
            logs = self._own_logs(logs, stop)
        if not logs:
            raise ReadError("not_found", "there is no such session")
        if len(logs) > 1:
            self._tell_conflict(logs[0].path, logs[1].path)
            rivals = tuple(log.path for log in logs)
            reason = "the session is in several projects"
            raise ReadError("conflict", reason, path=rivals[0], rivals=rivals)
        return self._read_log(logs[0], stop, salvage=salvage)

    def entry(self, session_id: str, stop: Stop) -> Entry:
        """What a listing says of one session. Raises `ReadError`; `not_found` where there is none.

        Only headers are read, and only of the logs that may be its own.
        """
        survey = _Survey(self.path)
        for log in self._logs_of(session_id):
            survey.add(self._first_line(log, stop), log)
        for entry in survey.listing().entries:
            return entry
        raise ReadError("not_found", "there is no such session")

    def _visit(self, survey: "_Survey", project: str, folder: str, stop: Stop) -> None:
        """Look at one session folder."""
        path = os.path.join(self.path, project, folder)
        try:
            log, strangers = self._log_in(project, folder)
            survey.strangers += strangers
            if log is not None:
                path = log.path
                survey.add(self._first_line(log, stop), log)
        except ReadError as error:
            survey.problems.append(
                Problem(path=path, error=error, session_id=decode_segment(folder))
            )

    def _tell_conflict(self, one: str, other: str) -> None:
        """Name two logs that claim to be one session, once in the life of the process."""
        if (one, other) not in self._told:
            self._told.add((one, other))
            _log.warning("Two logs of one session: %s and %s", one, other)

    def _logs_of(self, session_id: str) -> list[Log]:
        """The logs in every folder that is spelled like the session, in whichever project."""
        if not session_id:
            return []
        folder = encode_segment(session_id)
        logs: list[Log] = []
        hidden: ReadError | None = None
        for project in _children(self.path, missing_ok=True)[0]:
            try:
                if _is_folder(os.path.join(self.path, project, folder)):
                    log, _ = self._log_in(project, folder)
                    logs += [] if log is None else [log]
            except ReadError as error:
                hidden = error
        if hidden is not None and not logs:
            raise hidden
        return logs

    def _own_logs(self, logs: list[Log], stop: Stop) -> list[Log]:
        """Those whose headers name their own place. If none does, what is wrong with one."""
        own: list[Log] = []
        failure: ReadError | None = None
        for log in logs:
            try:
                self._first_line(log, stop)
                own.append(log)
            except ReadError as error:
                failure = error
        if failure is not None and not own:
            raise failure
        return own

    def _log_in(self, project: str, folder: str) -> tuple[Log | None, int]:
        """The log in a session folder, if any, and how many strangers there are."""
        parent = os.path.join(self.path, project, folder)
        folders, others = _children(parent)
        names = [parsed for name in (*folders, *others) if (parsed := parse_log_name(name))]
        strangers = sum(parse_log_name(name) is None and name != _LOCK for name in others)
        if not names:
            return None, strangers
        name = max(names, key=lambda name: (name.generation, name.compressed))
        path = os.path.join(parent, name.text)
        conflict = None
        if len({name.compressed for name in names}) > 1:
            rivals = tuple(sorted(os.path.join(parent, each.text) for each in names))
            self._tell_conflict(*rivals[:2])
            reason = "the session has logs of both encodings"
            conflict = ReadError("conflict", reason, path=path, rivals=rivals)
        return Log(path, Place(project, folder, name), conflict), strangers

    def _first_line(self, log: Log, stop: Stop) -> FirstLine:
        with open_log(log.path, stop) as file:
            blocks = self._blocks(log, file, step=_HEADER_STEP, singly=True)
            return read_first_line(blocks, log.place)

    def _read_log(self, log: Log, stop: Stop, *, salvage: bool) -> Reading:
        """A consistent reading. Retried once where the log was replaced in the meantime."""
        if log.conflict is not None:
            raise log.conflict
        for _ in range(2):
            with open_log(log.path, stop) as file:
                try:
                    blocks = self._blocks(log, file)
                    reading = read_log(blocks, log.place, self._limits.max_record_bytes)
                except ReadError as error:
                    error.path = log.path
                    if not file.changed():
                        if salvage and error.cause == "corrupt":
                            return self._salvage(log, file)
                        raise
                else:
                    if not file.changed():
                        return reading
        raise ReadError("changed", "the log changes while it is read", path=log.path)

    def _salvage(self, log: Log, file: LogFile) -> Reading:
        size, limits = file.size, self._limits
        if log.place.name.compressed:
            size = good_end(file.read, size, limits.max_zstd_window_bytes)
            blocks = zstd_blocks(file.read, size, limits.max_zstd_window_bytes)
        else:
            blocks = plain_blocks(file.read, size)
        return salvage_log(blocks, log.place, limits.max_record_bytes)

    def _blocks(
        self, log: Log, file: LogFile, *, step: int = STEP, singly: bool = False
    ) -> Iterator[Block]:
        if log.place.name.compressed:
            window = self._limits.max_zstd_window_bytes
            blocks = zstd_blocks(file.read, file.size, window, step=step, singly=singly)
        else:
            blocks = plain_blocks(file.read, file.size, step=step)
        for block in blocks:
            file.stop.check()  # a little input may expand to very many blocks
            yield block


class _Survey:
    """What a listing has found so far."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._archived = archived_sessions(root)
        self._entries: dict[str, Entry] = {}
        self.problems: list[Problem] = []
        self.conflicts: list[tuple[str, str]] = []
        """Pairs of logs that claim to be one session."""
        self.strangers = 0

    def folders(self, path: str) -> list[str]:
        """The real folders in a folder; what else is there is a stranger."""
        try:
            folders, others = _children(path, missing_ok=True)
        except ReadError as error:
            self.problems.append(Problem(path=path, error=error))
            return []
        self.strangers += len(others)
        return folders

    def add(self, first: FirstLine, log: Log) -> None:
        """A session whose header could be read."""
        session_id = first.header.id
        problem = log.conflict or first.problem
        known = self._entries.get(session_id)
        if known is not None:
            problem = ReadError("conflict", "the session is in several projects")
            self.conflicts.append((known.path or "", log.path))
        if known is None:
            archived = None if self._archived is None else session_id in self._archived
            self._entries[session_id] = Entry(
                header=first.header,
                store=self._root,
                path=log.path,
                encoding="zstd" if log.place.name.compressed else "none",
                archived=archived,
                problem=problem,
            )
        else:
            self._entries[session_id] = msgspec.structs.replace(known, problem=problem)

    def listing(self) -> Listing:
        """All of it."""
        return Listing(
            entries=tuple(self._entries.values()),
            problems=tuple(self.problems),
            strangers=self.strangers,
        )


def _children(path: str, *, missing_ok: bool = False) -> tuple[list[str], list[str]]:
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


def _is_folder(path: str) -> bool:
    """Whether there is a real folder. Raises `ReadError` where that can't be told."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise read_error(error, path) from error
