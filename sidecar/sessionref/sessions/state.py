"""Where a fold stands, without anything that was said: enough to go on, not to be quoted.

Values only, made and taken by `surface` and `fold`; they may be kept where no conversation may be.
Source: issue "instant at ten thousand sessions", 1.
"""

from typing import Final

import msgspec


class SurfaceState(msgspec.Struct, frozen=True, omit_defaults=True):
    """A surface without its texts."""

    gaps: tuple[int, ...] = ()
    """The seqs in surface order, each as the difference to the one before, which is shorter."""
    tool_results: tuple[int, ...] = ()
    systems: tuple[int, ...] = ()


class FoldState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fold without its texts, but for what the session is called."""

    surface: SurfaceState = SurfaceState()
    next_seq: int = 0
    turn_open: bool = False
    step_open: bool = False
    pending: tuple[str, ...] = ()
    title: str | None = None
    name: str | None = None
    unknown: int = 0
    dropping: bool = False
    last_activity_at: int | None = None


BEGINNING: Final = FoldState()
"""Where every fold begins."""
