"""A home of its own for a process that is put through a fault, and what is still there afterwards.

Whatever the process starts or writes is found: it has a mark in its environment that its children
inherit, and its home, its cache and its folder for temporary files lie in one folder.
"""

import contextlib
import json
import os
import select
import signal
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from faults import matrix
from faults.matrix import Fault
from support import editor, logs
from support.editor import Editor
from support.requests import BIG_ID, prepare
from support.sidecar import PROGRAM, TIMEOUT, FramingName, Sidecar, clean_environment, frame

INDEX = "index.sqlite3"
KEPT = {INDEX, f"{INDEX}-wal", f"{INDEX}-shm", f"{INDEX}-journal"}
"""The index; and its journal, where there was no time to close it."""

_CAPABILITIES_THAT_OVERRULE_MODES = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, by which root may read everything."""
_PR_CAPBSET_DROP = 24

OBEYING_MODES = f"""
import ctypes, os, sys
for capability in {_CAPABILITIES_THAT_OVERRULE_MODES}:
    ctypes.CDLL(None).prctl({_PR_CAPBSET_DROP}, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a program that may read no more than the modes of files say, even as root."""


class World:
    """Where one program is run."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "sessions"
        self.cache = base / "cache"
        self._mark = f"FAULT={uuid.uuid4()}"
        self._root_before: object = None
        for folder in (self.root, base / "home", base / "tmp"):
            folder.mkdir(parents=True)
        for at, name in enumerate(("alpha", "beta", "gamma")):
            rows = [logs.user(f"secret words of {at}"), logs.title(f"Title {at}")]
            logs.write_log(self.root, name, rows, cwd="/w", created_at=at, zstd=at != 1)

    @property
    def environment(self) -> dict[str, str]:
        """What the program is told beyond the ordinary."""
        name, _, value = self._mark.partition("=")
        return {
            name: value,
            "HOME": str(self.base / "home"),
            "TMPDIR": str(self.base / "tmp"),
            "SESSIONREF_CACHE_DIR": str(self.cache),
        }

    @property
    def whole_environment(self) -> dict[str, str]:
        """All that the program is told, for who spawns it himself."""
        return clean_environment("", self.environment)

    def start(
        self,
        framing: FramingName = "line",
        *arguments: str,
        more_roots: Sequence[Path] = (),
        **spawning: Any,
    ) -> Sidecar:
        """The program on the root, past its handshake once it is entered."""
        self._root_before = self._state_of_root()
        flags = [flag for root in more_roots for flag in ("--root", str(root))]
        spawning = {"env": self.environment, "cache": self.cache, **spawning}
        if framing == "content-length":
            return Editor(self.root, *arguments, *flags, **spawning)
        return Sidecar(*arguments, *flags, roots=[self.root], **spawning)

    def command(self, *arguments: str) -> list[str]:
        """The same as words."""
        return [str(PROGRAM), *arguments, "--root", str(self.root)]

    def log_of(self, session_id: str) -> Path:
        """The only log of a session."""
        (log,) = (self.root / logs.project_folder("/w") / session_id).glob("session*")
        return log

    # How it ends, and what is still there

    def ends(self, fault: Fault, wait: Callable[[float], int], since: float) -> None:
        """Wait until the process has ended as the fault's row says, counted from `since`."""
        assert fault.codes
        left = since + fault.seconds - time.monotonic()
        code = wait(max(left, 0.0))
        matrix.times.setdefault(fault, []).append(time.monotonic() - since)
        assert code in fault.codes

    def stays(self, fault: Fault, peer: Sidecar) -> None:
        """What stays in spite of a fault still answers, and ends when its stdin does."""
        assert not fault.codes
        assert peer.call("parseText", {"text": "still here"})["text"] == "still here"
        peer.close_stdin()
        since = time.monotonic()
        assert peer.wait() == 0
        matrix.times.setdefault(fault, []).append(time.monotonic() - since)

    def processes(self) -> list[int]:
        """Everything alive that the program has started, itself included."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):  # it ends right now, or is none of ours
                if entry.name.isdigit() and self._mark.encode() in _environment_of(entry):
                    found.append(int(entry.name))
        return found

    def check_nothing_is_left(self, *, changed_root: bool) -> None:
        """No process, and no file but the index."""
        deadline = time.monotonic() + matrix.PROMPT
        while left := self.processes():  # those that helped notice soon that they are alone
            assert time.monotonic() < deadline, left
        assert _names(self.base / "home") == set()
        assert _names(self.base / "tmp") == set()
        assert _names(self.cache) <= KEPT
        if not changed_root and self._root_before is not None:
            assert self._state_of_root() == self._root_before

    def _state_of_root(self) -> object:
        found = sorted(self.root.rglob("*"))
        return [(str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in found]


def _environment_of(process: Path) -> list[bytes]:
    return (process / "environ").read_bytes().split(b"\0")


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")} if folder.exists() else set()


def wait_for_orphan(process: int) -> Callable[[float], int]:
    """Waits for a process that became our child when its parent died; gives its exit code."""
    descriptor = os.pidfd_open(process)

    def wait(seconds: float) -> int:
        try:
            readable, _, _ = select.select([descriptor], [], [], seconds)
            if not readable:
                os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            assert readable, "the orphan is still there"
            return os.waitstatus_to_exitcode(status)
        finally:
            os.close(descriptor)

    return wait


def opening(framing: FramingName) -> bytes:
    """What a host says before anything else."""
    if framing == "line":
        return b""
    params = {"processId": None, "rootUri": None, "capabilities": editor.CAPABILITIES}
    said = (
        {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
    )
    return b"".join(frame(each, framing) for each in said)


def busy(framing: FramingName, *, reads: bool = True) -> bytes:
    """The opening, a read that takes a while (or none), and a question how many requests run."""
    asked = [("prepare", prepare(BIG_ID))] if reads else []
    requests = [
        {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        for method, params in (*asked, ("status", {}))
    ]
    return opening(framing) + b"".join(frame(each, framing) for each in requests)


def told_busy(*, reads: bool = True) -> bytes:
    """What the answer to that question holds."""
    return json.dumps({"requestsInFlight": int(reads)}, separators=(",", ":"))[1:-1].encode()


def read_until(descriptor: int, wanted: bytes) -> bytes:
    """All that is read until this is part of it."""
    got = b""
    deadline = time.monotonic() + TIMEOUT
    while wanted not in got:
        readable, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        assert readable, f"{wanted!r} did not come"
        more = os.read(descriptor, 1 << 16)
        assert more, f"the end came before {wanted!r}"
        got += more
    return got


def is_stopped(peer: Sidecar) -> bool:
    """Whether the process is suspended."""
    return "\nState:\tT" in Path(f"/proc/{peer.process.pid}/status").read_text()


def wait_until_stopped(peer: Sidecar) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not is_stopped(peer):
        assert time.monotonic() < deadline
