"""One root on disk: what counts as a session, what is a problem, and what is nobody's business."""

import errno
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from sessionref.config import Limits
from sessionref.sessions.dsh import DshStore
from sessionref.sessions.frames import plain_blocks, zstd_blocks
from sessionref.sessions.model import Listing, ReadError, Reading, RootState, Voice
from sessionref.sessions.workers import Workers
from support.logs import (
    assistant,
    encode,
    frame,
    header,
    line,
    log_name,
    title,
    user,
    write_log,
)

TALK = [user("hello"), assistant("hi"), title("A talk")]


def ask(root: Path, question: Callable[[DshStore], Any]) -> Any:
    async def run() -> Any:
        return await question(DshStore(str(root), Workers(4, 4)))

    return anyio.run(run)


def survey(root: Path) -> Listing:
    listing = ask(root, DshStore.list)
    assert isinstance(listing, Listing)
    return listing


def ids(root: Path) -> list[str]:
    return sorted(entry.header.id for entry in survey(root).entries)


def read(root: Path, session_id: str) -> Reading:
    reading = ask(root, lambda store: store.read(session_id))
    assert isinstance(reading, Reading)
    return reading


def cause(root: Path, session_id: str) -> str:
    with pytest.raises(ReadError) as refused:
        read(root, session_id)
    return refused.value.cause


def problems(root: Path) -> list[tuple[str | None, str]]:
    return [(problem.session_id, problem.error.cause) for problem in survey(root).problems]


def said(reading: Reading) -> list[str]:
    return [node.text for node in reading.nodes if node.voice is not Voice.OTHER]


def spread(log: Path, **changes: Any) -> None:
    """Write the log again with another header."""
    fields = {"session_id": "a", "cwd": "/w", **changes}
    log.write_bytes(encode(header(**fields), TALK))


def test_a_session_is_read_from_where_its_id_and_folder_say(tmp_path: Path) -> None:
    write_log(tmp_path, "a/b é", TALK, cwd="/work here", created_at=5)
    write_log(tmp_path, "plain", TALK, zstd=False)
    assert ids(tmp_path) == ["a/b é", "plain"]
    reading = read(tmp_path, "a/b é")
    assert said(reading) == ["hello", "hi"]
    assert (reading.title, reading.captured_through_seq, reading.degraded) == ("A talk", 2, None)
    assert (reading.header.cwd, reading.header.created_at) == ("/work here", 5)
    assert read(tmp_path, "plain").header.cwd is None


def test_an_id_that_no_folder_has_is_not_found(tmp_path: Path) -> None:
    write_log(tmp_path, "a", TALK)
    for absent in ("b", "", "A", "a~", "~0061", "..", "x" * 300, "\0", "\ud800"):
        assert cause(tmp_path, absent) == "not_found"


