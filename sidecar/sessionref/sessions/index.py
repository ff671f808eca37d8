"""What was remembered of logs, in a SQLite file of the user: rows of bytes by root and folder.

A hint that may go away at any time: whatever is wrong with the file, its folder, its disk, or with
somebody else who holds it, nothing is remembered, the log says so once, and nobody has to care. A
row that does not come back as it went in does not come back at all. Several processes may use one
file. Blocking, for any thread, never longer than a lock is waited for. This module knows not what
is in a row. Source: issue "instant at ten thousand sessions", 1.
"""

import logging
import os
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from sessionref.sessions.cachefolder import COMPANIONS, private_file
from sessionref.sessions.paths import Key

if TYPE_CHECKING:  # importing it takes a while, and nobody may ever ask for a session
    import sqlite3

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

FILE: Final = "index.sqlite3"

_VERSION: Final = 2
"""Of the tables and of what is in the rows; an older file is emptied, a newer one is left alone."""

_BUSY_SECONDS: Final = 0.1
_UNUSED_DAYS: Final = 60
"""Roots that nobody asked for so long are forgotten."""

_TABLES: Final = (
    "CREATE TABLE roots (root BLOB PRIMARY KEY, used INTEGER)",
    "CREATE TABLE logs (root BLOB, project TEXT, folder TEXT,"
    " row BLOB, row_print INTEGER, rest BLOB, rest_print INTEGER,"
    " PRIMARY KEY (root, project, folder))",
)
_SELECT_ROWS: Final = "SELECT project, folder, row, row_print FROM logs WHERE root = ?"
_SELECT_REST: Final = (
    "SELECT rest, rest_print FROM logs WHERE root = ? AND project = ? AND folder = ?"
)
_PUT: Final = (
    "INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (root, project, folder) DO UPDATE SET"
    " row = excluded.row, row_print = excluded.row_print, rest = coalesce(excluded.rest, rest),"
    " rest_print = CASE WHEN excluded.rest IS NULL THEN rest_print ELSE excluded.rest_print END"
)
_DELETE: Final = "DELETE FROM logs WHERE root = ? AND project = ? AND folder = ?"

_BUSY: Final = frozenset({5, 6})
_DAMAGED: Final = frozenset({1, 11, 20, 24, 26})
"""Codes of SQLite: generic (a table is missing), corrupt, mismatch, format, not a database."""


class Record(NamedTuple):
    """What is remembered of one log."""

    key: Key
    row: bytes
    rest: bytes | None
    """None where it is as it was, empty where there is none any more."""


