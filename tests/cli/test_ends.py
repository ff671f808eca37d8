"""How the shell's commands end: quietly when nobody reads on, at once when told to."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from sessionref_protocol.mention import format_mention
from support import logs, shell
from support.sidecar import PROGRAM, TIMEOUT, clean_environment

FRAMES = 400
PADDING = 30_000_000


@pytest.fixture
def slow_root(tmp_path: Path) -> Path:
    """A small log that expands to gigabytes: its rows are padded with white space."""
    root = tmp_path / "root"
    path = logs.write_log(root, "slow")
    compressor = zstandard.ZstdCompressor(level=1)
    padding = compressor.compress(b" " * PADDING)
    with path.open("ab") as log:
        for row in logs.numbered([logs.user("q")] * FRAMES):
            line = logs.line(row)
            log.write(compressor.compress(line[:1]) + padding + compressor.compress(line[1:]))
    assert path.stat().st_size < 3_000_000
    return root


def test_control_c_in_the_midst_of_reading(slow_root: Path, tmp_path: Path) -> None:
    with shell.terminal("doctor", "--root", slow_root, home=tmp_path) as terminal:
        terminal.wait_for(b"0/1")
        terminal.process.send_signal(signal.SIGINT)
        code, shown = terminal.finish()
    assert code == 130
    assert b"Traceback" not in shown
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")  # the cursor is back


ID = f"s1-{'x' * 150}"
EVERY_COMMAND = {
    "call": ["call", "listCandidates", '{"agent":{"id":"me"}}'],
    "list": ["list"],
    "show": ["show", ID],
    "expand": ["expand"],
    "mention": ["mention", ID],
    "doctor": ["doctor"],
    "help": ["--help"],
    "version": ["--version"],
    "command-help": ["list", "--help"],
}
"""A way to have each of them print something to stdout, and nothing to stderr."""


def _with_stdout(
    name: str, home: Path, stdout: int | None, stderr: int = subprocess.PIPE, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    """One of them, on 30 sessions. Without a stdout it is closed."""
    root = home / "root"
    for number in range(30):
        logs.write_log(root, f"s{number}-{'x' * 150}", [logs.user("q" * 3000)], cwd="/w")
    command = [PROGRAM, *EVERY_COMMAND[name], "--root", root]
    return subprocess.run(
        command if stdout is not None else ["sh", "-c", '"$0" "$@" >&-', *command],
        stdout=stdout,
        stderr=stderr,
        input=format_mention(ID).encode(),
        timeout=TIMEOUT,
        env=clean_environment(str(home)),
        **more,
    )


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_a_reader_that_goes_is_no_error(name: str, tmp_path: Path) -> None:
    inward, outward = os.pipe()
    os.close(inward)  # as if `head` had gone before the first byte
    done = _with_stdout(name, tmp_path, outward)
    assert done.returncode == 0
    assert b"Error" not in done.stderr
    assert b"Exception" not in done.stderr
    done = _with_stdout(name, tmp_path, outward, stderr=outward)  # `2>&1 | head`
    assert done.returncode == 0
    os.close(outward)


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_stdout_may_be_closed(name: str, tmp_path: Path) -> None:
    done = _with_stdout(name, tmp_path, None)
    assert done.returncode == 0
    assert b"Error" not in done.stderr
    assert b"Exception" not in done.stderr


def test_a_closed_stream_is_not_another_file(tmp_path: Path) -> None:
    """Whatever is opened first would take its place."""
    root = tmp_path / "root"
    logs.write_log(root, "s", [logs.user("q")])
    script = '"$0" list --root "$1" >&- 2>&- <&-; "$0" show no --root "$1" 2>&-; echo $?'
    done = shell.run("-c", script, PROGRAM, root, program="sh", home=tmp_path)
    assert (done.stdout, done.stderr) == (b"1\n", b"")
    assert shell.run("list", "--root", root, home=tmp_path).stdout.startswith(b"s\t")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("name", ["call", "list", "show", "expand", "mention", "doctor"])
def test_a_disk_that_is_full_is_an_error(name: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = _with_stdout(name, tmp_path, full.fileno())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == b"sessionref: can't write: No space left on device"
    assert b"Traceback" not in done.stderr


def test_control_c_while_nobody_reads(tmp_path: Path) -> None:
    """The report is larger than a pipe holds, so the program waits in the midst of writing it."""
    root = tmp_path / "root"
    for number in range(300):
        logs.write_log(root, f"s{number}-{'x' * 150}").write_bytes(b"")
    with subprocess.Popen(
        [PROGRAM, "doctor", "--root", root],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(str(tmp_path)),
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130
        assert b"Traceback" not in process.stderr.read()


def test_a_log_file_that_can_not_be_opened(tmp_path: Path) -> None:
    flags = ("--log-file", tmp_path / "no" / "log")
    done = shell.run("doctor", *flags, home=tmp_path)
    assert done.returncode == 2
    assert b"--log-file" in done.stderr
    assert done.stdout == b""


def test_log_lines_go_where_they_are_told_and_not_between_the_lines(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for zstd in (True, False):
        logs.write_log(root, "twice", [logs.user("q")], zstd=zstd)
    quiet = shell.run("doctor", "--root", root, home=tmp_path)
    assert quiet.stderr == b""
    log = tmp_path / "log.txt"
    told = shell.run("doctor", "--root", root, "--log-file", log, home=tmp_path)
    assert told.stderr == b""
    assert b"Two logs of one session" in log.read_bytes()


@pytest.mark.parametrize("command", ["doctor", "list", "show", "mention", "expand"])
def test_pipes_do_not_wait_for_rich(command: str, tmp_path: Path) -> None:
    words = ["s"] if command in ("show", "mention") else []
    logs.write_log(tmp_path / "root", "s", [logs.user("q")])
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "sessionref", command, "--root", "root", *words],
        cwd=tmp_path,
        input=b"x",
        capture_output=True,
        timeout=TIMEOUT,
        env=clean_environment(str(tmp_path)),
    )
    assert done.returncode == 0
    assert done.stdout
    rows = done.stderr.decode().splitlines()
    names = {row.rpartition("|")[2].strip().partition(".")[0] for row in rows if "|" in row}
    assert "sessionref" in names
    assert names.isdisjoint({"rich", "pygls", "lsprotocol"})


@pytest.mark.parametrize("command", ["doctor", "list", "show", "expand", "mention"])
def test_help_is_of_the_command(command: str, tmp_path: Path) -> None:
    done = shell.run(command, "--help", home=tmp_path)
    assert done.returncode == 0
    helped = done.stdout.decode()
    assert helped.startswith(f"usage: sessionref {command} ")
    assert "--json" in helped
    assert "--root DIR" in helped
    for other in ("doctor", "list [QUERY]", "show ID", "mention ID|QUERY"):
        assert f"\n  {other}" in helped
    for code in ("  0  Done", "  3  Not everything", "130  Ctrl-C"):
        assert f"\n  {code}" in helped