def test_a_missing_root_is_an_empty_one_with_a_problem(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert survey(absent) == Listing(entries=())
    assert cause(absent, "a") == "not_found"
    assert ask(absent, DshStore.roots) == (
        RootState(path=str(absent), problem="there is no such folder"),
    )


def test_a_root_that_is_no_folder_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    assert problems(file) == [(None, "io")]
    assert cause(file, "a") == "io"
    (state,) = ask(file, DshStore.roots)
    assert state.sessions is None
    assert state.problem is not None


def test_a_root_counts_its_sessions(tmp_path: Path) -> None:
    write_log(tmp_path, "a", TALK)
    write_log(tmp_path, "b", TALK, cwd="/w")
    (tmp_path / "stranger").write_bytes(b"")
    expected = RootState(path=str(tmp_path), sessions=2, strangers=1)
    assert ask(tmp_path, DshStore.roots) == (expected,)


def test_a_project_that_may_not_be_listed_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_log(tmp_path, "a", TALK, cwd="/secret")
    write_log(tmp_path, "b", TALK, cwd="/w")
    real = os.scandir

    def scandir(path: str) -> Any:
        if path.endswith("--secret--") or "--secret--/" in path:
            raise PermissionError(13, "no")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert ids(tmp_path) == ["b"]
    assert problems(tmp_path) == [(None, "denied")]
    assert said(read(tmp_path, "b")) == ["hello", "hi"]
    assert cause(tmp_path, "a") == "denied"


def test_a_refused_system_call_is_denied_or_io(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_log(tmp_path, "a", TALK)
    for error, expected in ((PermissionError(13, "no"), "denied"), (OSError(5, "bad disk"), "io")):

        def refuse(*_: Any, error: OSError = error) -> int:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            assert problems(tmp_path) == [("a", expected)]
            assert cause(tmp_path, "a") == expected


@pytest.mark.parametrize(
    ("error", "complete"),
    [(errno.EMFILE, False), (errno.ENFILE, False), (errno.EIO, True), (errno.EACCES, True)],
)
@pytest.mark.parametrize("call", ["open", "scandir"])
def test_a_listing_without_the_means_to_look_is_not_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, complete: bool, call: str
) -> None:
    """What is wrong with a disk is no reason to ask again and again."""
    write_log(tmp_path, "a", TALK)

    def refuse(*_: Any) -> Any:
        raise OSError(error, "no")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        listing = ask(tmp_path, DshStore.list)
    assert (listing.entries, listing.is_complete) == ((), complete)


def test_strangers_are_counted_and_otherwise_ignored(tmp_path: Path) -> None:
    log = write_log(tmp_path, "a", TALK, cwd="/w")
    for companion in ("session.lock", "session.v0.jsonl"):
        (log.parent / companion).write_bytes(b"")
    strangers = [
        tmp_path / "session.jsonl",
        log.parent.parent / "flat.jsonl.zstd",
        log.parent.parent / "b",
        log.parent / "session.jsonl.zstd.0a1b2c3d4e5f.tmp",
        log.parent / "session.v01.jsonl",
        log.parent / "session.V1.jsonl",
        log.parent / "session.migration.0123456789abcdef.jsonl.tmp",
    ]
    for stranger in strangers:
        stranger.write_bytes(b"nothing of ours")
    (tmp_path / "empty").mkdir()
    listing = survey(tmp_path)
    assert [entry.header.id for entry in listing.entries] == ["a"]
    assert listing.problems == ()
    assert listing.strangers == len(strangers) + 1  # `session.v0.jsonl` is no log either
    assert cause(tmp_path, "b") == "not_found"


def test_symbolic_links_to_folders_are_ignored_and_to_logs_followed(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    log = write_log(root, "a", TALK, cwd="/w")
    other = write_log(elsewhere, "b", TALK, cwd="/w")
    (root / "--linked--").symlink_to(other.parent.parent)
    (log.parent.parent / "b").symlink_to(other.parent)
    assert ids(root) == ["a"]
    assert survey(root).strangers == 2
    assert cause(root, "b") == "not_found"
    (log.parent.parent / "b").unlink()
    folder = root / "--w--" / "b"
    folder.mkdir()
    (folder / log.name).symlink_to(other)
    assert said(read(root, "b")) == ["hello", "hi"]
    (folder / log.name).unlink()
    (folder / log.name).symlink_to(log)  # the header there names another place
    assert cause(root, "b") == "corrupt"
    (folder / log.name).unlink()
    (folder / log.name).symlink_to(tmp_path / "nowhere")
    assert problems(root) == [("b", "io")]
    assert cause(root, "b") == "io"


def put_folder(path: Path) -> None:
    path.mkdir()


def put_pipe(path: Path) -> None:
    os.mkfifo(path)


def put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def put_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.skipif(os.name == "nt", reason="needs special files")
@pytest.mark.parametrize("put", [put_folder, put_pipe, put_socket, put_device])
def test_only_regular_files_are_read_and_nothing_is_waited_for(
    put: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = write_log(tmp_path, "a", TALK)
    folder = sound.parent.parent / "b"
    folder.mkdir()
    monkeypatch.chdir(folder)  # the path of a socket must be short
    put(Path(sound.name))
    assert ids(tmp_path) == ["a"]
    assert problems(tmp_path) == [("b", "io")]
    assert cause(tmp_path, "b") == "io"


def test_one_id_in_two_projects_is_a_conflict_for_that_id_only(tmp_path: Path) -> None:
    for cwd in ("/w", "/x", None):
        write_log(tmp_path, "a", TALK, cwd=cwd)
    write_log(tmp_path, "b", TALK)
    listing = survey(tmp_path)
    found = {entry.header.id: entry.problem for entry in listing.entries}
    assert len(listing.entries) == 2
    assert found["b"] is None
    assert found["a"] is not None
    assert found["a"].cause == "conflict"
    assert cause(tmp_path, "a") == "conflict"
    assert said(read(tmp_path, "b")) == ["hello", "hi"]


def test_a_stray_copy_does_not_name_its_own_place_and_is_no_conflict(tmp_path: Path) -> None:
    log = write_log(tmp_path, "a", TALK, cwd="/w")
    copy = tmp_path / "--x--" / "a" / log.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(log.read_bytes())
    assert said(read(tmp_path, "a")) == ["hello", "hi"]
    assert [entry.problem for entry in survey(tmp_path).entries] == [None]
    assert problems(tmp_path) == [("a", "corrupt")]


def test_both_encodings_of_a_session_are_a_conflict(tmp_path: Path) -> None:
    log = write_log(tmp_path, "a", TALK)
    (log.parent / log_name(zstd=False, version=3)).write_bytes(b"whatever")
    assert cause(tmp_path, "a") == "conflict"
    write_log(tmp_path, "b", TALK)
    write_log(tmp_path, "b", TALK, zstd=False)
    assert cause(tmp_path, "b") == "conflict"
    (entry,) = survey(tmp_path).entries
    assert entry.problem is not None
    assert entry.problem.cause == "conflict"
    assert problems(tmp_path) == [("a", "corrupt")]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"version": 1}, "unsupported_format"),
        ({"version": -1}, "unsupported_format"),
        ({"version": 0.5}, "unsupported_format"),
        ({"version": 99}, "unsupported_format"),
        ({"version": "0"}, "corrupt"),
        ({"type": "event"}, "corrupt"),
        ({"id": 5}, "corrupt"),
        ({"id": "b"}, "corrupt"),
        ({"createdAt": -1}, "corrupt"),
        ({"createdAt": True}, "corrupt"),
        ({"createdAt": 2**53}, "corrupt"),
        ({"cwd": "/x"}, "corrupt"),
        ({"cwd": 5}, "corrupt"),
        ({"cwd": ""}, "corrupt"),
    ],
)
def test_a_header_must_be_good_and_name_its_own_place(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    spread(write_log(tmp_path, "a", TALK, cwd="/w"), **changes)
    assert cause(tmp_path, "a") == expected
    entries = survey(tmp_path).entries
    if expected == "corrupt":
        assert entries == ()
        assert problems(tmp_path) == [("a", "corrupt")]
    else:
        (entry,) = entries
        assert entry.problem is not None
        assert entry.problem.cause == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 0.0},
        {"createdAt": 1.7e12},
        {"origin": 5, "parentSession": [], "agentPreset": {}, "delegationDepth": "x"},
        {"delegationDepth": -1, "sandboxMode": "off", "seedLength": "x"},
    ],
)
def test_no_other_header_field_matters(changes: dict[str, Any], tmp_path: Path) -> None:
    spread(write_log(tmp_path, "a", TALK, cwd="/w"), **changes)
    (entry,) = survey(tmp_path).entries
    assert entry.problem is None
    header_read = read(tmp_path, "a").header
    assert header_read == entry.header
    assert header_read.origin is None
    assert header_read.delegation_depth in {0, None}


