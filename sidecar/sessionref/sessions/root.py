"""A session root on disk, blocking: where one session of it is, and what its log says.

What is looked for where; what a log says is `log`'s concern, and which sessions there are at all
is found by `walk`. Only real folders and regular files count, and nothing is ever written, created
or locked. Source: the log format, section 1; the contract, section 3; the native corners 27, 28
and 34 to 37, with our differences.
"""

import logging
import os
from collections.abc import Generator
from functools import partial
from typing import Final, NamedTuple

import msgspec

from sessionref.config import KIB, Limits
from sessionref.sessions.child import LostError
from sessionref.sessions.folders import Contents, Log, children, contents, is_folder, log_in
from sessionref.sessions.frames import STEP, Block, good_end, plain_blocks, zstd_blocks
from sessionref.sessions.header import FirstLine
from sessionref.sessions.log import LogReader, Pause, read_first_line, read_on, salvage_log
from sessionref.sessions.logfile import LogFile, open_log
from sessionref.sessions.model import Entry, Header, ReadError, Reading
from sessionref.sessions.paths import Key, encode_segment
from sessionref.sessions.stamps import Identity, Stamp, identity, may_have_grown, print_of
from sessionref.sessions.state import FoldState
from sessionref.sessions.stop import Stop
from sessionref.sessions.survey import Survey
from sessionref.sessions.turns import Turns
from sessionref.sessions.unpacker import Part, is_worth_it, unpacked

_log: Final = logging.getLogger(__name__)

_HEADER_STEP: Final = 4 * KIB
"""A header takes little, and a listing reads very many."""


class Start(NamedTuple):
    """Where reading a log can go on, if its file only grew and still begins with what was read."""

    pause: Pause
    print: int
    """Of the bytes before the pause."""
    identity: Identity
    """Of the file, when it was read."""


class Taken(msgspec.Struct, frozen=True):
    """A consistent reading of a log, and what is needed to take the next one."""

    stamp: Stamp
    """Of the file that was read."""
    reading: Reading
    start: Start | None
    """None after damage."""

    def adds_nothing_to(self, earlier: "Taken") -> bool:
        """Whether all that there is was read then, too."""
        now, then = self.start, earlier.start
        return (
            now is not None
            and then is not None
            and now.identity == then.identity
            and now.print == then.print
            and now.pause.position == then.pause.position == self.stamp.size
        )


