"""Two kinds of rows for one menu, looked for at the same time.

Either kind may fail, or hang, without taking the other's rows. Knows neither what is looked for
nor who asks. Source: issue "`@` completion in every editor", 6.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import anyio

from sessionref.sessions.model import ReadError
from sessionref_protocol.errors import RpcError

A = TypeVar("A")
B = TypeVar("B")

_log: Final = logging.getLogger(__name__)

GRACE_SECONDS: Final = 0.3
"""How long a menu that has rows already waits for the others."""


async def side_by_side(
    first: Callable[[], Awaitable[Sequence[A]]],
    second: Callable[[], Awaitable[Sequence[B]]],
    grace: float = GRACE_SECONDS,
) -> tuple[Sequence[A], Sequence[B]]:
    """The rows of both; none of one that failed, or was `grace` seconds later than the other."""
    ones: Sequence[A] = ()
    others: Sequence[B] = ()

    async def look_first() -> None:
        nonlocal ones
        ones = await _rows(first)
        hurry(ones)

    async def look_second() -> None:
        nonlocal others
        others = await _rows(second)
        hurry(others)

    def hurry(found: Sequence[object]) -> None:
        if found:
            tasks.cancel_scope.deadline = anyio.current_time() + grace

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look_first)
        tasks.start_soon(look_second)
    return ones, others


async def _rows(look: Callable[[], Awaitable[Sequence[A]]]) -> Sequence[A]:
    try:
        return await look()
    except Exception as error:  # whatever it was, the other rows are no worse for it
        is_expected = isinstance(error, RpcError | ReadError)
        _log.warning("Half of a menu is missing: %s", error, exc_info=not is_expected)
        return ()
