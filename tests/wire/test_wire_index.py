"""The index over the wire: whatever becomes of it, the answers are those of a process without."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import logs, requests
from support.answers import Answers, everything
from support.requests import AGENT
from support.sidecar import PROGRAM, Sidecar

FILE = "index.sqlite3"
CWD = "/w"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a few sessions, one of them damaged, one archived."""
    root = tmp_path / "sessions"
    for at, name in enumerate(("alpha", "beta", "\u65b0\ud800", "put-away")):
        rows = [logs.user(f"secret words of {at}"), logs.assistant("hi"), logs.title(f"Title {at}")]
        logs.write_log(root, name, rows, cwd=CWD, created_at=at, zstd=at != 1)
    bad = logs.write_log(root, "bad", [logs.title("lost")], cwd=CWD)
    bad.write_bytes(logs.frame([logs.line(logs.header("bad", cwd=CWD))]) + b"garbage")
    archive(tmp_path, "put-away")
    return tmp_path


@pytest.fixture
def root(home: Path) -> Path:
    return home / "sessions"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def archive(home: Path, *session_ids: str) -> None:
    (home / "storages").mkdir(exist_ok=True)
    known = {"global": {"archivedSessionIds": session_ids}}
    (home / "storages" / "workspace.json").write_text(json.dumps(known))


def log_of(root: Path, session_id: str) -> Path:
    (log,) = (root / logs.project_folder(CWD) / session_id).glob("session*.jsonl*")
    return log


def expected(root: Path) -> Answers:
    with Sidecar("--no-index", roots=[root]) as sidecar:
        return everything(sidecar)


def index_lines(sidecar: Sidecar) -> list[bytes]:
    """What stderr says of the index, once the process has ended."""
    return [line for line in sidecar.stderr.splitlines() if b"index" in line]


def leave(sidecar: Sidecar) -> None:
    sidecar.close_stdin()
    assert sidecar.wait() == 0


def fill(root: Path, cache: Path, *arguments: str) -> None:
    """Run a process that keeps all it knows."""
    with Sidecar(*arguments, roots=[root], cache=cache) as sidecar:
        everything(sidecar)
        leave(sidecar)
        assert index_lines(sidecar) == []


def rows(cache: Path) -> set[str]:
    """The folders of the sessions that are kept."""
    with contextlib.closing(sqlite3.connect(cache / FILE)) as database:
        return {folder for (folder,) in database.execute("SELECT folder FROM logs")}


def bytes_in(cache: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(cache.iterdir()))


# What is kept, where, and for whom


def test_the_next_process_finds_what_was_known(root: Path, cache: Path) -> None:
    fill(root, cache)
    assert len(rows(cache)) == 5
    with Sidecar(roots=[root], cache=cache) as sidecar:
        assert everything(sidecar) == expected(root)
        assert sidecar.call("status")["index"] == {
            "state": "disk",
            "sessions": 5,
            "folded": 5,
            "pending": 0,
            "path": str(cache / FILE),
        }


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes")
def test_nobody_else_can_read_it(root: Path, cache: Path) -> None:
    fill(root, cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in cache.iterdir()}
    assert modes[FILE] == 0o600
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    ("arguments", "env"), [(["--no-index"], {}), ([], {"SESSIONREF_NO_INDEX": "1"})]
)
def test_without_an_index_nothing_is_written(
    root: Path, cache: Path, arguments: list[str], env: dict[str, str]
) -> None:
    with Sidecar(*arguments, roots=[root], cache=cache, env=env) as sidecar:
        assert everything(sidecar) == expected(root)
        known = {"state": "memory", "sessions": 5, "folded": 5, "pending": 0}
        assert sidecar.call("status")["index"] == known
        leave(sidecar)
    assert not cache.exists()


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="there it is elsewhere")
@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "home/.cache/sessionref"),
        ({"XDG_CACHE_HOME": "{}/xdg"}, "xdg/sessionref"),
        ({"XDG_CACHE_HOME": "relative"}, "home/.cache/sessionref"),
        ({"XDG_CACHE_HOME": "{}/xdg", "SESSIONREF_CACHE_DIR": "{}/own"}, "own"),
    ],
)
def test_it_is_where_the_system_has_caches(
    root: Path, tmp_path: Path, given: dict[str, str], place: str
) -> None:
    env = {key: value.format(tmp_path) for key, value in given.items()}
    env = {"SESSIONREF_CACHE_DIR": "", "HOME": str(tmp_path / "home"), **env}
    with Sidecar(roots=[root], env=env) as sidecar:
        everything(sidecar)
        path = sidecar.call("status")["index"]["path"]
    assert path == str(tmp_path / place / FILE)
    assert len(rows(tmp_path / place)) == 5