class Root:
    """One session root. Its methods block, and raise `StoppedError` when their `Stop` is set."""

    def __init__(
        self,
        path: str,
        limits: Limits,
        *,
        openings: bool = False,
        alone: bool = False,
        turns: Turns | None = None,
    ) -> None:
        """`openings`: the first words of first prompts are wanted, too.

        `alone`: no other process is to help with large logs. `turns`: shared with other roots.
        """
        self.path = path
        self.openings = openings
        self.limits = limits
        self._alone = alone
        self.turns = turns or Turns()
        self._told: set[tuple[str, str]] = set()

    def problem(self) -> str | None:
        """What is wrong with the root itself, for people; None where it can be listed."""
        try:
            children(self.path)
        except ReadError as error:
            return "there is no such folder" if error.cause == "not_found" else error.reason
        return None

    def find(self, session_id: str, stop: Stop) -> tuple[Log, Identity | None]:
        """The log of a session, and which file it is, if that can be told. Raises `ReadError`.

        `not_found` where there is none. The disk is asked, whatever is remembered.
        """
        logs = self._logs_of(session_id)
        if len(logs) > 1:
            logs = self._own_logs(logs, stop)
        if not logs:
            raise ReadError("not_found", "there is no such session")
        if len(logs) > 1:
            self.tell_conflict(logs[0].path, logs[1].path)
            rivals = tuple(log.path for log in logs)
            reason = "the session is in several projects"
            raise ReadError("conflict", reason, path=rivals[0], rivals=rivals)
        try:
            return logs[0], identity(os.stat(logs[0].path))
        except OSError:
            return logs[0], None

    def entry(self, session_id: str, stop: Stop) -> Entry:
        """What a listing says of one session. Raises `ReadError`; `not_found` where there is none.

        Only headers are read, and only of the logs that may be its own.
        """
        survey = Survey(self.path)
        for log in self._logs_of(session_id):
            survey.add(self.first_line(log, stop), log)
        for entry in survey.listing().entries:
            return entry
        raise ReadError("not_found", "there is no such session")

    def first_line(self, log: Log, stop: Stop) -> FirstLine:
        """The header of a log. Raises `ReadError`."""
        with open_log(log.path, stop, self.limits.max_read_seconds) as file:
            blocks = self._blocks(log, file, step=_HEADER_STEP, singly=True)
            return read_first_line(blocks, log.place)

    def take(
        self, log: Log, stop: Stop, start: Start | None = None, *, salvage: bool = False
    ) -> Taken:
        """A consistent reading. Retried once where the log was replaced in the meantime.

        It goes on from `start` where that is still possible. With `salvage` a damaged log is read
        up to its damage. Raises `ReadError`.
        """
        if log.conflict is not None:
            raise log.conflict
        try:
            return self._take_consistently(log, stop, start, salvage=salvage)
        finally:
            self.turns.leave(stop)

    def _take_consistently(
        self, log: Log, stop: Stop, start: Start | None, *, salvage: bool
    ) -> Taken:
        tries = 2
        while tries:
            tries -= 1
            failure: ReadError | None = None
            with open_log(log.path, stop, self.limits.max_read_seconds) as file:
                try:
                    taken = self._take(log, file, start)
                except LostError:
                    self._alone = True  # whatever ended the process would end the next one, too
                    tries += 1
                    continue
                except ReadError as error:
                    failure = error.alone()  # nor what was read until then
                    failure.path = log.path
                if file.changed():
                    continue
                if failure is None:
                    return taken
                if salvage and failure.cause == "corrupt" and not file.is_out_of_time:
                    return Taken(file.stamp, self._salvage(log, file, failure), None)
                raise failure
        raise ReadError("changed", "the log changes while it is read", path=log.path)

    def log_in(self, path: str, key: Key, found: Contents) -> Log | None:
        """The log in the session folder `key`, which is at `path`."""
        log = log_in(path, key, found)
        if log is not None and log.conflict is not None:
            self.tell_conflict(*log.conflict.rivals[:2])
        return log

    def tell_conflict(self, one: str, other: str) -> None:
        """Name two logs that claim to be one session, once in the life of the process."""
        if (one, other) not in self._told:
            self._told.add((one, other))
            _log.warning("Two logs of one session: %s and %s", one, other)

    def reader(
        self, log: Log, *, header: Header, state: FoldState, opening: str | None
    ) -> LogReader:
        """A reader that goes on where another one paused. What was said before that is lost."""
        limit = self.limits.max_record_bytes
        return LogReader.resumed(log.place, limit, header, state, opening)

    def _logs_of(self, session_id: str) -> list[Log]:
        """The logs in every folder that is spelled like the session, in whichever project."""
        if not session_id:
            return []
        folder = encode_segment(session_id)
        logs: list[Log] = []
        hidden: ReadError | None = None
        for project in children(self.path, missing_ok=True)[0]:
            path = os.path.join(self.path, project, folder)
            try:
                if is_folder(path):
                    log = self.log_in(path, (project, folder), contents(path))
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
                self.first_line(log, stop)
                own.append(log)
            except ReadError as error:
                failure = error
        if failure is not None and not own:
            raise failure
        return own

    def _take(self, log: Log, file: LogFile, start: Start | None) -> Taken:
        printed = file.print()

        def print_before(position: int) -> int:
            return printed if position == file.size else print_of(file.read, position)

        opening = "" if self.openings else None
        pause = Pause(LogReader(log.place, self.limits.max_record_bytes, opening=opening), 0)
        if start is not None and may_have_grown(start.identity, file.stamp.identity):
            position = start.pause.position
            if print_before(position) == start.print:
                pause = start.pause
        blocks = self._blocks(log, file, start=pause.position)
        reading, pause = read_on(blocks, pause, partial(self.turns.weigh, file.stop))
        start = Start(pause, print_before(pause.position), file.stamp.identity)
        return Taken(file.stamp, reading, start)

    def _salvage(self, log: Log, file: LogFile, failure: ReadError) -> Reading:
        """What precedes the damage for which reading failed."""
        weigh = partial(self.turns.weigh, file.stop)
        end = file.size
        if log.place.name.compressed:
            end = good_end(self._blocks(log, file, singly=True), weigh)
        blocks = self._blocks(log, file, end=end, singly=True)
        try:
            return salvage_log(blocks, log.place, self.limits.max_record_bytes, weigh)
        except ReadError:
            raise failure from None  # there is nothing to be had

    def _blocks(
        self,
        log: Log,
        file: LogFile,
        *,
        start: int = 0,
        end: int | None = None,
        step: int = STEP,
        singly: bool = False,
    ) -> Generator[Block, None, None]:
        """The blocks of a log from `start`, up to `end`, whose own ends are counted from there.

        Raises `LostError` where another process helped, and was lost.
        """

        def read(offset: int, size: int) -> bytes:
            return file.read(start + offset, size)

        size = (file.size if end is None else end) - start
        if log.place.name.compressed:
            window = self.limits.max_zstd_window_bytes
            blocks = zstd_blocks(read, size, window, step=step, singly=singly)
            seconds = self.limits.max_read_seconds
            part = Part(log.path, file.inode, start, size, window, seconds)
            if not (self._alone or singly) and is_worth_it(part):
                blocks = unpacked(part, blocks)
        else:
            blocks = plain_blocks(read, size, step=step)
        for block in blocks:
            file.check()  # a little input may expand to very many blocks
            yield block
