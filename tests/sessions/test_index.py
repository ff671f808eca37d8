"""The index file alone: what comes back, what does not, and all that may be wrong with it."""

import builtins
import logging
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sessionref.sessions import index as index_module
from sessionref.sessions.index import FILE, Index, Record

ROOT = "/home/x/.dsh/sessions"
A, B = ("--w--", "a"), ("--w--", "b")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def another(folder: Path) -> Iterator[Callable[[], Index]]:
    """Makes the index of a further process."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(Index(str(folder))))


@pytest.fixture
def index(another: Callable[[], Index]) -> Index:
    return another()


def save(index: Index, *records: Record, root: str = ROOT) -> bool:
    return index.save(root, records, ())


def load(index: Index, root: str = ROOT) -> dict[tuple[str, str], bytes] | None:
    rows = index.load(root)
    return None if rows is None else dict(rows)


@contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The file, as another program opens it."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        yield database


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_rows_come_back_in_the_same_process_and_in_the_next(
    index: Index, another: Callable[[], Index]
) -> None:
    assert load(index) == {}
    assert save(index, Record(A, b"row a", b"rest a"), Record(B, b"row b", None))
    for again in (index, another()):
        assert load(again) == {A: b"row a", B: b"row b"}
        assert (again.rest(ROOT, A), again.rest(ROOT, B)) == (b"rest a", None)
        assert again.rest(ROOT, ("--w--", "c")) is None


def test_a_rest_stays_until_it_is_replaced(index: Index) -> None:
    save(index, Record(A, b"1", b"rest"))
    save(index, Record(A, b"2", None))
    assert (load(index), index.rest(ROOT, A)) == ({A: b"2"}, b"rest")
    save(index, Record(A, b"3", b"other"))
    assert index.rest(ROOT, A) == b"other"
    save(index, Record(A, b"4", b""))
    assert not index.rest(ROOT, A)


def test_roots_have_nothing_to_do_with_each_other(index: Index) -> None:
    other = "/r\udcff\u00e9"
    save(index, Record(A, b"mine", None))
    save(index, Record(A, b"other", b"rest"), root=other)
    assert (load(index), load(index, other)) == ({A: b"mine"}, {A: b"other"})
    index.save(other, (), (A,))
    assert (load(index), load(index, other)) == ({A: b"mine"}, {})


def test_a_root_that_nobody_uses_is_forgotten(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = index_module.time.time()
    save(index, Record(A, b"row", None))
    for days, expected in ((59, {A: b"row"}), (61, {})):
        monkeypatch.setattr(index_module.time, "time", lambda days=days: real + days * 86_400)
        save(index, root="/other")
        assert load(index) == expected


def test_what_is_gone_can_not_be_read_in_the_file(folder: Path, index: Index) -> None:
    save(index, Record(A, b"an embarrassing title" * 10, b"x"), Record(B, b"row", None))
    index.save(ROOT, (), (A,))
    index.close()
    assert b"embarrassing" not in (folder / FILE).read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes")
def test_nobody_else_can_read_it(folder: Path, index: Index) -> None:
    save(index, Record(A, b"row", None))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(files) == {FILE, FILE + "-wal", FILE + "-shm"}
    assert set(files.values()) == {0o600}


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes")
def test_what_was_open_to_others_is_closed(folder: Path, another: Callable[[], Index]) -> None:
    save(another(), Record(A, b"row", None))
    folder.chmod(0o755)
    (folder / FILE).chmod(0o644)
    assert load(another()) == {A: b"row"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600


# Whatever is wrong


def flip_bytes(folder: Path) -> None:
    path = folder / FILE
    data = bytearray(path.read_bytes())
    for at in range(4096, len(data), 7):
        data[at] ^= 0x20
    path.write_bytes(data)


def garble(folder: Path) -> None:
    (folder / FILE).write_bytes(b"this is no database " * 500)


def cut(folder: Path) -> None:
    os.truncate(folder / FILE, 5000)


def empty(folder: Path) -> None:
    os.truncate(folder / FILE, 0)


def drop_table(folder: Path) -> None:
    with opened(folder) as database:
        database.execute("DROP TABLE logs")


def make_older(folder: Path) -> None:
    with opened(folder) as database:
        database.execute("ALTER TABLE logs RENAME TO other")
        database.execute("PRAGMA user_version = 0")


def remove(folder: Path) -> None:
    (folder / FILE).unlink()


DAMAGES = [flip_bytes, garble, cut, empty, drop_table, make_older, remove]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_anew(
    folder: Path, another: Callable[[], Index], damage: Callable[[Path], None]
) -> None:
    before = another()
    save(before, *(Record(("p", f"s{n}"), b"row" * 50, b"rest") for n in range(200)))
    before.close()
    damage(folder)
    after = another()
    found = load(after) or {}
    assert set(found.values()) <= {b"row" * 50}
    assert save(after, Record(A, b"row", b"rest"))
    assert (load(after) or {})[A] == b"row"
    assert after.is_used


def test_a_row_that_is_not_as_it_was_does_not_come_back(folder: Path, index: Index) -> None:
    save(index, Record(A, b"a title", b"rest"), Record(B, b"b title", b"rest"))
    with opened(folder) as database:
        database.execute("UPDATE logs SET row = ?, rest = 'rest' WHERE folder = 'a'", (b"A title",))
        database.execute("UPDATE logs SET row_print = 'x' WHERE folder = 'b'")
    assert load(index) == {}
    assert (index.rest(ROOT, A), index.rest(ROOT, B)) == (None, b"rest")


def test_a_newer_file_is_left_alone(
    folder: Path, another: Callable[[], Index], caplog: pytest.LogCaptureFixture
) -> None:
    first = another()
    save(first, Record(A, b"row", None))
    first.close()
    with opened(folder) as database:
        database.execute("PRAGMA user_version = 99")
    before = (folder / FILE).read_bytes()
    index = another()
    assert (load(index), save(index, Record(A, b"new", None))) == (None, False)
    assert not index.is_used
    assert (folder / FILE).read_bytes() == before
    (warning,) = warnings_of(caplog)
    assert "later version" in warning


def test_a_file_that_somebody_holds_is_done_without_until_it_is_free(
    folder: Path, index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    save(index, Record(A, b"row", None))
    with opened(folder) as database:
        database.execute("BEGIN EXCLUSIVE")
        assert not save(index, Record(B, b"row", None))
        assert not save(index, Record(B, b"row", None))
        assert load(index) == {A: b"row"}
        assert index.is_used
    assert save(index, Record(B, b"row", None))
    (warning,) = warnings_of(caplog)
    assert "locked" in warning


def test_a_file_that_somebody_holds_alone_can_not_be_read(folder: Path, index: Index) -> None:
    save(index, Record(A, b"row", None))
    index.close()
    with opened(folder) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        assert load(index) is None
        assert index.is_used
    assert load(index) == {A: b"row"}


def test_a_full_disk_is_told_once_and_not_tried_again(
    another: Callable[[], Index], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = index_module._prepare

    def prepare(database: sqlite3.Connection) -> None:
        real(database)
        database.execute("PRAGMA max_page_count = 10")

    monkeypatch.setattr(index_module, "_prepare", prepare)
    index = another()
    assert save(index, Record(A, b"row", None))
    for _ in range(2):
        assert not save(index, Record(B, b"x" * 100_000, None))
    assert (index.is_used, load(index), len(warnings_of(caplog))) == (False, None, 1)
    monkeypatch.undo()
    assert load(another()) == {A: b"row"}


def test_a_folder_that_can_not_be_written_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    index = Index(str(tmp_path / "file" / "cache"))
    assert (load(index), save(index), index.rest(ROOT, A)) == (None, False, None)
    assert not index.is_used
    assert len(warnings_of(caplog)) == 1


@pytest.mark.parametrize("error", [ImportError("no sqlite3 here"), OSError(24, "too many files")])
def test_without_sqlite_nothing_is_remembered(
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "sqlite3":
            raise error
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    index = Index(str(folder))
    assert (load(index), save(index), index.rest(ROOT, A)) == (None, False, None)
    assert not index.is_used
    assert len(warnings_of(caplog)) == 1


def test_a_file_that_is_removed_while_it_is_used_is_made_again(
    another: Callable[[], Index], folder: Path, index: Index
) -> None:
    save(index, Record(A, b"row", None))
    epoch = index.epoch
    for path in folder.iterdir():
        path.unlink()
    assert load(index) == {}
    assert index.epoch > epoch
    assert save(index, Record(B, b"row", None))
    assert load(another()) == {B: b"row"}


def test_two_processes_may_use_it_at_once(index: Index, another: Callable[[], Index]) -> None:
    other = another()
    for turn in range(20):
        writer, reader = (index, other) if turn % 2 else (other, index)
        assert save(writer, Record(A, b"%d" % turn, b"%d" % turn))
        assert load(reader) == {A: b"%d" % turn}
        assert reader.rest(ROOT, A) == b"%d" % turn
    other.close()
    assert load(index) == {A: b"19"}


# Hostile places


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
@pytest.mark.parametrize("place", ["file", "folder", "dangling"])
def test_no_symbolic_link_is_followed(
    another: Callable[[], Index],
    tmp_path: Path,
    folder: Path,
    place: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    victim = tmp_path / "victim"
    if place == "folder":
        victim.mkdir()
        folder.symlink_to(victim)
    else:
        folder.mkdir()
        if place == "file":
            victim.write_bytes(b"precious")
        (folder / FILE).symlink_to(victim)
    index = another()
    assert (load(index), save(index, Record(A, b"row", None))) == (None, False)
    assert len(warnings_of(caplog)) == 1
    if place == "folder":
        assert list(victim.iterdir()) == []
    else:
        assert victim.exists() == (place == "file")
        assert place == "dangling" or victim.read_bytes() == b"precious"


@pytest.mark.skipif(os.name == "nt", reason="there are no owners")
def test_a_folder_of_somebody_else_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(mode=0o700)
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    index = Index(str(folder))
    assert not save(index, Record(A, b"row", None))
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes")
def test_a_folder_for_everybody_stays_for_everybody(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    assert not save(Index(str(shared)), Record(A, b"row", None))
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777 & 0o777 | 0o1000
    assert list(shared.iterdir()) == []


def test_what_is_no_file_is_not_used(folder: Path) -> None:
    (folder / FILE).mkdir(parents=True)
    assert not save(Index(str(folder)), Record(A, b"row", None))
