"""The program's own log: it quotes nobody, is private, and keeps nobody waiting."""

import json
import logging
import os
import stat
import subprocess
from pathlib import Path

import anyio

from sessionref.config import Config
from sessionref.logs import configure
from support import logs, requests
from support.requests import AGENT
from support.sidecar import PROGRAM, TIMEOUT, Sidecar, clean_environment

SECRET = "a word of the transcript"


def test_neither_the_log_nor_an_error_quotes_a_session_or_the_host(tmp_path: Path) -> None:
    root, log = tmp_path / "root", tmp_path / "log.txt"
    no_blocks = logs.user("q")
    no_blocks["data"]["content"] = SECRET
    bad_end = json.dumps({SECRET: 1, "type": "turn/end"}).encode()
    logs.write_log(root, "good", [logs.user(SECRET), logs.title(SECRET)])
    logs.write_log(root, "bad", [logs.user(SECRET), b'{"' + SECRET.encode(), bad_end], zstd=False)
    logs.write_log(root, "odd", [no_blocks])
    flags = ("--log-level", "debug", "--log-file", str(log))
    with Sidecar(*flags, roots=[root]) as sidecar:
        sidecar.call("listCandidates", {"agent": AGENT, "query": "word"})
        content = [{"type": "text", "text": SECRET}]
        sidecar.call("prepare", requests.prepare("good", content=content))
        for name in ("bad", "odd"):
            error = sidecar.fails("prepare", requests.prepare(name, content=content))
            assert error.data["cause"] == "corrupt"
            assert SECRET not in str(error)
    assert SECRET not in log.read_text()


def test_a_log_that_nobody_takes_is_dropped_and_not_kept(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    async def run() -> None:
        outlet = configure(Config(roots=(), log_file=str(pipe)))
        for _ in range(300):
            logging.getLogger("sessionref").error("x" * 10_000)
        assert 900_000 < outlet.queued < 1_100_000

    try:
        anyio.run(run)
    finally:
        os.close(reader)


def test_a_log_file_is_for_its_owner_only(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with Sidecar("--log-file", str(log), roots=[tmp_path]) as sidecar:
        sidecar.call("status")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_log_file_is_never_made_through_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    done = subprocess.run(
        [PROGRAM, "--root", tmp_path, "--log-file", link],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=clean_environment(str(tmp_path)),
        timeout=TIMEOUT,
    )
    assert done.returncode == 2
    assert not target.exists()