class Index:
    """The index file in one folder, opened when it is first needed."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, FILE)
        self.epoch = 0
        """Grows when the file is opened, which is another one then as far as anybody knows."""
        self._folder = folder
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._told: set[str] = set()
        self._given_up = False

    @property
    def is_used(self) -> bool:
        """False once it is known that nothing can be remembered."""
        return not self._given_up

    def load(self, root: str) -> list[tuple[Key, bytes]] | None:
        """All rows of a root; None where they could not be read just now."""
        return self._do(lambda database: _load(database, os.fsencode(root)))

    def rest(self, root: str, key: Key) -> bytes | None:
        """The rest of one log, if there is one."""
        return self._do(lambda database: _rest(database, os.fsencode(root), key))

    def save(self, root: str, records: Collection[Record], gone: Iterable[Key]) -> bool:
        """Put down records, and forget those that are gone. Whether that was possible."""

        def save(database: "sqlite3.Connection") -> bool:
            with _transaction(database):
                _save(database, os.fsencode(root), records, gone)
            return True

        return self._do(save) or False

    def close(self) -> None:
        """No more for now."""
        if self._lock.acquire(timeout=_BUSY_SECONDS):
            try:
                self._disconnect()
            finally:
                self._lock.release()

    def _do(self, action: Callable[["sqlite3.Connection"], T]) -> T | None:
        """The answer of the database; None where it can't be had."""
        if self._given_up or not self._lock.acquire(timeout=_BUSY_SECONDS):
            return None
        try:
            if self._connection is not None and _inode(self.path) != self._inode:
                self._disconnect()  # the file was removed, or another one was put in its place
            return self._try(action)
        finally:
            self._lock.release()

    def _try(self, action: Callable[["sqlite3.Connection"], T]) -> T | None:
        try:
            import sqlite3
        except (ImportError, OSError) as error:  # a build without it, or nothing can be opened
            self._give_up(error)
            return None
        for _ in range(2):
            try:
                if self._connection is None:
                    self._connect()
                assert self._connection is not None
                return action(self._connection)
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", 1) & 0xFF
                if code in _BUSY:
                    self._tell("is locked by another process", error)
                    return None
                self._disconnect()
                if code not in _DAMAGED or not self._remove(error):
                    self._give_up(error)
                    return None
            except (OSError, _NewerError) as error:
                self._give_up(error)
                return None
        self._give_up("damaged again and again")
        return None

    # The file

    def _connect(self) -> None:
        import sqlite3

        path = private_file(self._folder, FILE)
        connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._inode = _inode(path)
        self.epoch += 1

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _remove(self, error: Exception) -> bool:
        """Remove a damaged file. Whether that was possible."""
        self._tell("was damaged and is made anew", error)
        try:
            for companion in ("", *COMPANIONS):
                with suppress(FileNotFoundError):
                    os.remove(self.path + companion)
        except OSError:
            return False
        return True

    def _give_up(self, reason: object) -> None:
        self._disconnect()
        self._given_up = True
        self._tell("is not used", reason)

    def _tell(self, what: str, reason: object) -> None:
        """Say in the log what is the matter, once in the life of the process."""
        if what not in self._told:
            self._told.add(what)
            _log.warning("The index at %s %s: %s", self.path, what, reason)


class _NewerError(Exception):
    """The file is of a later version of this program."""


@contextmanager
def _transaction(database: "sqlite3.Connection") -> Iterator[None]:
    """All or nothing; begins with the lock that writing takes."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _prepare(database: "sqlite3.Connection") -> None:
    """Make the tables, if they are not there yet. Raises `_NewerError`."""
    if _version(database) > _VERSION:
        raise _NewerError("it was made by a later version")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA secure_delete = ON")  # what is forgotten is not to be read in it
    if _version(database) == _VERSION:
        return
    with _transaction(database):
        if _version(database) != _VERSION:  # nobody else was faster
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (table,) in tables.fetchall():
                database.execute(f"DROP TABLE {table}")
            for statement in _TABLES:
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {_VERSION}")


def _version(database: "sqlite3.Connection") -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return int(version)


def _load(database: "sqlite3.Connection", root: bytes) -> list[tuple[Key, bytes]]:
    return [
        ((project, folder), row)
        for project, folder, row, printed in database.execute(_SELECT_ROWS, (root,))
        if _is_sound(project, folder, row, printed)
    ]


def _rest(database: "sqlite3.Connection", root: bytes, key: Key) -> bytes | None:
    for rest, printed in database.execute(_SELECT_REST, (root, *key)):
        if _is_sound(*key, rest, printed):
            return bytes(rest)
    return None


def _save(
    database: "sqlite3.Connection", root: bytes, records: Collection[Record], gone: Iterable[Key]
) -> None:
    rows = [
        (root, *key, row, _printed(*key, row), rest, _printed(*key, rest or b""))
        for key, row, rest in records
    ]
    database.executemany(_PUT, rows)
    database.executemany(_DELETE, [(root, *key) for key in gone])
    today = int(time.time() // 86_400)
    database.execute("INSERT OR REPLACE INTO roots VALUES (?, ?)", (root, today))
    unused = database.execute("DELETE FROM roots WHERE used < ?", (today - _UNUSED_DAYS,))
    if unused.rowcount:
        database.execute("DELETE FROM logs WHERE root NOT IN (SELECT root FROM roots)")


def _printed(project: str, folder: str, row: bytes) -> int:
    return zlib.crc32(row, zlib.crc32(f"{project}/{folder}/".encode()))


def _is_sound(project: object, folder: object, row: object, printed: object) -> bool:
    """Whether a row came back as it went in."""
    match project, folder, row:
        case str(), str(), bytes():
            return _printed(project, folder, row) == printed
    return False
