"""A world for each test, in which nothing may be left; and how long each end took."""

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from faults import matrix
from faults.world import World
from support import logs
from support.requests import BIG_ID
from support.sidecar import FramingName

_PR_SET_CHILD_SUBREAPER = 36

LARGE_ROWS = 280_000
LARGE_BYTES = 7 << 20


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "changes_root: the test itself changes the sessions")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    if sys.platform == "linux":
        return
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="it looks at processes in /proc"))


@pytest.fixture(params=["line", "content-length"])
def framing(request: pytest.FixtureRequest) -> FramingName:
    named: FramingName = request.param
    return named


@pytest.fixture
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(tmp_path / "world")
    yield made
    changed_root = request.node.get_closest_marker("changes_root") is not None
    made.check_nothing_is_left(changed_root=changed_root)


@pytest.fixture(scope="session")
def large_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of which reading takes long, and that a process of its own helps to read."""
    root = tmp_path_factory.mktemp("large")
    log = logs.write_long_log(root, BIG_ID, LARGE_ROWS, "x" * 60, cwd="/large")
    padding = Random(1).randbytes(LARGE_BYTES).hex()
    row = {"type": "todo/write", "seq": LARGE_ROWS, "time": 1, "data": {"padding": padding}}
    with log.open("ab") as file:
        file.write(logs.frame([logs.line(row)]))
    assert log.stat().st_size > LARGE_BYTES
    return root


@pytest.fixture
def reaper() -> Iterator[None]:
    """Who is orphaned among our descendants becomes our child, so that we learn its exit code."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long it took from each fault to the end of the process, at most."""
    if matrix.times:
        terminalreporter.section("seconds from a fault to the end")
        for row in matrix.TABLE:
            if row in matrix.times:
                taken = matrix.times[row]
                bound = f"of {row.within}" if row.codes else "once stdin ended"
                terminalreporter.write_line(
                    f"{max(taken):6.2f} {bound}, at most of {len(taken)}: {row.what}"
                )
