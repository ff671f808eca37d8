"""The installed program as people and scripts at a shell run it: on a terminal, or in pipes."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.sidecar import PROGRAM, TIMEOUT, clean_environment

ESCAPE = b"\x1b"

_TAKE_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Becomes a program that has its terminal to itself, which is `/dev/tty` to it then."""

Argument = str | Path


def run(
    *arguments: Argument,
    home: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    program: Argument = PROGRAM,
    given: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """One command with its input and output in pipes, and without any terminal."""
    return subprocess.run(
        [program, *arguments],
        input=given,
        capture_output=True,
        timeout=TIMEOUT,
        env=_environment(home, env),
        cwd=cwd,
        start_new_session=True,
    )


def report(
    *arguments: Argument, home: Path, cwd: Path | None = None, given: bytes = b""
) -> tuple[int, Any]:
    """The exit code of a command with `--json`, and the one line that it printed."""
    done = run("--json", *arguments, home=home, cwd=cwd, given=given)
    assert done.stdout.count(b"\n") == 1, done
    return done.returncode, json.loads(done.stdout)


class Terminal:
    """A pseudo terminal with one command on it; stdout may lead elsewhere."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self.shown = b""

    def read(self) -> bytes:
        """What is shown next; nothing once the command has closed the terminal."""
        if not select.select([self._descriptor], [], [], TIMEOUT)[0]:
            raise TimeoutError(f"nothing more is shown: {self.shown!r}")
        try:
            more = os.read(self._descriptor, 1 << 16)
        except OSError:  # Linux says so when the last user of the other end is gone
            more = b""
        self.shown += more
        return more

    def write(self, typed: bytes) -> None:
        """Type something."""
        os.write(self._descriptor, typed)

    def wait_for(self, text: bytes) -> None:
        """Read until this is shown."""
        while text not in self.shown:
            assert self.read(), f"{text!r} was never shown: {self.shown!r}"

    def finish(self) -> tuple[int, bytes]:
        """The exit code, and all that was shown."""
        while self.read():
            pass
        return self.process.wait(TIMEOUT), self.shown


@contextmanager
def terminal(
    *arguments: Argument,
    home: Path,
    columns: int = 80,
    env: Mapping[str, str] | None = None,
    stdout: int | None = None,
    program: Sequence[Argument] = (PROGRAM,),
) -> Iterator[Terminal]:
    """One command on a terminal of that width. `stdout` is a descriptor to use in its place."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-ISc", _TAKE_TERMINAL, *program, *arguments],
        stdin=theirs,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        env=_environment(home, {"TERM": "xterm-256color", **(env or {})}),
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def on_terminal(
    *arguments: Argument, home: Path, columns: int = 80, env: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """One command on a terminal to its end: its exit code, and all that was shown."""
    with terminal(*arguments, home=home, columns=columns, env=env) as shown:
        return shown.finish()


def _environment(home: Path, extra: Mapping[str, str] | None) -> dict[str, str]:
    outer = (
        *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS", "LINES", "TTY_", "COLORTERM"),
        *("DISPLAY", "WAYLAND_DISPLAY", "TMUX"),
    )
    clean = clean_environment(str(home)).items()
    return {**{name: value for name, value in clean if not name.startswith(outer)}, **(extra or {})}
