"""Processes that help with much to read: nothing is different but the time it takes.

Logs here are a few frames over what is unpacked at one time, so thresholds are set to nothing.
"""

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from sessionref.config import LIMITS
from sessionref.sessions import child, lookers, root, unpacker
from sessionref.sessions.child import Child
from sessionref.sessions.dsh import DshStore
from sessionref.sessions.logfile import OUT_OF_TIME
from sessionref.sessions.model import ReadError, Reading
from sessionref.sessions.root import Root
from sessionref.sessions.stop import Stop, StoppedError
from sessionref.sessions.workers import Workers
from support import logs

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a log is unpacked in one process there")

TURNS = 400


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Child]]:
    """Every process that was begun; each gets its chance, and all have ended in the end."""
    children: list[Child] = []
    init = Child.__init__

    def begin(self: Child, module: str) -> None:
        init(self, module)
        children.append(self)

    monkeypatch.setattr(Child, "__init__", begin)
    monkeypatch.setattr(child, "_cores", lambda: 2)
    monkeypatch.setattr(unpacker, "LARGE_BYTES", 0)
    monkeypatch.setattr(lookers, "MANY_BYTES", 0)
    monkeypatch.setattr(unpacker, "select", PatientSelect)
    yield children
    assert [each for each in children if each._process.returncode is None] == []


class PatientSelect:
    """Waits for what is otherwise only asked for, so that a process has the time to begin."""

    @staticmethod
    def select(*lists: Any) -> Any:
        return select.select(*lists[:3], 60)


def rows(seed: int = 0) -> list[logs.Row]:
    """A talk that does not compress well."""
    rnd = random.Random(seed)
    said: list[logs.Row] = []
    for _ in range(TURNS):
        said += [logs.user(rnd.randbytes(500).hex()), logs.assistant(rnd.randbytes(500).hex())]
    return [*said, logs.title("A talk")]


def write(root: Path, session_id: str, said: list[logs.Row]) -> Path:
    """In frames of three rows."""
    return logs.write_log(root, session_id, said, batch=3)


def outcome(root: Path, session_id: str, *, alone: bool = False) -> Reading | tuple[str, str]:
    reader = Root(str(root), LIMITS, alone=alone)
    log, _ = reader.find(session_id, Stop())
    try:
        return reader.take(log, Stop()).reading
    except ReadError as error:
        return error.cause, error.reason


def cut_in_the_last_frame(content: bytes) -> bytes:
    return content[:-20]


def cut_in_the_first_frame(content: bytes) -> bytes:
    return content[:60]


def damage_late(content: bytes) -> bytes:
    at = len(content) * 4 // 5
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def damage_early(content: bytes) -> bytes:
    return content[:200] + bytes([content[200] ^ 1]) + content[201:]


def add_rubbish(content: bytes) -> bytes:
    return content + b"rubbish"


def add_a_bad_record(content: bytes) -> bytes:
    return content + logs.frame([b'{"type":"turn/start","seq":9999,"time":1}\n'])


@pytest.mark.parametrize(
    "change",
    [
        bytes,
        cut_in_the_last_frame,
        cut_in_the_first_frame,
        damage_late,
        damage_early,
        add_rubbish,
        add_a_bad_record,
    ],
)
def test_a_log_comes_to_the_same(
    tmp_path: Path, begun: list[Child], change: Callable[[bytes], bytes]
) -> None:
    path = write(tmp_path, "a", rows())
    path.write_bytes(change(path.read_bytes()))
    expected = outcome(tmp_path, "a", alone=True)
    assert begun == []
    assert outcome(tmp_path, "a") == expected
    assert len(begun) == 1


def test_where_reading_goes_on_is_the_same(tmp_path: Path, begun: list[Child]) -> None:
    path = write(tmp_path, "a", rows())
    path.write_bytes(cut_in_the_last_frame(path.read_bytes()))
    starts = []
    for alone in (True, False):
        root = Root(str(tmp_path), LIMITS, alone=alone)
        log, _ = root.find("a", Stop())
        start = root.take(log, Stop()).start
        assert start is not None
        starts.append((start.pause.position, start.print, start.pause.reader.state()))
    assert starts[0] == starts[1]
    write(tmp_path, "a", rows())
    assert root.take(log, Stop(), start).reading.title == "A talk"
    assert outcome(tmp_path, "a", alone=True) == outcome(tmp_path, "a")


