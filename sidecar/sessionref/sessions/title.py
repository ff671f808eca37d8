"""What a session is called: by a `session/title` event, or as a sub-agent by its parent.

Only the last such event of a log counts, however it is. Source: `session/title` in the log format,
section 4, and how the defining system treats malformed ones.
"""

from typing import Final

import msgspec

from sessionref_protocol import ecmascript

_SOURCES: Final = frozenset({"fallback", "provider", "user"})


def title_text(data: bytes) -> str | None:
    """The title in the data of an event; None where it has none or is malformed."""
    match _value(data):
        case {"title": str(title), "messageSeqs": list() | str(), "source": {"kind": str(kind)}}:
            return title if kind in _SOURCES else None
    return None


def subagent_name(data: bytes) -> str | None:
    """The label in the data of a `subagent/descriptor` event; None where it has none."""
    match _value(data):
        case {"label": str(label)} if label:
            return label
    return None


def _value(data: bytes) -> object:
    try:
        return ecmascript.decode_any(data.decode(errors="replace").encode())
    except msgspec.DecodeError:  # too deep: it was JSON when the row was read
        return None
