"""A spawned sidecar, spoken to over real pipes as a host would.

Every wait has a bound; nothing sleeps. Two threads read stdout and stderr, so that the program
never waits for us unless a test wants it to (`drain=False`). What comes out is checked on the
way: each line of stdout is one JSON object of JSON-RPC 2.0, in UTF-8, or the next call fails.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple

PROGRAM = Path(sys.executable).with_name("sessionref")
TIMEOUT = 20.0
FramingName = Literal["line", "content-length"]
ABSENT: Any = object()


class WireError(Exception):
    """An error answer."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: dict[str, Any] = error.get("data", {})


class Heard(NamedTuple):
    """One line of stdout."""

    line: bytes
    message: dict[str, Any]


def encode(value: object) -> bytes:
    """One line. Only ASCII goes out, so lone surrogates do too."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def frame(value: object, framing: FramingName) -> bytes:
    """The bytes of one JSON value on the wire."""
    return frame_of(encode(value)[:-1], framing)


def frame_of(payload: bytes, framing: FramingName) -> bytes:
    """The frame of a payload, JSON or not."""
    if framing == "line":
        return payload + b"\n"
    return b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload)


def clean_environment(home: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what could change the program's answers."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("SESSIONREF_", "DSH_", "XDG_", "PYTHON"))
    }
    return {**kept, "HOME": home, **(extra or {})}


class Sidecar:
    """One process. Use it as a context manager: leaving it ends the process."""

    def __init__(
        self,
        *arguments: str,
        roots: Sequence[Path | str] = (),
        env: Mapping[str, str] | None = None,
        drain: bool = True,
        hear_stderr: bool = True,
        command: Sequence[str] | None = None,
        framing: FramingName = "line",
        cache: Path | str | None = None,
    ) -> None:
        """`cache`: the folder of its index; by default one that no other process knows."""
        self._framing = framing
        self._home = tempfile.TemporaryDirectory(prefix="sidecar-home-")
        flags = [flag for root in roots for flag in ("--root", str(root))]
        self.process = subprocess.Popen(
            [*(command or [str(PROGRAM)]), *arguments, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=clean_environment(
                self._home.name,
                {"SESSIONREF_CACHE_DIR": str(cache or Path(self._home.name) / "cache")}
                | dict(env or {}),
            ),
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self._stdin = self.process.stdin
        self._stdout = self.process.stdout
        self._stderr = self.process.stderr
        os.set_blocking(self._stdin.fileno(), False)
        self._news = threading.Condition()
        self._heard: list[Heard] = []
        self._taken = 0
        self._fault: str | None = None
        self._ended = False
        self._errors = bytearray()
        self._next_id = 0
        self._held: bytearray | None = None
        self._threads: list[threading.Thread] = []
        self._reading = False
        if hear_stderr:
            self._listen(self._listen_to_stderr)
        if drain:
            self.drain()

    # what the threads do

    def drain(self) -> None:
        """Begin to read stdout (at once, unless the constructor was told not to)."""
        assert not self._reading
        self._reading = True
        self._listen(self._listen_to_stdout)

    def close_stdout(self) -> None:
        """Hang up without reading."""
        assert not self._reading
        self._reading = True
        self._stdout.close()

    def _listen(self, listener: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=listener, daemon=True))
        self._threads[-1].start()

    def _listen_to_stdout(self) -> None:
        rest = bytearray()
        while chunk := os.read(self._stdout.fileno(), 1 << 16):
            rest += chunk
            if self._framing == "line" and b"\n" not in chunk:
                continue
            lines, rest = self._take_apart(rest)
            with self._news:
                for line in lines:
                    self._hear(bytes(line))
                self._news.notify_all()
        is_torn = bool(rest) and self.process.wait() != -signal.SIGKILL
        with self._news:
            if is_torn:
                self._fault = f"the last frame has no end: {bytes(rest[:200])!r}"
            self._ended = True
            self._news.notify_all()

    def _take_apart(self, received: bytearray) -> tuple[list[bytearray], bytearray]:
        """The payloads of whole frames, and what is left."""
        if self._framing == "line":
            *lines, rest = received.split(b"\n")
            return lines, rest
        payloads = []
        while (end := received.find(b"\r\n\r\n")) >= 0:
            name, _, length = received[:end].partition(b": ")
            stop = end + 4 + int(length) if name == b"Content-Length" else -1
            if not end < stop <= len(received):
                break
            payloads.append(received[end + 4 : stop])
            received = received[stop:]
        return payloads, received

    def _hear(self, line: bytes) -> None:
        try:
            message = json.loads(line.decode("utf-8"))
            assert isinstance(message, dict)
            assert message["jsonrpc"] == "2.0"
            assert "method" in message or ("result" in message) != ("error" in message)
            assert "method" in message or "id" in message
            assert b"\xe2\x80\xa8" not in line, "U+2028"
            assert b"\xe2\x80\xa9" not in line, "U+2029"
        except (ValueError, AssertionError, KeyError):
            self._fault = f"stdout holds something that is no message of ours: {line[:200]!r}"
        else:
            self._heard.append(Heard(line, message))

    def _listen_to_stderr(self) -> None:
        while chunk := os.read(self._stderr.fileno(), 1 << 16):
            self._errors += chunk

    # what we say

    def send_raw(self, raw: bytes, timeout: float = TIMEOUT) -> None:
        """Write bytes as they are."""
        if self._held is not None:
            self._held += raw
            return
        descriptor = self._stdin.fileno()
        deadline = time.monotonic() + timeout
        left = memoryview(raw)
        while left:
            wait = deadline - time.monotonic()
            _, writable, _ = select.select([], [descriptor], [], max(wait, 0))
            if not writable:
                raise TimeoutError(f"the sidecar did not read {len(left)} bytes in {timeout} s")
            left = left[os.write(descriptor, left) :]

    @contextlib.contextmanager
    def in_one_breath(self) -> Iterator[None]:
        """What is said inside of this is written at once, at its end."""
        self._held = bytearray()
        yield
        raw, self._held = bytes(self._held), None
        self.send_raw(raw)

    def send(self, value: object) -> None:
        """Write one JSON value as a frame."""
        self.send_raw(self.frame(value))

    def frame(self, value: object) -> bytes:
        """The bytes of one JSON value."""
        return frame(value, self._framing)

    def frame_of(self, payload: bytes) -> bytes:
        """The frame of a payload, JSON or not."""
        return frame_of(payload, self._framing)

    def notify(self, method: str, params: object = ABSENT) -> None:
        rest = {} if params is ABSENT else {"params": params}
        self.send({"jsonrpc": "2.0", "method": method, **rest})

    def request(
        self, method: str, params: object = ABSENT, *, request_id: int | str | None = None
    ) -> int | str:
        """Send a request without waiting for anything; its id is the answer."""
        if request_id is None:
            self._next_id += 1
            request_id = self._next_id
        rest = {} if params is ABSENT else {"params": params}
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, **rest})
        return request_id

    def respond(self, request_id: object, result: object) -> None:
        """Answer a request that the sidecar made to its host."""
        self.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def close_stdin(self) -> None:
        self._stdin.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    # what we hear

    def _wait_for(
        self, what: str, found: Callable[[Mapping[str, Any]], bool], timeout: float
    ) -> Heard:
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                if self._fault is not None:
                    raise AssertionError(self._fault)
                for at, heard in enumerate(self._heard):
                    if found(heard.message):
                        return self._heard.pop(at)
                left = deadline - time.monotonic()
                if self._ended or left <= 0:
                    why = "stdout is at its end" if self._ended else f"nothing in {timeout} s"
                    errors = bytes(self._errors[-2000:]).decode(errors="replace")
                    raise TimeoutError(f"{what}: {why}; stderr: {errors}")
                self._news.wait(left)

    def hear(self, request_id: object, timeout: float = TIMEOUT) -> Heard:
        """The line that answers this id, which may be None. Ids compare by type and value."""

        def found(message: Mapping[str, Any]) -> bool:
            return (
                "method" not in message
                and type(message["id"]) is type(request_id)
                and message["id"] == request_id
            )

        return self._wait_for(f"answer to {request_id!r}", found, timeout)

    def answer(self, request_id: object, timeout: float = TIMEOUT) -> dict[str, Any]:
        """The whole message that answers this id."""
        return self.hear(request_id, timeout).message

    def settle(self, request_id: object, timeout: float = TIMEOUT) -> Any:
        """The result for this id; raises `WireError` for an error."""
        message = self.answer(request_id, timeout)
        if "error" in message:
            raise WireError(message["error"])
        return message["result"]

    def call(self, method: str, params: object = ABSENT, timeout: float = TIMEOUT) -> Any:
        """One request and its result; raises `WireError` for an error."""
        return self.settle(self.request(method, params), timeout)

    def fails(self, method: str, params: object = ABSENT, timeout: float = TIMEOUT) -> WireError:
        """One request that must be answered with an error."""
        request_id = self.request(method, params)
        message = self.answer(request_id, timeout)
        assert "error" in message, message
        return WireError(message["error"])

    def asked(self, method: str, timeout: float = TIMEOUT) -> dict[str, Any]:
        """A request or notification that the sidecar sends to its host."""
        return self._wait_for(
            f"{method} from the sidecar", lambda m: m.get("method") == method, timeout
        ).message

    def unclaimed(self) -> list[dict[str, Any]]:
        """Every message that nobody has asked for yet."""
        with self._news:
            if self._fault is not None:
                raise AssertionError(self._fault)
            return [heard.message for heard in self._heard]

    # how it ends

    def wait(self, timeout: float = TIMEOUT) -> int:
        """The exit code, once the process has ended and its pipes are read to the end."""
        code = self.process.wait(timeout)
        for thread in self._threads:
            thread.join(timeout)
            assert not thread.is_alive()
        return code

    @property
    def stderr(self) -> bytes:
        """What it has written to stderr so far."""
        return bytes(self._errors)

    def __enter__(self) -> "Sidecar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._stdin.close()
        if not self._reading:
            self.drain()
        try:
            self.wait(timeout=10 if kind is None else 1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.wait()
            if kind is None:
                raise
        finally:
            self._stdout.close()
            self._stderr.close()
            self._home.cleanup()
        if kind is None:
            self.unclaimed()