@pytest.mark.parametrize("reads", [0, 1, 2, 3, 4])
def test_a_process_that_is_killed_is_done_without(
    tmp_path: Path, begun: list[Child], monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    write(tmp_path, "a", rows())
    expected = outcome(tmp_path, "a", alone=True)
    real = Child.read
    done = []

    def read(self: Child, size: int) -> bytes:
        if len(done) == reads:
            self._process.kill()
            self._process.wait()
            self.output.close()
            raise child.LostError
        done.append(size)
        return real(self, size)

    monkeypatch.setattr(Child, "read", read)
    root = Root(str(tmp_path), LIMITS)
    log, _ = root.find("a", Stop())
    for _ in range(2):
        assert root.take(log, Stop()).reading == expected
    assert len(begun) == 1


def test_where_no_process_can_begin_it_is_done_without(
    tmp_path: Path, begun: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    write(tmp_path, "a", rows())
    expected = outcome(tmp_path, "a", alone=True)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert outcome(tmp_path, "a") == expected
    monkeypatch.setattr(child, "_cores", lambda: 1)
    assert outcome(tmp_path, "a") == expected
    assert begun == []


def test_another_file_in_its_place_is_not_unpacked(
    tmp_path: Path, begun: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "a", rows())
    write(tmp_path / "other", "a", rows(1))
    other = next((tmp_path / "other").rglob("*.zstd"))
    real = Child.send

    def send(self: Child, message: object) -> None:
        os.replace(other, path)
        real(self, message)

    monkeypatch.setattr(Child, "send", send)
    got = outcome(tmp_path, "a")
    assert got == outcome(tmp_path, "a", alone=True)
    assert isinstance(got, Reading)
    assert got.nodes[0].text == random.Random(1).randbytes(500).hex()


def test_unpacking_takes_no_longer_than_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing comes out of it for which anybody could count the time."""

    def hasty(*part: Any) -> unpacker.Part:
        return unpacker.Part(*part)._replace(max_seconds=0)

    monkeypatch.setattr(root, "Part", hasty)
    write(tmp_path, "a", rows())
    assert outcome(tmp_path, "a") == ("corrupt", OUT_OF_TIME)


def test_nobody_waits_for_what_is_stopped(tmp_path: Path, begun: list[Child]) -> None:
    write(tmp_path, "a", rows())
    root, stop = Root(str(tmp_path), LIMITS), Stop()
    log, _ = root.find("a", stop)
    steps = []

    def check() -> None:
        steps.append(1)
        if len(steps) == 8:
            raise StoppedError

    stop.check = check  # type: ignore[method-assign]
    with pytest.raises(StoppedError):
        root.take(log, stop)
    assert len(begun) == 1  # and has ended, as the fixture sees


# Looking at many


@pytest.fixture
def all_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """No log alone is worth another process."""
    monkeypatch.setattr(unpacker, "LARGE_BYTES", 10**12)


async def told(root: Path) -> dict[str, Any]:
    store = DshStore(str(root), Workers(2, 2), LIMITS, openings=True)
    return dict(await store.summaries((await store.list()).entries))


@pytest.mark.usefixtures("all_small")
def test_summaries_are_the_same(
    tmp_path: Path, begun: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(70):
        said = [logs.user(f"q {number} \ud800"), logs.title(f"Title {number}")]
        logs.write_log(tmp_path, f"session-{number}", said, zstd=number % 2 == 0)
    path = logs.write_log(tmp_path, "damaged", [logs.user("q")] * 3)
    path.write_bytes(damage_early(path.read_bytes() * 3))
    seen = anyio.run(told, tmp_path)
    assert {each._process.args[-1] for each in begun} == {"sessionref.sessions.lookers"}
    count = len(begun)
    monkeypatch.setattr(lookers, "MANY_BYTES", 10**12)
    assert seen == anyio.run(told, tmp_path)
    assert len(begun) == count
    assert (seen["session-7"].title, seen["session-7"].opening) == ("Title 7", "q 7 \ud800")


@pytest.mark.usefixtures("all_small")
def test_a_looker_that_is_killed_is_done_without(
    tmp_path: Path, begun: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(70):
        logs.write_log(tmp_path, f"session-{number}", [logs.title(f"Title {number}")])
    real = Child.send

    def send(self: Child, message: object) -> None:
        self._process.kill()
        self._process.wait()
        real(self, message)

    monkeypatch.setattr(Child, "send", send)
    seen = anyio.run(told, tmp_path)
    assert {key: summary.title for key, summary in seen.items()} == {
        f"session-{number}": f"Title {number}" for number in range(70)
    }
    assert 1 <= len(begun) <= 2


# What a process is told, and when it ends


def test_its_arguments_tell_nothing_and_nothing_in_the_current_folder_is_run(
    tmp_path: Path, begun: list[Child], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a", rows())
    (tmp_path / "msgspec.py").write_text("open('was-run', 'w')")
    monkeypatch.chdir(tmp_path)
    assert isinstance(outcome(tmp_path, "a"), Reading)
    (process,) = begun
    assert process._process.args == (sys.executable, "-P", "-m", "sessionref.sessions.unpacker")
    assert not (tmp_path / "was-run").exists()


PARENT = """
import sys
from sessionref.sessions.child import Child
child = Child(sys.argv[1])
print(child._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="tells by /proc whether it has ended")
@pytest.mark.parametrize("module", ["sessionref.sessions.lookers", "sessionref.sessions.unpacker"])
def test_a_process_ends_with_its_parent(module: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, module], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        stat = Path(f"/proc/{int(parent.stdout.readline())}/stat")
        assert stat.exists()
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
