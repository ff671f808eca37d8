"""Fitting one source into its byte budget: what is kept, what is cut, and how much went missing.

Pure. The result is a function of the conversation and the budget alone, to the byte, whatever
order the defining system computes it in. Cost is linear in the conversation: sizes are kept
running, and a message that is dropped is measured but never serialized. Knows nothing of how
sources are framed for the model. Source of the rule: the contract, section 4.
"""

import heapq
from collections.abc import Iterable, Sequence
from itertools import compress
from operator import attrgetter
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from sessionref_protocol.ecmascript import quote, to_utf8, utf8_length
from sessionref_protocol.errors import ErrorKind, RpcError

from .projection import Item, size_of

_END: Final = "]}"

_is_checkpoint: Final = attrgetter("checkpoint")

Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""A number of things, as any reader of JSON can count them."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One source as it was captured, before any reduction."""

    session_id: str
    label: str
    cwd: str | None
    captured_through_seq: int | None
    items: tuple[Item, ...]


class Stats(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What fitting kept and dropped, as a reference states it."""

    compacted: bool
    """Whether the conversation held a checkpoint, before any reduction."""
    original_messages: Count
    retained_messages: Count
    """Emptied ones included."""
    omitted_messages: Count
    omitted_bytes: Count
    """UTF-8 bytes of text, of dropped and of shortened messages."""
    truncated: bool
    """Whether anything was omitted."""


class Fitted(msgspec.Struct, frozen=True):
    """A source within its budget."""

    json: str
    """The source's one JSON object. It holds no `<` and no lone surrogate, only escapes of them."""
    items: tuple[Item, ...]
    stats: Stats


def fit(source: Source, max_bytes: int) -> Fitted:
    """The source as JSON text of at most `max_bytes` UTF-8 bytes.

    Old messages are dropped before texts are shortened; checkpoints and the newest message are
    never dropped. Raises `RpcError` (`BUDGET_EXCEEDED`) where even emptied texts do not fit.
    """
    start = _start(source)
    # Each entry's cost counts a comma, and the first entry has none.
    room = max_bytes - utf8_length(start) - len(_END) + bool(source.items)
    never_dropped = _never_dropped(source.items)
    if sum(_LEAST_COST + len(source.items[index].role) for index in never_dropped) > room:
        raise RpcError(
            ErrorKind.BUDGET_EXCEEDED,
            f"The session does not fit into {max_bytes} bytes, even with every text emptied.",
            session_id=source.session_id,
        )
    entries, omitted_bytes = _retain(source.items, never_dropped, room)
    excess = sum(entry.cost for entry in entries) - room
    if excess > 0:
        _shorten(entries, excess)
    omitted_bytes += sum(entry.omitted for entry in entries)
    omitted_messages = len(source.items) - len(entries)
    return Fitted(
        json=start + ",".join(entry.json for entry in entries) + _END,
        items=tuple(entry.item for entry in entries),
        stats=Stats(
            compacted=any(source.items[index].checkpoint for index in never_dropped),
            original_messages=len(source.items),
            retained_messages=len(entries),
            omitted_messages=omitted_messages,
            omitted_bytes=omitted_bytes,
            truncated=omitted_messages > 0 or omitted_bytes > 0,
        ),
    )


_LEAST_COST: Final = len('{"role":"","text":""},')
_MEASURED: Final = 64 * 1024
"""Characters that are quoted at one time, if only to be measured."""


class _Entry:
    """One retained message, as it currently is."""

    __slots__ = ("_json", "cost", "item", "omitted")

    def __init__(self, item: Item, omitted: int = 0) -> None:
        self.item = item
        self.omitted = omitted
        self._json: str | None = None
        if item.size > _MEASURED:
            self.cost = _LEAST_COST + len(item.role) + _quoted_size(item.text)
        else:
            self._json = _json(item)
            self.cost = utf8_length(self._json) + len(",")

    @property
    def json(self) -> str:
        """Of a large text only made where it fits: it may take six times as much as the text."""
        return _json(self.item) if self._json is None else self._json


def _json(item: Item) -> str:
    return f'{{"role":"{item.role}","text":{_quote(item.text)}}}'


def _retain(
    items: Sequence[Item], never_dropped: Iterable[int], room: int
) -> tuple[list[_Entry], int]:
    """The messages that stay, and the bytes of text of those that do not.

    Dropping the oldest until the rest fits keeps exactly what is found by adding the newest while
    they fit. That way round, what is dropped need not be serialized.
    """
    newest = len(items) - 1
    kept = {index: _Entry(items[index]) for index in never_dropped}
    room -= sum(entry.cost for entry in kept.values())
    for index in range(newest - 1, -1, -1):
        if index in kept:
            continue
        entry = _Entry(items[index])
        if entry.cost > room:
            break
        kept[index] = entry
        room -= entry.cost
    dropped = size_of(items) - size_of(entry.item for entry in kept.values())
    return [kept[index] for index in sorted(kept)], dropped


def _never_dropped(items: Sequence[Item]) -> Sequence[int]:
    """The indexes of the checkpoints and of the newest message."""
    checkpoints = compress(range(len(items) - 1), map(_is_checkpoint, items))
    return (*checkpoints, len(items) - 1) if items else ()


def _shorten(entries: list[_Entry], excess: int) -> None:
    """Cut the longest text, again and again, until `excess` bytes are gone, which is possible.

    The excess is in bytes of JSON and is taken off bytes of text, so a text full of escapes loses
    more than it needs to; as in the defining system. Every cut ends below the length before it.
    """
    originals = [entry.item for entry in entries]
    longest_first = [(-item.size, index) for index, item in enumerate(originals)]
    heapq.heapify(longest_first)
    while excess > 0:
        negated, index = longest_first[0]
        original = originals[index]
        text, omitted = _cut(original.text, max(0, -negated - excess))
        shorter = _Entry(Item.of(original.role, text, original.checkpoint), omitted)
        excess += shorter.cost - entries[index].cost
        entries[index] = shorter
        heapq.heapreplace(longest_first, (-shorter.item.size, index))


def _cut(text: str, target: int) -> tuple[str, int]:
    """Head and tail of a text, and a notice, in at most `target` bytes; and the bytes left out.

    The bisection's own sequence of midpoints is part of the rule: sizes are not monotone in it,
    since code points are cut whole and the notice's number has digits to lose. Unpaired surrogates
    become U+FFFD. U+FEFF is a character like any other.
    """
    encoded = to_utf8(text)
    size = len(encoded)
    best: tuple[int, int] | None = None
    low, high = 0, target
    while low <= high:
        middle = (low + high) // 2
        head = _boundary_before(encoded, (middle + 1) // 2)
        tail = _boundary_after(encoded, size - middle // 2)
        if head + len(_notice(tail - head)) + size - tail <= target:
            best = head, tail
            low = middle + 1
        else:
            high = middle - 1
    if best is None:
        return "", size
    head, tail = best
    return (encoded[:head] + encoded[tail:] + _notice(tail - head)).decode(), tail - head


def _notice(omitted: int) -> bytes:
    return f"\n[… omitted {omitted} UTF-8 bytes …]".encode()


def _boundary_before(encoded: bytes, index: int) -> int:
    while _is_inside(encoded, index):
        index -= 1
    return index


def _boundary_after(encoded: bytes, index: int) -> int:
    while _is_inside(encoded, index):
        index += 1
    return index


def _is_inside(encoded: bytes, index: int) -> bool:
    """Whether a cut at this index would split a code point."""
    return index < len(encoded) and encoded[index] & 0xC0 == 0x80


def _start(source: Source) -> str:
    seq = source.captured_through_seq
    return (
        f'{{"sessionId":{_quote(source.session_id)},"label":{_quote(source.label)},'
        f'"cwd":{"null" if source.cwd is None else _quote(source.cwd)},'
        f'"capturedThroughSeq":{"null" if seq is None else seq},"conversation":['
    )


def _quoted_size(text: str) -> int:
    """How many bytes a text takes within the quotes of a JSON string."""
    parts = (text[at : at + _MEASURED] for at in range(0, len(text), _MEASURED))
    return sum(utf8_length(_quote(part)) - len('""') for part in parts)


def _quote(text: str) -> str:
    """A JSON string that cannot close the tags around it."""
    return quote(text).replace("<", "\\u003c")