def test_nothing_that_was_said_is_kept(root: Path, cache: Path) -> None:
    fill(root, cache)
    kept = bytes_in(cache)
    assert b"Title 1" in kept
    assert b"secret" not in kept


def test_previews_are_kept_and_shown_but_never_matched_where_they_are_asked_for(
    root: Path, cache: Path
) -> None:
    long = "\u202e" + "word " * 40
    logs.write_log(root, "long", [logs.user(long)], cwd=CWD)
    for _ in range(2):  # the second process finds them
        with Sidecar("--index-previews", roots=[root], cache=cache) as sidecar:
            found = everything(sidecar)
            leave(sidecar)
        shown = {each["sessionId"]: each.get("preview") for each in found[""]["candidates"]}
        assert shown["alpha"] == "secret words of 0"
        assert shown["bad"] is None
        assert shown["long"].isprintable()
        assert shown["long"].endswith("word " * 15 + "word")
        assert found["secret"]["candidates"] == []
    assert b"secret words" in bytes_in(cache)
    with Sidecar(roots=[root], cache=cache) as sidecar:
        assert everything(sidecar) == expected(root)
        leave(sidecar)
    assert b"secret words" not in bytes_in(cache)


def test_what_is_gone_is_forgotten(root: Path, cache: Path) -> None:
    fill(root, cache)
    shutil.rmtree(log_of(root, "alpha").parent)
    fill(root, cache)
    assert "alpha" not in rows(cache)
    assert len(rows(cache)) == 4


# What may be wrong with it


def garble(cache: Path) -> None:
    (cache / FILE).write_bytes(b"no database at all " * 1000)


def flip(cache: Path) -> None:
    data = bytearray((cache / FILE).read_bytes())
    for at in range(100, len(data), 11):
        data[at] ^= 1
    (cache / FILE).write_bytes(data)


def cut(cache: Path) -> None:
    os.truncate(cache / FILE, 6000)


def garble_the_log_of_it(cache: Path) -> None:
    (cache / (FILE + "-wal")).write_bytes(b"x" * 50_000)


def remove(cache: Path) -> None:
    shutil.rmtree(cache)


def make_newer(cache: Path) -> None:
    with contextlib.closing(sqlite3.connect(cache / FILE)) as database:
        database.execute("PRAGMA user_version = 1000")


def put_a_folder(cache: Path) -> None:
    shutil.rmtree(cache)
    (cache / FILE).mkdir(parents=True)


def put_a_file(cache: Path) -> None:
    shutil.rmtree(cache)
    cache.write_bytes(b"")


def put_a_link(cache: Path) -> None:
    victim = cache.with_name("victim")
    (cache / FILE).rename(victim)
    (cache / FILE).symlink_to(victim)


def put_a_link_to_a_folder(cache: Path) -> None:
    cache.rename(cache.with_name("victim"))
    cache.symlink_to(cache.with_name("victim"))


QUIET = {remove, garble_the_log_of_it}
"""What nobody need be told."""


@pytest.mark.parametrize(
    "damage",
    [
        garble,
        flip,
        cut,
        garble_the_log_of_it,
        remove,
        make_newer,
        put_a_folder,
        put_a_file,
        put_a_link,
        put_a_link_to_a_folder,
    ],
)
def test_a_bad_index_changes_no_answer(
    root: Path, cache: Path, damage: Callable[[Path], None]
) -> None:
    fill(root, cache)
    damage(cache)
    for _ in range(2):
        with Sidecar(roots=[root], cache=cache) as sidecar:
            assert everything(sidecar) == expected(root)
            assert sidecar.call("status")["index"]["folded"] == 5
            leave(sidecar)
            lines = index_lines(sidecar)
            assert len(lines) <= 1
        if damage in QUIET:
            assert lines == []


