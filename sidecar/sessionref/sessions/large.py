"""Records that are large: what reading one would take is found out before it is read.

A few kilobytes on disk may expand to the largest record that is read, and that to many times as
much in memory: a list of a million small things, or a text of which one character makes all others
four times as wide. Most records are too small for that, and are not looked at here. This module
knows no files and no order of records. Source of the limits: the contract, section 6, rule 9.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final

import msgspec
from msgspec import Raw

from sessionref.config import LIMITS, MIB
from sessionref.sessions.model import ReadError

LARGE_BYTES: Final = 1 * MIB
"""A record up to this size is never too much, whatever it holds."""

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[,\[{]', re.DOTALL)
_WIDE: Final = re.compile(rb"[\xf0-\xff]")
_ESCAPED: Final = re.compile(rb"\\u(?!00)")
"""Where such a character occurs, all others of its text may take four bytes, too."""

_NOTHING: Final = Raw()
_ESCAPE_BYTES: Final = 64
_LONGEST_TYPE: Final = 200

_CONVERSATION: Final = frozenset({"user/message", "assistant/message"})
_PACKED: Final = frozenset({"text-chunks", "reasoning-chunks", "tool-call-chunks"})


class _Row(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: Raw
    surface_op: Raw = _NOTHING
    data: Raw = _NOTHING


class _Data(msgspec.Struct, frozen=True, gc=False):
    message: Raw = _NOTHING


class _Message(msgspec.Struct, frozen=True, gc=False):
    content: Raw = _NOTHING
    source: Raw = _NOTHING


class _Block(msgspec.Struct, frozen=True, gc=False):
    text: Raw = _NOTHING
    id: Raw = _NOTHING


class _Brief(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    seq: Raw = _NOTHING
    time: Raw = _NOTHING
    seq0: Raw = _NOTHING
    time0: Raw = _NOTHING
    data: Raw = _NOTHING


class _Deltas(msgspec.Struct, frozen=True, gc=False):
    dt: Raw


def brief(record: bytes) -> bytes:
    """A record that tells of its seq and its time what this one does, and is not large.

    The same, where that can't be had without much more.
    """
    try:
        told = msgspec.json.decode(record, type=_Brief)
        deltas = Raw(b"0")
        if told.seq0:
            deltas = Raw(msgspec.json.encode(msgspec.json.decode(told.data, type=_Deltas)))
        return msgspec.json.encode(msgspec.structs.replace(told, data=deltas))
    except (msgspec.DecodeError, RecursionError):
        return record


def is_too_odd(record: bytes) -> bool:
    """Whether a record is too large for being read with care, part by part, and copied for that.

    Each escape of a character counts as much as it costs.
    """
    if len(record) <= LARGE_BYTES:
        return False
    escapes = record.count(b"\\u")
    return len(record) + _ESCAPE_BYTES * escapes > LIMITS.max_odd_record_bytes


def check_large(record: bytes, room: int) -> None:
    """Raises `ReadError` for a record with too many values, or one that takes more than `room`.

    The room is in bytes; the record itself is in it, as well as all that is made of it at speed.
    """
    if _has_more_tokens(record, LIMITS.max_record_tokens):
        raise ReadError("corrupt", "a record holds more than any that we read")
    if len(record) + _worst_width(record) * sum(map(len, _strings(record))) > room:
        raise ReadError("corrupt", "the session says more than we keep of any")


def _has_more_tokens(record: bytes, limit: int) -> bool:
    """Whether there are more strings, containers and commas between them than `limit`."""
    if sum(map(record.count, (b'"', b",", b"[", b"{"))) <= limit:
        return False
    return next(islice(_TOKEN.finditer(record), limit, None), None) is not None


def _worst_width(record: bytes) -> int:
    """How many bytes a byte of a text may take: as a `str`, joined to others, and as it is kept."""
    if _ESCAPED.search(record):
        return 9
    if record.isascii():
        return 3
    return 9 if _WIDE.search(record) else 5


def _strings(record: bytes) -> Iterator[Raw]:
    """What holds the strings that the decoder of rows makes; no less than those."""
    with suppress(msgspec.DecodeError, RecursionError):  # then it takes no such record either
        row = msgspec.json.decode(record, type=_Row)
        yield row.surface_op
        kind = "" if len(row.type) > _LONGEST_TYPE else msgspec.json.decode(row.type, type=str)
        if kind in _PACKED:
            yield row.data
        if kind not in _CONVERSATION and kind != "tool/result":
            return
        nested = kind != "user/message"
        text = msgspec.json.decode(row.data, type=_Data).message if nested else row.data
        message = msgspec.json.decode(text, type=_Message)
        yield message.source
        if kind in _CONVERSATION:
            for block in msgspec.json.decode(message.content, type=list[_Block]):
                yield block.text
                yield block.id