def test_a_working_directory_of_a_wrong_type_counts_as_none(tmp_path: Path) -> None:
    spread(write_log(tmp_path, "a", TALK), cwd=5)
    assert read(tmp_path, "a").header.cwd is None


def test_a_newer_generation_is_read_and_marked(tmp_path: Path) -> None:
    log = write_log(tmp_path, "a", TALK, cwd="/w")
    newer = log.parent / log_name(version=12)
    rows = [*TALK, {"type": "new/node", "data": {}, "surfaceOp": "append"}]
    newer.write_bytes(encode(header("a", cwd="/w", version=12), rows))
    reading = read(tmp_path, "a")
    assert said(reading) == ["hello", "hi"]
    assert [node.seq for node in reading.nodes] == [0, 1, 3]
    assert reading.degraded is not None
    assert (reading.degraded.reason, reading.degraded.version) == ("newer_format", 12)
    rows.append(user("x") | {"surfaceOp": "prepend"})
    newer.write_bytes(encode(header("a", cwd="/w", version=12), rows))
    assert cause(tmp_path, "a") == "unsupported_format"


def test_a_log_with_unknown_events_says_how_many(tmp_path: Path) -> None:
    unknown = {"type": "future/thing", "data": {}}
    write_log(tmp_path, "a", [*TALK, unknown, unknown, unknown | {"ignorable": True}])
    degraded = read(tmp_path, "a").degraded
    assert degraded is not None
    assert (degraded.reason, degraded.count) == ("unknown_events", 2)


