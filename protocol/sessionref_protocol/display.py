"""Text as people may see it: nothing in it can hide, reorder or break lines. A pure leaf.

Rule: a character is shown as `\\u{hex}`, lower-case and without leading zeros, if it is

- a control, a lone surrogate, or a line or paragraph separator;
- default-ignorable, which means that renderers draw nothing (Unicode, DerivedCoreProperties): all
  bidirectional controls and all zero-width characters are, and soft hyphens, fillers and tags;
- an interlinear annotation mark.

All else stays, also U+FE0E and U+FE0F: they pick the form of the symbol before them, and common
ones have one (a heart, a check mark). Exact values never pass through here; they travel beside the
display. Source of the rule: the contract, section 5, `display`.
"""

import re
from bisect import bisect_right
from itertools import accumulate
from json.encoder import encode_basestring_ascii as ascii_json
from typing import Final

from .ecmascript import utf16_length

_HIDING: Final = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufff9-\ufffb"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
    "]"
)


def printable(text: str) -> str:
    """`text` with every character that could deceive a reader spelled out."""
    if text.isprintable() and text.isascii():
        return text
    return _HIDING.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)


def json_printable(json: str) -> str:
    """Compact JSON with the same characters spelled as JSON spells them: it means what it meant."""
    return _HIDING.sub(lambda found: ascii_json(found[0])[1:-1], json)


def excerpt(text: str, limit: int) -> str:
    """`printable(text)`, cut between characters and ended by `…` where it exceeds `limit` units."""
    shown = [printable(character) for character in text[: limit + 1]]
    sizes = list(accumulate(utf16_length(piece) for piece in shown))
    if not sizes or sizes[-1] <= limit:
        return "".join(shown)
    return "".join(shown[: bisect_right(sizes, limit - 1)]) + "…"
