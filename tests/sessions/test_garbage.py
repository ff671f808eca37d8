"""What a read has kept is gone when its answer is gone, not when cycles are looked for.

Between two runs of the collector a busy host may well ask for a hundred large sessions.
"""

import gc
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from sessionref.sessions.dsh import DshStore
from sessionref.sessions.fold import LogFold
from sessionref.sessions.log import LogReader
from sessionref.sessions.model import ReadError, Reading
from sessionref.sessions.surface import Surface
from sessionref.sessions.workers import Workers
from support import logs


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """Filled, when the test calls `gc.collect()`, with what only the collector could free."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("damaged", [False, True])
def test_a_read_leaves_no_cycles(tmp_path: Path, garbage: list[object], damaged: bool) -> None:
    rows: list[logs.Row] = [logs.user("x" * 1000), logs.assistant("y")]
    if damaged:
        rows += [b"{", b'{"type":"turn/end"}']
    logs.write_log(tmp_path, "a", rows)

    async def read() -> None:
        store = DshStore(str(tmp_path), Workers(1, 1))
        for _ in range(3):
            try:
                await store.read("a")
            except ReadError:
                assert damaged
            else:
                assert not damaged

    anyio.run(read)
    gc.collect()
    kept = (LogFold, LogReader, Surface, Reading)
    assert [type(each) for each in garbage if isinstance(each, kept)] == []
