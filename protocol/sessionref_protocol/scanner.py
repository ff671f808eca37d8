"""JSON text walked without recursion: how deep it is, and where the members of an object lie.

For texts that nest deeper than a recursive decoder can go. A parser of its own, strict in the
grammar, that builds nothing; it must agree with msgspec on what is JSON, and a test compares them.
This module knows nothing of types or of the wire.
"""

import re
from array import array
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import msgspec

_SPACE: Final = rb"[ \t\n\r]*+"
_STRING: Final = (
    rb'"[^"\\\x00-\x1f]*+'
    rb'(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
)
_NUMBER: Final = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_KEY: Final = rb"(?P<key>" + _STRING + rb")" + _SPACE + rb":" + _SPACE

_VALUE: Final = re.compile(
    rb"(?:" + _STRING + rb"|" + _NUMBER + rb"|true|false|null"
    rb"|\[" + _SPACE + rb"\]|\{" + _SPACE + rb"\}"
    rb"|(?P<open>\[" + _SPACE + rb"|\{" + _SPACE + _KEY + rb"))",
)
"""A scalar, an empty container, or the start of another with all that precedes its first value."""
_NEXT: Final = {
    ord("["): re.compile(_SPACE + rb"(?:," + _SPACE + rb"|(?P<close>\]))"),
    ord("{"): re.compile(_SPACE + rb"(?:," + _SPACE + _KEY + rb"|(?P<close>\}))"),
}
"""What may follow a value inside each container: its end, or all that precedes the next value."""
_OBJECT: Final = re.compile(_SPACE + rb"\{" + _SPACE + rb"(?:(?P<close>\})|" + _KEY + rb")")
_REST: Final = re.compile(_SPACE + rb"\Z")

_UNCOUNTED: Final = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS: Final = bytes.maketrans(b"[{]}", bytes([1, 1, 255, 255]))
"""Brackets to +1 and -1 (255 as a signed byte)."""
_QUOTED_BRACKETS: Final = re.compile(rb'"[^"]*"')


def depth(text: bytes) -> int:
    """How deep the containers of a valid JSON text nest; 0 for a scalar. Linear, and all in C."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    skeleton = text.translate(None, _UNCOUNTED).replace(b'""', b"")
    brackets = _QUOTED_BRACKETS.sub(b"", skeleton).translate(_STEPS)
    return max(accumulate(array("b", brackets)), default=0)


def members(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The members of the object that `text` is: each key as it is spelled, quotes included, and
    the exact bytes of its value. Every depth; `msgspec.DecodeError` as soon as the text is bad.
    """
    found = _must_match(_OBJECT, text, 0)
    while found["close"] is None:
        start = found.end()
        end = _end_of_value(text, start)
        yield found["key"], text[start:end]
        found = _must_match(_NEXT[ord("{")], text, end)
    _must_match(_REST, text, found.end())


def _end_of_value(text: bytes, at: int) -> int:
    """Where the value that begins at `at` ends."""
    enclosing = bytearray()
    while True:
        value = _must_match(_VALUE, text, at)
        at = value.end()
        if value["open"] is not None:
            enclosing.append(text[value.start()])
            continue
        while enclosing:
            following = _must_match(_NEXT[enclosing[-1]], text, at)
            at = following.end()
            if following["close"] is None:
                break
            enclosing.pop()
        else:
            return at


def _must_match(pattern: re.Pattern[bytes], text: bytes, at: int) -> re.Match[bytes]:
    match = pattern.match(text, at)
    if match is None:
        raise msgspec.DecodeError(f"JSON is malformed at or after byte {at}")
    return match
