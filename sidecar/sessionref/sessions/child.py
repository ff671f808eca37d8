"""A process of ours that does a part of the work on another core: both ends of it.

Begun when there is much to do, ended when that is done; what it does is the concern of the module
that it runs. It is told nothing in its arguments, which anybody may read, and inherits none of our
files. It ends with whoever began it, whose end closes its input. Where there can be none, the work
is done without. Source: issue "instant at ten thousand sessions", 3.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
from queue import SimpleQueue
from typing import IO, Any, Final

_PIPE_BYTES: Final = 512 * 1024
"""How far one side may run ahead of the other, where the system lets us say so."""


class LostError(Exception):
    """The process does not answer any more, or never could. What it was to do is not done."""


class Child:
    """A process that runs a module, as its parent sees it. Blocking, for one thread at a time."""

    def __init__(self, module: str) -> None:
        """Raises `LostError`."""
        if not is_possible():
            raise LostError
        try:
            self._process: Final = subprocess.Popen(  # noqa: S603 (nothing in it is given)
                (sys.executable, "-P", "-m", module),  # P: never what lies in the current folder
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pipesize=_PIPE_BYTES,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            raise LostError from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: Final = self._process.stdin
        self.output: Final = self._process.stdout

    def send(self, message: object) -> None:
        """Tell it something. Raises `LostError`."""
        try:
            pickle.dump(message, self._input, pickle.HIGHEST_PROTOCOL)
            self._input.flush()
        except OSError as error:
            raise LostError from error

    def receive(self) -> Any:
        """What it tells next. Raises `LostError`."""
        try:
            return pickle.load(self.output)  # noqa: S301 (this very program wrote it)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise LostError from error

    def read(self, size: int) -> bytes:
        """The next bytes that it tells. Raises `LostError`."""
        try:
            data = self.output.read(size)
        except OSError as error:
            raise LostError from error
        if len(data) < size:
            raise LostError
        return data

    def close(self) -> None:
        """End it, whatever it does just now."""
        self._process.kill()
        self._process.wait()
        self.output.close()
        try:
            self._input.close()
        except OSError:
            return  # something that it had not taken yet, and that is of no use any more


def is_possible() -> bool:
    """Whether there is a second core, and a Python to run on it."""
    return _cores() > 1 and bool(sys.executable) and not hasattr(sys, "frozen")


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Parent:
    """Who began this process, as the process sees it. Made once, first of all."""

    def __init__(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the parent, too
        self.output: Final[IO[bytes]] = sys.stdout.buffer
        self._messages: Final = SimpleQueue[Any]()
        threading.Thread(target=self._listen, daemon=True).start()

    def receive(self) -> Any:
        """What the parent tells next."""
        return self._messages.get()

    def send(self, message: object) -> None:
        """Tell the parent something."""
        pickle.dump(message, self.output, pickle.HIGHEST_PROTOCOL)
        self.output.flush()

    def _listen(self) -> None:
        """Until the parent is gone. Then nobody needs this process, in whatever it is."""
        try:
            while True:
                self._messages.put(pickle.load(sys.stdin.buffer))  # noqa: S301 (see above)
        finally:
            os._exit(0)
