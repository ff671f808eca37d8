"""Whether somebody is typing an `@`, and what since.

Pure: a line up to the cursor in, an `@query` out. Knows no sessions and no editor. Source of the
rule: issue "`@` completion in every editor", 2; field note 38.
"""

import unicodedata
from typing import Final

import msgspec

from sessionref_protocol import mention
from sessionref_protocol.ecmascript import WHITE_SPACE

MAX_QUERY: Final = 200
"""Characters since the `@`; nobody types so much to find a session."""

_LONGEST_MENTION: Final = 64 * 1024
"""Characters; in a longer one an `@` may be taken for the beginning of a query."""

_QUOTES: Final = frozenset("\"'`＂＇<＜")
"""Opening ones that Unicode does not call so: they have no direction, or are signs."""
_CJK_STOPS: Final = frozenset("、。，．：；！？")
"""Behind these nobody types a space."""


class Typed(msgspec.Struct, frozen=True):
    """An `@` and what was typed since."""

    at: int
    """The index of the `@` in its line."""
    query: str


def typed_before(line: str, cursor: int) -> Typed | None:
    """The last `@` before the cursor that begins a query; None where there is none.

    One that begins a finished mention begins no query, and one inside of a mention's label or in
    the middle of a word (an address, say) neither.
    """
    low = max(0, cursor - MAX_QUERY - 1)
    at = cursor
    while (at := line.rfind("@", low, at)) >= 0:
        if _may_begin(line[at - 1] if at else None):
            return None if _is_in_mention(line, at) else Typed(at, line[at + 1 : cursor])
    return None


def _may_begin(before: str | None) -> bool:
    return (
        before is None
        or before in WHITE_SPACE
        or before in _QUOTES
        or before in _CJK_STOPS
        or unicodedata.category(before) in ("Ps", "Pi")
    )


def _is_in_mention(line: str, at: int) -> bool:
    """Whether this `@` is in a mention, malformed or not, or begins one."""
    low = max(0, at - _LONGEST_MENTION)
    around = line[low : at + _LONGEST_MENTION]
    return any(hit.start <= at - low < hit.end for hit in mention.scan(around))