def test_a_newer_index_is_left_as_it_is(root: Path, cache: Path) -> None:
    fill(root, cache)
    make_newer(cache)
    before = (cache / FILE).read_bytes()
    with Sidecar(roots=[root], cache=cache) as sidecar:
        everything(sidecar)
        index = sidecar.call("status")["index"]
        leave(sidecar)
        assert len(index_lines(sidecar)) == 1
    assert (index["state"], "path" in index) == ("memory", False)
    assert (cache / FILE).read_bytes() == before


def test_no_link_is_followed(root: Path, cache: Path) -> None:
    for put in (put_a_link, put_a_link_to_a_folder):
        fill(root, cache)
        put(cache)
        victim = cache.with_name("victim")
        files = [victim] if victim.is_file() else sorted(victim.iterdir())
        before = [(path.name, path.read_bytes()) for path in files]
        logs.write_log(root, "another", [logs.title("x")], cwd=CWD)
        with Sidecar(roots=[root], cache=cache) as sidecar:
            everything(sidecar)
            leave(sidecar)
            assert len(index_lines(sidecar)) == 1
        files = [victim] if victim.is_file() else sorted(victim.iterdir())
        assert [(path.name, path.read_bytes()) for path in files] == before
        cache.unlink() if cache.is_symlink() else shutil.rmtree(cache)
        victim.unlink() if victim.is_file() else shutil.rmtree(victim)


@pytest.fixture(params=["for writing", "alone"])
def held(request: pytest.FixtureRequest, root: Path, cache: Path) -> Iterator[sqlite3.Connection]:
    """The index, held by another process."""
    fill(root, cache)
    with contextlib.closing(sqlite3.connect(cache / FILE, isolation_level=None)) as database:
        if request.param == "alone":
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        yield database


def test_an_index_that_somebody_holds_changes_no_answer(
    root: Path, cache: Path, held: sqlite3.Connection
) -> None:
    logs.write_log(root, "another", [logs.title("Title x")], cwd=CWD)
    with Sidecar(roots=[root], cache=cache) as sidecar:
        assert everything(sidecar) == expected(root)
        leave(sidecar)
        assert len(index_lines(sidecar)) == 1
    held.execute("ROLLBACK")
    held.close()
    fill(root, cache)
    assert len(rows(cache)) == 6


LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no such limits")
def test_a_full_disk_changes_no_answer(root: Path, cache: Path) -> None:
    for number in range(60):
        logs.write_log(root, f"more-{number}", [logs.title("x" * 300)], cwd=CWD)
    limited = [sys.executable, "-c", LIMITED, str(PROGRAM)]
    with Sidecar(roots=[root], cache=cache, command=limited) as sidecar:
        assert everything(sidecar) == expected(root)
        leave(sidecar)
        assert len(index_lines(sidecar)) == 1


def test_a_process_that_is_killed_leaves_an_index_that_can_be_used(root: Path, cache: Path) -> None:
    for _ in range(3):
        append(root)
        with Sidecar(roots=[root], cache=cache) as sidecar:
            assert everything(sidecar) == expected(root)
            sidecar.signal(signal.SIGKILL)
            sidecar.wait()
            assert index_lines(sidecar) == []


# What happens to the sessions


def append(root: Path) -> None:
    log = log_of(root, "alpha")
    with Sidecar("--no-index", roots=[root]) as sidecar:
        result = sidecar.call("prepare", requests.prepare("alpha"))
    (reference,) = result["additionalContext"]["source"]["references"]
    seq = reference["capturedThroughSeq"] + 1
    rows = [logs.user(f"more at {seq}"), logs.title(f"Title after {seq}")]
    lines = [logs.line({"seq": seq + at, "time": 1, **row}) for at, row in enumerate(rows)]
    with log.open("ab") as file:
        file.write(logs.frame(lines))


