"""The process's ends: descriptors 0 and 1, signals, the parent, and leaving.

The rule: stdout carries protocol only, whatever a library prints; nothing here ever blocks the
event loop, and nothing keeps the process alive once it has decided to leave. This module knows
bytes, not messages. Sources: contract section 6, rules 7 and 8; field notes 25, 26, 33 to 36.
"""

import asyncio
import contextlib
import os
import select
import signal
import socket
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, NoReturn

_READ_BYTES: Final = 64 * 1024
"""What a pipe holds. The system gives out larger pieces of memory page by page, each time anew."""
_PIPE_BUF: Final = 512 if sys.platform == "darwin" else 4096
"""What a pipe that says it is writable takes without blocking (POSIX: PIPE_BUF)."""
_PARENT_POLL_SECONDS: Final = 1.0


def take() -> tuple[int, int]:
    """Private duplicates of stdin and stdout, taken away from everything else.

    Afterwards descriptor 0 reads nothing and descriptor 1 goes where stderr goes, also for child
    processes and C libraries. Call it before anything can print. A descriptor that was closed
    by the parent is replaced by an empty or a discarding one.
    """
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:  # what is opened first takes the place of a descriptor that was closed
        null = os.open(os.devnull, os.O_RDWR)
    inward, outward = os.dup(0), os.dup(1)
    if sys.platform == "win32":  # untested: no Windows machine at hand
        import msvcrt

        for fd in (inward, outward):
            msvcrt.setmode(fd, os.O_BINARY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return inward, outward


class Inlet:
    """Bytes of the peer, handed over on the event loop as they arrive.

    A descriptor that the loop can watch is read there; a regular file, or any descriptor on
    Windows, is read by a daemon thread, which never keeps the process alive.
    """

    def __init__(self, fd: int, received: Callable[[bytes], None], ended: Callable[[], None]):
        self._fd = fd
        self._received = received
        self._ended = ended
        self._loop = asyncio.get_running_loop()

    def open(self) -> None:
        """Begin to read."""
        try:
            self._loop.add_reader(self._fd, self._readable)
        except (NotImplementedError, PermissionError, ValueError, OSError):
            threading.Thread(target=self._read_for_ever, name="stdin", daemon=True).start()

    def _readable(self) -> None:
        chunk = self._read()
        if chunk:
            self._received(chunk)
        else:
            self._loop.remove_reader(self._fd)
            self._ended()

    def _read_for_ever(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            while chunk := self._read():
                self._loop.call_soon_threadsafe(self._received, chunk)
            self._loop.call_soon_threadsafe(self._ended)

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _READ_BYTES)
        except OSError:  # a terminal that hung up, a reset socket: the same as the end
            return b""


class Outlet:
    """Bytes for the peer, written in order without ever making the caller wait.

    A small frame goes out at once where the descriptor is known to take it; everything else
    goes through a queue that a daemon thread empties. `queued` is what the peer has not taken.
    """

    def __init__(self, fd: int, broken: Callable[[], None] | None = None) -> None:
        self._fd = fd
        self._broken = broken
        self._queue: deque[bytes] = deque()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._writing = False
        self._is_broken = False
        self._started = False
        self.queued = 0
        self._loop = asyncio.get_running_loop()
        self._drained: asyncio.Event = asyncio.Event()
        self._drained.set()
        self._write_now = _immediate_writer(fd)
        if broken is not None:
            self._watch()

    def write(self, frame: bytes) -> None:
        """Queue a frame. After the descriptor broke, frames are dropped."""
        with self._lock:
            if self._is_broken:
                return
            if not self._queue and not self._writing and self._write_now is not None:
                try:
                    frame = frame[self._write_now(frame) :]
                except OSError:
                    self._break()
                    return
                if not frame:
                    return
            self._queue.append(frame)
            self.queued += len(frame)
            self._drained.clear()
            if not self._started:
                self._started = True
                threading.Thread(target=self._write_for_ever, name="stdout", daemon=True).start()
            self._changed.notify()

    def _watch(self) -> None:
        """Notice that the peer closed its end before there is anything to write to it."""
        if not hasattr(select, "poll"):
            return
        poller = select.poll()
        poller.register(self._fd, 0)  # only that it broke, which is always told

        def look() -> None:
            if poller.poll(0):
                with self._changed:
                    self._break()
            self._loop.remove_reader(self._fd)

        with contextlib.suppress(NotImplementedError, OSError, ValueError):
            self._loop.add_reader(self._fd, look)

    async def flush(self) -> None:
        """Wait until the peer has taken everything, or the descriptor broke."""
        await self._drained.wait()

    def _write_for_ever(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                if not self._queue:
                    self._tell(self._settle_drained)
                while not self._queue:
                    self._changed.wait()
                frame = self._queue.popleft()
                self._writing = True
            try:
                _write_all(self._fd, frame)
            except OSError:
                with self._changed:
                    self._break()
                return
            with self._changed:
                self.queued -= len(frame)

    def _settle_drained(self) -> None:
        with self._changed:
            if not self._queue and not self._writing:
                self._drained.set()

    def _break(self) -> None:
        self._is_broken = True
        self._queue.clear()
        self.queued = 0
        self._tell(self._drained.set)
        if self._broken is not None:
            self._tell(self._broken)

    def _tell(self, callback: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(callback)


def _immediate_writer(fd: int) -> Callable[[bytes], int] | None:
    """A write that takes what goes without waiting and says how much; None where there is none."""
    kind = os.fstat(fd).st_mode
    if stat.S_ISSOCK(kind) and hasattr(socket, "MSG_DONTWAIT"):
        peer = socket.socket(fileno=os.dup(fd))

        def send(frame: bytes) -> int:
            try:
                return peer.send(frame, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return 0

        return send
    if stat.S_ISFIFO(kind) and hasattr(select, "poll"):
        poller = select.poll()
        poller.register(fd, select.POLLOUT)

        def write(frame: bytes) -> int:
            if len(frame) > _PIPE_BUF or not poller.poll(0):
                return 0
            return os.write(fd, frame)

        return write
    return None


def _write_all(fd: int, frame: bytes) -> None:
    rest = memoryview(frame)
    while rest:
        try:
            rest = rest[os.write(fd, rest[: 1 << 20]) :]
        except BlockingIOError:  # somebody made the shared description non-blocking
            select.select([], [fd], [])


def on_signals(terminate: Callable[[], None], interrupt: Callable[[], None]) -> None:
    """Call back on the event loop at SIGTERM and SIGINT."""
    loop = asyncio.get_running_loop()
    for number, callback in ((signal.SIGTERM, terminate), (signal.SIGINT, interrupt)):
        try:
            loop.add_signal_handler(number, callback)
        except NotImplementedError:  # Windows (untested)
            signal.signal(number, lambda *_, call=callback: loop.call_soon_threadsafe(call))


def watch_parent(gone: Callable[[], None]) -> None:
    """Call back once the process that started us is gone, even if a sibling holds our stdin."""
    parent = os.getppid()
    if parent <= 1:
        return  # started by the system itself, or already orphaned: the end of stdin must do
    loop = asyncio.get_running_loop()
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            pidfd = os.pidfd_open(parent)
            if os.getppid() == parent:
                loop.add_reader(pidfd, gone)
                return
            os.close(pidfd)

    def look() -> None:
        if os.getppid() != parent:
            gone()
        else:
            loop.call_later(_PARENT_POLL_SECONDS, look)

    look()


def watch_process(pid: int, gone: Callable[[], None]) -> None:
    """Call back once a process that the peer names is gone; on Linux.

    Nothing follows from one that can't be seen: it may be in another namespace.
    """
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError, OverflowError):
            asyncio.get_running_loop().add_reader(os.pidfd_open(pid), gone)


def leave(code: int) -> NoReturn:
    """End the process now: threads that can't be interrupted don't keep it alive."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    finally:
        os._exit(code)
