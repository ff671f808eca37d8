"""Session roots are only read: nothing in them is written, created, locked, nor waited for."""

import os
import stat
import time
from pathlib import Path

import pytest

from support import logs, requests
from support.requests import AGENT
from support.roots import unpack
from support.sidecar import Sidecar


def listing(root: Path) -> list[tuple[str, int, int, int, int]]:
    """Everything in a root: path, mode, inode, size and time of the last change."""
    return sorted(
        (str(path), found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns)
        for path in [root, *root.rglob("*")]
        for found in [path.lstat()]
    )


@pytest.mark.parametrize("name", ["main", "plain", "invalid"])
def test_nothing_is_written_in_a_root(name: str, tmp_path: Path) -> None:
    root = unpack(name, tmp_path)
    before = listing(root)
    with Sidecar(roots=[root]) as sidecar:
        sidecar.call("initialize", {"protocolVersion": 1})
        found = sidecar.call("listCandidates", {"agent": AGENT, "limit": 1000})["candidates"]
        sidecar.call("listCandidates", {"agent": AGENT, "query": "a"})
        for candidate in found:
            sidecar.answer(sidecar.request("prepare", requests.prepare(candidate["sessionId"])))
        sidecar.fails("prepare", requests.prepare("gone"))
        sidecar.call("status")
    assert len(found) > 20
    assert listing(root) == before


def test_a_fifo_in_a_log_s_place_is_answered_at_once(tmp_path: Path) -> None:
    """Nobody writes to it, so whoever opens it in the plain way waits for ever."""
    log = logs.write_log(tmp_path, "fifo", cwd="/w")
    log.unlink()
    os.mkfifo(log)
    logs.write_log(tmp_path, "healthy", [logs.user("q")], cwd="/w")
    with Sidecar(roots=[tmp_path]) as sidecar:
        started = time.monotonic()
        error = sidecar.fails("prepare", requests.prepare("fifo"))
        assert (error.code, error.data["cause"]) == (-32014, "io")
        assert error.data["retryable"] is True
        found = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        assert [item["sessionId"] for item in found] == ["healthy"]
        assert "additionalContext" in sidecar.call("prepare", requests.prepare("healthy"))
        assert time.monotonic() - started < 3
    assert stat.S_ISFIFO(log.lstat().st_mode)


def test_a_link_to_a_log_is_followed_if_the_header_names_the_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = elsewhere / "a.bin"
    target.write_bytes(logs.encode(logs.header("linked", cwd="/w"), [logs.user("q")]))
    root = tmp_path / "root"
    for session_id in ("linked", "alias"):
        path = logs.write_log(root, session_id, cwd="/w")
        path.unlink()
        path.symlink_to(target)
    with Sidecar(roots=[root]) as sidecar:
        assert "additionalContext" in sidecar.call("prepare", requests.prepare("linked"))
        assert sidecar.fails("prepare", requests.prepare("alias")).data["cause"] == "corrupt"


def test_a_mended_session_needs_no_restart(tmp_path: Path) -> None:
    """Corner 35. So does one that comes, and one that goes."""
    log = logs.write_log(tmp_path, "victim", [logs.user("q")], cwd="/w")
    whole = log.read_bytes()
    log.write_bytes(b"not zstd at all")
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert sidecar.fails("prepare", requests.prepare("victim")).data["cause"] == "corrupt"
        log.write_bytes(whole)
        assert "additionalContext" in sidecar.call("prepare", requests.prepare("victim"))
        logs.write_log(tmp_path, "new", [logs.user("q"), logs.title("Fresh")], cwd="/w")
        found = sidecar.call("listCandidates", {"agent": AGENT, "query": "fresh"})["candidates"]
        assert [item["sessionId"] for item in found] == ["new"]
        logs.write_log(tmp_path, "new", [logs.user("q"), logs.title("Renamed")], cwd="/w")
        found = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        assert [item["label"] for item in found] == ["Renamed", "victim"]
        log.unlink()
        assert sidecar.fails("prepare", requests.prepare("victim")).data["cause"] == "not_found"


def test_a_snapshot_once_returned_is_frozen(tmp_path: Path) -> None:
    log = logs.write_log(tmp_path, "a", [logs.user("first")], cwd="/w", zstd=False)
    with Sidecar(roots=[tmp_path]) as sidecar:
        before = sidecar.call("prepare", requests.prepare("a"))["additionalContext"]
        text = before["content"][0]["text"]
        with log.open("ab") as more:
            more.write(logs.line({"seq": 1, "time": 1, **logs.user("second")}))
        after = sidecar.call("prepare", requests.prepare("a"))["additionalContext"]
        assert "second" in after["content"][0]["text"]
        assert "second" not in text
        assert before["id"] != after["id"]


def test_several_roots_are_one_corpus(tmp_path: Path) -> None:
    """The same id in two roots is a conflict for that id only."""
    one, two = tmp_path / "one", tmp_path / "two"
    logs.write_log(one, "only-one", [logs.user("q")])
    logs.write_log(two, "only-two", [logs.user("q")])
    for root in (one, two):
        logs.write_log(root, "both", [logs.user("q")])
    with Sidecar(roots=[one, two]) as sidecar:
        for session_id in ("only-one", "only-two"):
            assert "additionalContext" in sidecar.call("prepare", requests.prepare(session_id))
        assert sidecar.fails("prepare", requests.prepare("both")).data["cause"] == "conflict"
        found = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        assert sorted(item["sessionId"] for item in found) == ["both", "only-one", "only-two"]
