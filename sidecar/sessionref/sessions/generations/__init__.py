"""Every generation of the log format that we know, and the best guess for newer ones.

A new generation is one module here and one line in `KNOWN`.
"""

from typing import Final

from sessionref.sessions.generations.shape import Generation
from sessionref.sessions.generations.v0 import V0
from sessionref.sessions.generations.v1 import V1
from sessionref.sessions.generations.v2 import V2
from sessionref.sessions.generations.v3 import V3
from sessionref.sessions.generations.v4 import V4

__all__ = ["KNOWN", "Generation", "generation"]

KNOWN: Final[tuple[Generation, ...]] = (V0, V1, V2, V3, V4)


def generation(number: int) -> Generation:
    """The rules for the format generation `number`."""
    if number < len(KNOWN):
        return KNOWN[number]
    return KNOWN[-1].stretched_to(number)
