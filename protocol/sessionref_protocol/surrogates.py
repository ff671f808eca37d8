"""Lone surrogate escapes, hidden from a decoder that refuses them and put back afterwards.

ECMAScript strings may hold half of a surrogate pair, and JSON text spells it `\\ud83d`. msgspec
refuses such text. Here every such escape is replaced by a mark that msgspec takes, msgspec decodes
(so types, errors and `Raw` members come out as always), and the marks in what it made are turned
back: into the surrogate in a `str`, into the very bytes of the escape in a `Raw`.

The mark is U+FFFF followed by four characters. Where the text has U+FFFF itself, raw or escaped,
that is marked too; so hiding is reversible for every text. This module knows nothing of the wire.
"""

import re
from typing import Final, TypeVar, cast

import msgspec

T = TypeVar("T")

_MARK: Final = "\uffff"
_MARK_UTF8: Final = _MARK.encode()
_RAW_MARK: Final = "----"
"""Stands behind a mark that the text itself has, raw, where the hex digits would be."""

_LONE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a whole pair is no concern
    rb"|\\u([dD][89a-fA-F][0-9a-fA-F]{2}|[fF]{4})"
    rb"|(?:\\[^u][^\\\xef]*+)++"  # a run of other escapes and what stands between them, at once
    rb"|\\."
    rb"|" + _MARK_UTF8,
    re.DOTALL,
)
_MARKED_TEXT: Final = re.compile(_MARK + r"(" + _RAW_MARK + r"|[0-9a-fA-F]{4})")
_MARKED_BYTES: Final = re.compile(
    _MARK_UTF8 + rb"(" + _RAW_MARK.encode() + rb"|[0-9a-fA-F]{4})",
)


def may_occur(text: bytes) -> bool:
    """Whether `text` has anything like a surrogate escape; a pair or `\\\\ud83d` counts too."""
    return _LONE_ESCAPE.search(text) is not None


def hide(text: bytes) -> bytes:
    """The JSON text with every lone surrogate escape marked. Bad JSON stays bad JSON."""
    return _ESCAPES.sub(_hidden, text)


def _hidden(match: re.Match[bytes]) -> bytes:
    digits: bytes | None = match[1]
    if digits is not None:
        return _MARK_UTF8 + digits
    escape = match[0]
    return escape + _RAW_MARK.encode() if escape == _MARK_UTF8 else escape


def restore_text(text: str) -> str:
    """A decoded string with its surrogates back."""
    return _MARKED_TEXT.sub(_surrogate, text) if _MARK in text else text


def _surrogate(match: re.Match[str]) -> str:
    return _MARK if match[1] == _RAW_MARK else chr(int(match[1], 16))


def restore_raw(raw: msgspec.Raw) -> msgspec.Raw:
    """A `Raw` member with the exact bytes of the original text."""
    text = bytes(raw)
    return msgspec.Raw(_MARKED_BYTES.sub(_escape, text)) if _MARK_UTF8 in text else raw


def _escape(match: re.Match[bytes]) -> bytes:
    return _MARK_UTF8 if match[1] == _RAW_MARK.encode() else b"\\u" + match[1]


def restore(value: T) -> T:
    """`value` with all its strings and `Raw` members as they were before hiding.

    Takes what a decoder has just made and nobody else has seen: structs (frozen ones too), lists
    and dicts are changed in place. Iterative, since a value may be as deep as the decoder goes.
    """
    containers: list[object] = []
    result = _restore_leaf(value, containers)
    while containers:
        container = containers.pop()
        if isinstance(container, list):
            container[:] = [_restore_leaf(item, containers) for item in container]
        elif isinstance(container, dict):
            items = list(container.items())
            container.clear()
            for key, item in items:  # of keys that differed in spelling only the last one wins
                container[restore_text(key)] = _restore_leaf(item, containers)
        elif isinstance(container, msgspec.Struct):
            for name in container.__struct_fields__:
                field = getattr(container, name)
                restored = _restore_leaf(field, containers)
                if restored is not field:
                    msgspec.structs.force_setattr(container, name, restored)
    return cast("T", result)


def _restore_leaf(value: object, containers: list[object]) -> object:
    """What stands for `value`; anything with members that can change is left on `containers`."""
    if isinstance(value, str):
        return restore_text(value)
    if isinstance(value, msgspec.Raw):
        return restore_raw(value)
    if isinstance(value, tuple):
        return tuple([_restore_leaf(item, containers) for item in value])
    containers.append(value)
    return value