def append_to_a_plain_log(root: Path) -> None:
    with log_of(root, "beta").open("ab") as log:
        log.write(logs.line({"seq": 3, "time": 1, **logs.title("Title of a plain log")}))


def append_half_a_frame(root: Path) -> None:
    frame = logs.frame([logs.line({"seq": 3, "time": 1, **logs.title("torn")})])
    with log_of(root, "alpha").open("ab") as log:
        log.write(frame[: len(frame) // 2])


def truncate(root: Path) -> None:
    log = log_of(root, "beta")
    os.truncate(log, log.stat().st_size - 1)


def replace(root: Path) -> None:
    log = log_of(root, "alpha")
    other = log.with_name("other.tmp")
    head = logs.header("alpha", cwd=CWD)
    other.write_bytes(logs.encode(head, [logs.user("new"), logs.title("Title new")]))
    other.replace(log)


def rewrite_in_place(root: Path) -> None:
    """The same size, the same file, the same time of modification."""
    log = log_of(root, "beta")
    before = log.stat()
    log.write_bytes(log.read_bytes().replace(b"Title 1", b"title !"))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))


def rewrite_and_append(root: Path) -> None:
    log = log_of(root, "beta")
    log.write_bytes(log.read_bytes().replace(b"Title 1", b"title !"))
    with log.open("ab") as file:
        file.write(logs.line({"seq": 3, "time": 1, **logs.user("more")}))


def move_to_the_next_generation(root: Path) -> None:
    log = log_of(root, "alpha")
    rows = [logs.user("moved"), logs.title("Title of v4")]
    data = logs.encode(logs.header("alpha", cwd=CWD, version=4), rows)
    log.with_name(logs.log_name(version=4)).write_bytes(data)


def add(root: Path) -> None:
    logs.write_log(root, "newcomer", [logs.title("Title of a newcomer")], cwd=CWD)


def copy_elsewhere(root: Path) -> None:
    logs.write_log(root, "alpha", [logs.title("Title elsewhere")], cwd="/elsewhere")


def delete(root: Path) -> None:
    log_of(root, "beta").unlink()


def change_the_archive(root: Path) -> None:
    archive(root.parent, "alpha", "beta")


CHANGES = [
    append,
    append_to_a_plain_log,
    append_half_a_frame,
    truncate,
    replace,
    rewrite_in_place,
    rewrite_and_append,
    move_to_the_next_generation,
    add,
    copy_elsewhere,
    delete,
    change_the_archive,
]


UNSEEN = {append_half_a_frame}
"""What changes no answer."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_by_who_was_there_and_by_who_comes_later(
    root: Path, cache: Path, change: Callable[[Path], None]
) -> None:
    with (
        Sidecar(roots=[root], cache=cache) as one,
        Sidecar(roots=[root], cache=cache) as other,
    ):
        before = everything(one)
        assert everything(other) == before
        leave(other)
        change(root)
        after = expected(root)
        assert (after == before) == (change in UNSEEN)
        assert everything(one) == after
        with Sidecar(roots=[root], cache=cache) as later:
            assert everything(later) == after
        leave(one)
    with Sidecar(roots=[root], cache=cache) as last:
        assert everything(last) == after


def test_several_processes_at_once_keep_out_of_each_other_s_way(root: Path, cache: Path) -> None:
    with contextlib.ExitStack() as stack:
        sidecars = [stack.enter_context(Sidecar(roots=[root], cache=cache)) for _ in range(4)]
        for _ in range(3):
            append(root)
            after = expected(root)
            waiting = [
                sidecar.request("listCandidates", {"agent": AGENT, "query": "title"})
                for sidecar in sidecars
            ]
            for sidecar, request_id in zip(sidecars, waiting, strict=True):
                sidecar.settle(request_id)
            for sidecar in sidecars:
                assert everything(sidecar) == after
        for sidecar in sidecars:
            leave(sidecar)
            told = index_lines(sidecar)  # a busy machine may keep one waiting for another
            assert all(b"is locked by another process" in line for line in told)
    assert len(rows(cache)) == 5