def test_a_record_or_a_header_over_its_limit_is_corrupt(tmp_path: Path) -> None:
    write_log(tmp_path, "a", [user("x" * 300_000)], zstd=False)
    write_log(tmp_path, "b", [user("x" * 300_000)])
    spread(write_log(tmp_path, "c", TALK, cwd="/w"), session_id="c", more="x" * 2**20)
    small = Limits(max_record_bytes=200_000)

    async def run() -> None:
        for session_id in ("a", "b"):
            with pytest.raises(ReadError) as refused:
                await DshStore(str(tmp_path), Workers(1, 1), small).read(session_id)
            assert refused.value.cause == "corrupt"

    anyio.run(run)
    assert len(said(read(tmp_path, "a"))[0]) == 300_000
    assert cause(tmp_path, "c") == "corrupt"
    assert ids(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("zstd", [False, True])
def test_reading_a_log_takes_no_longer_than_its_limit(tmp_path: Path, zstd: bool) -> None:
    """Of a processor's time; nor does salvaging it, for which the same time is left."""
    write_log(tmp_path, "a", TALK, zstd=zstd)
    hasty = Limits(max_read_seconds=0)

    async def run() -> None:
        for salvage in (False, True):
            with pytest.raises(ReadError, match="takes longer") as refused:
                await DshStore(str(tmp_path), Workers(1, 1), hasty).read("a", salvage=salvage)
            assert refused.value.cause == "corrupt"

    anyio.run(run)


def test_whole_frames_hold_whole_lines(tmp_path: Path) -> None:
    log = write_log(tmp_path, "a", TALK)
    row = line(user("next") | {"seq": 3, "time": 1})
    whole = log.read_bytes()
    log.write_bytes(whole + frame([row.rstrip(b"\n")]))
    assert cause(tmp_path, "a") == "corrupt"
    log.write_bytes(whole + frame([row]))
    assert said(read(tmp_path, "a")) == ["hello", "hi", "next"]


# Logs that change while they are read


@pytest.fixture
def at_first_block(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], object]]]:
    """What is to happen when the first block of each reading has been read."""
    pending: list[Callable[[], object]] = []

    def blocks(*args: Any, **more: Any) -> Iterator[Any]:
        found = plain_blocks(*args, **more)
        yield next(found)
        if pending:
            pending.pop(0)()
        yield from found

    monkeypatch.setattr("sessionref.sessions.root.plain_blocks", blocks)
    yield pending
    assert not pending


def other_log(path: Path, rows: list[Any]) -> Callable[[], object]:
    """Replaces the log at once, as a migration does."""

    def replace() -> None:
        new = path.with_name("new.tmp")
        new.write_bytes(encode(header("a"), rows, zstd=False))
        os.replace(new, path)

    return replace


