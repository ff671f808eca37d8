"""Ends and beginnings that ordinary hosts never show: closed descriptors, choked pipes, retries."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from support import logs, requests
from support.sidecar import Sidecar

BOUND = 20
STATUS = b'{"jsonrpc":"2.0","id":1,"method":"status"}\n'


def spawn(root: Path, **pipes: Any) -> "subprocess.Popen[bytes]":
    """The program as a host spawns it, with descriptors of its choosing."""
    command = [sys.executable, "-m", "sessionref", "--root", str(root)]
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(command, **{**streams, **pipes})


def close_stderr() -> None:
    os.close(2)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_closed_descriptors_are_no_trouble(tmp_path: Path, closed: tuple[int, ...]) -> None:
    def close() -> None:
        for fd in closed:
            os.close(fd)

    with spawn(tmp_path, preexec_fn=close) as child:
        out, _ = child.communicate(STATUS, timeout=BOUND)
    assert child.returncode == 0
    if closed == (2,):
        assert json.loads(out)["result"]["version"]


def test_without_stderr_a_signal_still_ends_it_with_its_code(tmp_path: Path) -> None:
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        with spawn(tmp_path, preexec_fn=close_stderr) as child:
            assert child.stdin
            assert child.stdout
            child.stdin.write(STATUS)
            child.stdin.flush()
            assert child.stdout.readline()
            child.send_signal(number)
            assert child.wait(BOUND) == code


def test_a_signal_at_the_very_start_has_the_same_code(tmp_path: Path) -> None:
    """Whether Python itself, its imports or the dispatcher is running: no traceback."""
    with spawn(tmp_path, stderr=subprocess.PIPE) as child:
        assert child.stderr
        while not (status := Path(f"/proc/{child.pid}/status")).exists():
            pass
        while not _catches_sigterm(status):  # the first thing that the program does
            assert child.poll() is None
        child.send_signal(signal.SIGTERM)
        assert child.wait(BOUND) == 0
        assert child.stderr.read() == b""


def _catches_sigterm(status: Path) -> bool:
    caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & 1 << signal.SIGTERM - 1)


def test_a_shutdown_is_heard_while_answers_wait_to_be_read(tmp_path: Path) -> None:
    """300 MB are queued, which is more than the limit: requests are refused, the shutdown is not.

    Every request is answered once when the host reads at last.
    """
    text = json.dumps({"text": "x" * 10_000_000})
    with spawn(tmp_path) as child:
        assert child.stdin
        assert child.stdout
        for id_ in range(30):
            line = f'{{"jsonrpc":"2.0","id":{id_},"method":"parseText","params":{text}}}\n'
            child.stdin.write(line.encode())
        child.stdin.write(b'{"jsonrpc":"2.0","id":"end","method":"shutdown"}\n')
        child.stdin.flush()
        answers = {}
        while "end" not in answers:
            answer = json.loads(child.stdout.readline())
            assert answer["id"] not in answers
            answers[answer["id"]] = answer
        assert answers["end"] == {"jsonrpc": "2.0", "id": "end", "result": None}
        assert answers.keys() == {*range(30), "end"}
        refused = [each["error"] for each in answers.values() if "error" in each]
        assert all(error["code"] == -32000 for error in refused)
        child.stdin.write(b'{"jsonrpc":"2.0","method":"exit"}\n')
        child.stdin.flush()
        assert child.wait(BOUND) == 0


def test_an_initialize_that_failed_may_be_tried_again(tmp_path: Path) -> None:
    with Sidecar(roots=[tmp_path]) as sidecar:
        bad = {"protocolVersion": 1, "config": {"maxReferences": 9}}
        assert sidecar.fails("initialize", bad).code == -32010
        good = {"protocolVersion": 1, "capabilities": {"liveSessions": None}}
        assert sidecar.call("initialize", good)["protocolVersion"] == 1
        assert sidecar.fails("initialize", good).code == -32600


def test_params_that_are_no_object_are_judged_after_the_time(tmp_path: Path) -> None:
    array = '{"jsonrpc":"2.0","id":%s,"method":"status","params":[]}\n'
    with Sidecar(roots=[tmp_path]) as sidecar:
        sidecar.send_raw((array % 7).encode())
        error = sidecar.answer(7)["error"]
        assert (error["code"], error["data"]["field"]) == (-32602, "params")
        sidecar.call("shutdown")
        sidecar.send_raw((array % 8).encode())
        assert sidecar.answer(8)["error"]["code"] == -32600


def test_an_error_quotes_little_and_nothing_that_deceives(tmp_path: Path) -> None:
    with Sidecar(roots=[tmp_path]) as sidecar:
        policy = {"placement": "\u202eA" * 50_000, "onFailure": "terminate"}
        decision = {"kind": "enter", "messages": []}
        params = {"agent": {"id": "a"}, "decision": decision, "policy": policy}
        error = sidecar.fails("preStep", params)
        assert error.data["field"] == "policy.placement"
        assert len(error.message) < 200
        assert "\u202e" not in error.message


def test_one_root_named_twice_is_one_root(tmp_path: Path) -> None:
    root, link = tmp_path / "root", tmp_path / "link"
    logs.write_log(root, "a", [logs.title("A")])
    link.symlink_to(root)
    with Sidecar(roots=[root, f"{root}/", link]) as sidecar:
        found = sidecar.call("listCandidates", {"agent": requests.AGENT})["candidates"]
        assert [each["label"] for each in found] == ["A"]
        assert len(sidecar.call("status")["roots"]) == 1


def test_rubbish_in_one_root_is_no_rival_of_a_session_in_another(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    logs.write_log(good, "a", [logs.user("q")])
    logs.write_log(bad, "a", zstd=False).write_bytes(b"garbage\n")
    with Sidecar(roots=[good, bad]) as sidecar:
        assert "additionalContext" in sidecar.call("prepare", requests.prepare("a"))


def test_a_small_file_that_is_mostly_line_feeds_is_answered_soon(tmp_path: Path) -> None:
    """64 MiB of line feeds in a torn last frame of some kilobytes."""
    path = logs.write_log(tmp_path, "a", [logs.user("q")])
    packer = zstandard.ZstdCompressor().compressobj()
    torn = packer.compress(b"\n" * (64 << 20)) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    path.write_bytes(path.read_bytes() + torn)
    started = time.monotonic()
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert "additionalContext" in sidecar.call("prepare", requests.prepare("a"))
    assert time.monotonic() - started < BOUND / 2


def test_call_takes_no_modules_from_the_folder_that_it_runs_in(tmp_path: Path) -> None:
    (tmp_path / "anyio.py").write_text("raise SystemExit('taken from the current folder')\n")
    program = Path(sys.executable).with_name("sessionref")
    finished = subprocess.run(
        [program, "call", "parseText", '{"text":"x"}'],
        cwd=tmp_path,
        capture_output=True,
        timeout=BOUND,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (0, b'{"text":"x","references":[]}\n')
