"""A projected conversation in pages, for hosts that show it to people.

Pure. A page is bounded in bytes and a message may be larger than a page, so messages are cut into
parts, and pages are counted in parts. The same conversation always has the same parts, so pages
fit together. Knows nothing of budgets: nothing is left out. Source of the rule: the contract,
section 3, and rule 9 of section 6 (what is sent is bounded).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from sessionref_protocol.ecmascript import quote, utf8_length

from .projection import Item, Role

_PARTS_A_PAGE: Final = 8
"""An escape in JSON may take six times the bytes of its character, so that a part always fits."""

_ENVELOPE_BYTES: Final = 64
"""What stands around a part's text, at most."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the conversation, or a part of one."""

    role: Role
    text: str
    checkpoint: bool
    continues: bool
    """The next part has more of the same message."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some parts, in order."""

    parts: tuple[Part, ...]
    next_offset: int | None
    """Where the next page begins; None where this is the last."""


def page(items: Sequence[Item], offset: int, limit: int | None, max_bytes: int) -> Page:
    """The parts from `offset` on: at most `limit`, and at most `max_bytes` of JSON, but one."""
    room = max_bytes
    parts: list[Part] = []
    for part in islice(_parts(items, max_bytes // _PARTS_A_PAGE), offset, None):
        room -= utf8_length(quote(part.text)) + _ENVELOPE_BYTES
        if len(parts) == limit or (parts and room < 0):
            return Page(parts=tuple(parts), next_offset=offset + len(parts))
        parts.append(part)
    return Page(parts=tuple(parts), next_offset=None)


def _parts(items: Iterable[Item], max_bytes: int) -> Iterator[Part]:
    for item in items:
        pieces = _pieces(item.text, max_bytes)
        for number, text in enumerate(pieces, start=1):
            yield Part(
                role=item.role,
                text=text,
                checkpoint=item.checkpoint,
                continues=number < len(pieces),
            )


def _pieces(text: str, max_bytes: int) -> list[str]:
    """The text in pieces of at most so many UTF-8 bytes; characters stay whole."""
    encoded = text.encode("utf-8", "surrogatepass")
    pieces: list[str] = []
    start = 0
    while len(encoded) - start > max_bytes:
        end = start + max_bytes
        while encoded[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(encoded[start:end].decode("utf-8", "surrogatepass"))
        start = end
    pieces.append(encoded[start:].decode("utf-8", "surrogatepass"))
    return pieces