def test_what_is_appended_while_reading_is_left_for_the_next_time(
    tmp_path: Path, at_first_block: list[Callable[[], object]]
) -> None:
    log = write_log(tmp_path, "a", TALK, zstd=False)

    def append() -> None:
        with log.open("ab") as file:
            file.write(b'{"type":"todo/write","seq":3,"time":1,"data":{}}\n')

    at_first_block.append(append)
    assert read(tmp_path, "a").captured_through_seq == 2
    assert read(tmp_path, "a").captured_through_seq == 3


def test_a_log_that_was_replaced_while_it_was_read_is_read_again(
    tmp_path: Path, at_first_block: list[Callable[[], object]]
) -> None:
    log = write_log(tmp_path, "a", TALK, zstd=False)
    at_first_block.append(other_log(log, [user("new")]))
    assert said(read(tmp_path, "a")) == ["new"]


def test_a_log_that_is_replaced_again_and_again_has_changed(
    tmp_path: Path, at_first_block: list[Callable[[], object]]
) -> None:
    log = write_log(tmp_path, "a", TALK, zstd=False)
    at_first_block += [other_log(log, [user("new")]), other_log(log, [user("newer")])]
    assert cause(tmp_path, "a") == "changed"


def test_a_log_that_became_shorter_has_changed(
    tmp_path: Path, at_first_block: list[Callable[[], object]]
) -> None:
    log = write_log(tmp_path, "a", [user("x" * 2**19), *TALK[1:]], zstd=False)
    at_first_block += [lambda: os.truncate(log, 2**18), lambda: os.truncate(log, 2**10)]
    assert cause(tmp_path, "a") == "changed"


def test_deleting_a_log_does_not_change_what_it_said(
    tmp_path: Path, at_first_block: list[Callable[[], object]]
) -> None:
    log = write_log(tmp_path, "a", TALK, zstd=False)
    at_first_block.append(log.unlink)
    assert said(read(tmp_path, "a")) == ["hello", "hi"]


def test_reading_writes_nothing(tmp_path: Path) -> None:
    write_log(tmp_path, "a", TALK)
    before = {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]}
    survey(tmp_path)
    read(tmp_path, "a")
    assert {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]} == before


def test_a_read_that_nobody_waits_for_ends_soon(tmp_path: Path) -> None:
    """However much a log expands to: it is stopped at the next block."""
    log = write_log(tmp_path, "a", TALK)
    rows = b"".join(
        b'{"type":"todo/write","seq":%d,"time":1,"data":{}}\n' % seq for seq in range(3, 400_000)
    )
    log.write_bytes(log.read_bytes() + encode(rows[:-1]))
    blocks = threading.Semaphore(0)

    async def run() -> None:
        workers = Workers(1, 1)

        def counted(*args: Any, **more: Any) -> Iterator[Any]:
            for block in zstd_blocks(*args, **more):
                blocks.release()
                yield block

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sessionref.sessions.root.zstd_blocks", counted)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(DshStore(str(tmp_path), workers).read, "a")
                while not blocks.acquire(blocking=False):
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
            with anyio.fail_after(30):
                while workers.abandoned:
                    await anyio.lowlevel.checkpoint()

    anyio.run(run)
    read_on = 0
    while blocks.acquire(blocking=False):
        read_on += 1
    assert read_on < 80  # of about 150


def test_a_root_that_does_not_answer_is_said_to_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that hangs holds the only thread there is."""
    monkeypatch.setattr("sessionref.sessions.dsh._COUNT_SECONDS", 0.05)
    let_go = threading.Event()

    async def ask() -> tuple[RootState, ...]:
        workers = Workers(1, 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workers.run, lambda _: let_go.wait())
            await anyio.wait_all_tasks_blocked()
            try:
                return await DshStore(str(tmp_path), workers).roots()
            finally:
                let_go.set()

    (told,) = anyio.run(ask)
    assert told == RootState(path=str(tmp_path), problem="the folder does not answer")
