"""Logs that take much memory are read one at a time, so that all together take what one does.

A read asks for its turn when it turns out to be heavy, and waits as long as another one has it. Who
has it and is not waited for any more has lost it: a read that hangs holds up nobody. Used by worker
threads; knows no logs. Source: the contract, section 6, rules 2 and 9.
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Final
from weakref import WeakMethod

from sessionref.config import MIB
from sessionref.sessions.stop import Stop

HEAVY_BYTES: Final = 8 * MIB
"""Of memory; few real logs take so much."""

_LOOK_SECONDS: Final = 0.05
"""How often those who wait look whether anybody waits for them, and for whom they wait."""

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
"""Of glibc's malloc.h."""


class Turns:
    """Whose turn it is. A read is known by its `Stop`."""

    def __init__(self) -> None:
        self._changed: Final = threading.Condition()
        self._owner: Stop | None = None
        self._keepers: list[WeakMethod[Callable[[int], None]]] = []

    def tell(self, keeper: Callable[[int], None]) -> None:
        """Somebody keeps memory that a heavy read may want, and is told how many bytes it takes.

        That is done again and again, and by the thread that reads. `keeper`: a bound method, which
        keeps nobody alive.
        """
        self._keepers.append(WeakMethod(keeper))

    def weigh(self, read: Stop, weight: int) -> None:
        """A read takes so many bytes: wait for its turn if that is much. Raises as its `Stop`."""
        if weight <= HEAVY_BYTES:
            return
        if self._owner is not read:
            with self._changed:
                while self._owner is not None and not self._owner.is_set:
                    self._changed.wait(_LOOK_SECONDS)
                    read.check()
                self._owner = read
            _keep_little()
        for known in self._keepers:
            if (keeper := known()) is not None:
                keeper(weight)

    def leave(self, read: Stop) -> None:
        """A read has ended."""
        with self._changed:
            if self._owner is read:
                give_back()
                self._owner = None
                self._changed.notify()


def give_back() -> None:
    """Give the system what is free. The C library keeps some for each thread that ever took it."""
    if (library := _library()) is not None:
        library.malloc_trim(0)


@cache
def _keep_little() -> None:
    """From now on, let the C library keep no large block that is free, however it was used before.

    As a rule it learns to, from each that is: then what a heavy read leaves can't be used for the
    next one, nor given back.
    """
    if (library := _library()) is not None:
        library.mallopt(_M_MMAP_THRESHOLD, MIB)
        library.mallopt(_M_TRIM_THRESHOLD, MIB)


@cache
def _library() -> Any:
    """The C library, if it is the one that keeps memory and can be told not to: glibc."""
    import ctypes  # few processes ever need it

    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # Windows
        return None
    return library if hasattr(library, "malloc_trim") and hasattr(library, "mallopt") else None
