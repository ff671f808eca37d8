"""Files and sessions for one menu: neither side takes the other's rows."""

import logging
import math
from collections.abc import Awaitable, Callable, Sequence

import anyio
import pytest

from sessionref.lsp.offers import side_by_side
from sessionref.sessions.model import ReadError
from sessionref_protocol.errors import ErrorKind, RpcError

pytestmark = pytest.mark.asyncio

Side = Callable[[], Awaitable[Sequence[str]]]
BOUND = 20.0


def gives(*rows: str) -> Side:
    async def look() -> Sequence[str]:
        return rows

    return look


def raises(error: Exception) -> Side:
    async def look() -> Sequence[str]:
        raise error

    return look


async def hangs() -> Sequence[str]:
    await anyio.sleep_forever()
    raise AssertionError


FAULTS = [
    raises(ReadError("io", "gone")),
    raises(RpcError(ErrorKind.READ_FAILED, "gone")),
    raises(RuntimeError("ours")),
    raises(TimeoutError()),
    hangs,
]
NAMES = ["can't be read", "is refused", "has a fault", "times out", "hangs"]


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
async def test_the_first_is_without_the_second(fault: Side) -> None:
    with anyio.fail_after(BOUND):
        assert await side_by_side(gives("a"), fault, grace=0.01) == (("a",), ())


@pytest.mark.parametrize("fault", FAULTS, ids=NAMES)
async def test_the_second_is_without_the_first(fault: Side) -> None:
    with anyio.fail_after(BOUND):
        assert await side_by_side(fault, gives("b"), grace=0.01) == ((), ("b",))


async def test_who_is_a_little_later_is_waited_for() -> None:
    first_came = anyio.Event()

    async def first() -> Sequence[str]:
        first_came.set()
        return ["a"]

    async def second() -> Sequence[str]:
        await first_came.wait()
        await anyio.lowlevel.checkpoint()
        return ["b"]

    assert await side_by_side(first, second, grace=BOUND) == (["a"], ["b"])


async def test_no_rows_hurry_nobody() -> None:
    """A side that found nothing has nothing to show, so the other may take its time."""
    nothing_came = anyio.Event()

    async def nothing() -> Sequence[str]:
        nothing_came.set()
        return []

    async def slow() -> Sequence[str]:
        await nothing_came.wait()
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        return ["b"]

    assert await side_by_side(nothing, slow, grace=-math.inf) == ([], ["b"])
    assert await side_by_side(slow, nothing, grace=-math.inf) == (["b"], [])


async def test_both_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert await side_by_side(raises(ReadError("io", "gone")), raises(KeyError("x"))) == (
            (),
            (),
        )
    assert [bool(record.exc_info) for record in caplog.records] == [False, True]


async def test_a_cancel_ends_both() -> None:
    with anyio.move_on_after(0.01) as scope:
        await side_by_side(hangs, hangs)
    assert scope.cancelled_caught
