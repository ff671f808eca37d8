"""The URI and the mention grammar. A pure leaf.

`dsh-session:` + base64url of the id's JSON string is the URI; `@[label](uri)` is the mention, and
a URI alone in a text counts as one too. Parsing is one pass from left to right, linear in the text
whatever it holds, and finds exactly what the defining system's regular expression finds. Nothing
here knows of sessions or of the wire. Source of the rules: the contract, section 2.
"""

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from .display import excerpt, printable
from .ecmascript import WHITE_SPACE_CLASS, decode, join_pairs, quote, utf16_length

__all__ = [
    "SCHEME",
    "Hit",
    "MalformedMention",
    "Mention",
    "Parsed",
    "decode_uri",
    "encode_uri",
    "format_mention",
    "parse",
    "printable",
    "quote_for_error",
    "scan",
]

SCHEME: Final = "dsh-session:"

_ORDINARY_URI: Final = 256
"""Characters. What is longer is decoded anew each time, so that little is remembered."""
_QUOTED: Final = 120
"""How much of a malformed mention an error text may show, in UTF-16 code units."""

_TO_STANDARD: Final = str.maketrans("-_", "+/")
_TO_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_LABEL_SPECIAL: Final = re.compile(r"[\\\]]")
_LABEL_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)

_OPENING: Final = re.compile(r"@\[|" + SCHEME)
_LABEL: Final = re.compile(r"[^\\\]]*+(?:\\[^\n\r\u2028\u2029][^\\\]]*+)*+")
_TARGET: Final = "](" + SCHEME
_TARGET_TAIL: Final = re.compile(f"[^{WHITE_SPACE_CLASS})]*+")
_BARE_TAIL: Final = re.compile(r"[A-Za-z0-9_-]*+")


class Mention(msgspec.Struct, frozen=True):
    """One mention that was found. Offsets are UTF-16 code units in the text that was parsed."""

    session_id: str
    label: str
    start: int
    end: int


class Parsed(msgspec.Struct, frozen=True):
    """A text with each mention replaced by `@label`, and the mentions in order of appearance."""

    text: str
    references: tuple[Mention, ...]


class Hit(msgspec.Struct, frozen=True):
    """One mention, malformed or not. Offsets are indices in the text that was scanned."""

    start: int
    end: int
    label: str | None
    """None for a bare URI."""
    session_id: str | None
    """None where the URI does not decode."""


class MalformedMention(Exception):  # noqa: N818 - the field's term
    """The first mention of a text whose URI does not decode. Offsets as in `Mention`."""

    def __init__(self, mention: str, start: int, end: int) -> None:
        super().__init__(f"Malformed session mention: {quote_for_error(mention)}")
        self.mention = mention
        self.start = start
        self.end = end


def encode_uri(session_id: str) -> str:
    """The one canonical URI of a session id; every string is an id, the empty one too."""
    payload = b2a_base64(quote(session_id).encode(), newline=False).rstrip(b"=")
    return SCHEME + payload.translate(_TO_URL_SAFE).decode()


def decode_uri(uri: str) -> str | None:
    """The session id, or None for anything that `encode_uri` would not have spelled like this."""
    return _remembered(uri) if len(uri) <= _ORDINARY_URI else _decoded(uri)


def _decoded(uri: str) -> str | None:
    payload = uri.removeprefix(SCHEME).translate(_TO_STANDARD)
    try:
        session_id = decode(a2b_base64(payload + "=="), str)
    except (ValueError, msgspec.DecodeError):
        return None
    return session_id if encode_uri(session_id) == uri else None


_remembered: Final = lru_cache(maxsize=256)(_decoded)
"""A text is parsed again and again while it is written, and by each who looks at it."""


def format_mention(session_id: str, label: str | None = None) -> str:
    """The mention to put into a text. Without a label the id stands for it."""
    escaped = _LABEL_SPECIAL.sub(r"\\\g<0>", session_id if label is None else label)
    return f"@[{escaped}]({encode_uri(session_id)})"


def quote_for_error(mention: str) -> str:
    """A mention as an error text may show it: at most 120 characters, nothing deceptive."""
    return excerpt(mention, _QUOTED)


def parse(text: str) -> Parsed:
    """Finds every mention of `text`. Raises `MalformedMention` for the first that is malformed."""
    if SCHEME not in text:
        return Parsed(text, ())
    pieces: list[str] = []
    references: list[Mention] = []
    at = units = 0
    for hit in scan(text):
        before = text[at : hit.start]
        mention = text[hit.start : hit.end]
        first = units + utf16_length(before)
        units = first + utf16_length(mention)
        if hit.session_id is None:
            raise MalformedMention(mention, first, units)
        shown = hit.session_id if hit.label is None else hit.label
        references.append(Mention(hit.session_id, shown, first, units))
        pieces += (before, "@", shown)
        at = hit.end
    pieces.append(text[at:])
    return Parsed(join_pairs("".join(pieces)), tuple(references))


def scan(text: str) -> Iterator[Hit]:
    """Every mention of `text`, malformed ones included, in order of appearance."""
    if SCHEME not in text:
        return
    hits = _Hits(text)
    at = 0
    while (found := hits.next(at)) is not None:
        start, at, label, uri = found
        yield Hit(start, at, label, decode_uri(uri))


_Hit = tuple[int, int, str | None, str]
"""Where it starts and ends, its label (None: a bare URI), and its URI, well-formed or not."""


class _Hits:
    """Finds the hits of one text in a single pass.

    Two facts keep it linear, although a label or a URI may run to the end of the text and fail
    there, again and again. First, `@[` never splits an escape, so a label that is read from any
    `@[` inside another label ends where that one ends. Second, a URI that is read from inside
    another ends where that one ends. So each end needs to be found only once.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._label_end = 0
        self._tail_end = 0

    def next(self, at: int) -> _Hit | None:
        """The first hit at or after `at`, which never goes back between calls."""
        while (opening := _OPENING.search(self._text, at)) is not None:
            start, at = opening.span()
            hit = self._bare(start, at) if at - start > 2 else self._explicit(start, at)
            if hit is not None:
                return hit
        return None

    def _bare(self, start: int, tail: int) -> _Hit | None:
        """A URI alone. A scheme with nothing behind it is plain text."""
        end = self._match_end(_BARE_TAIL, tail)
        return None if end == tail else (start, end, None, self._text[start:end])

    def _explicit(self, start: int, label: int) -> _Hit | None:
        """`@[label](uri)`, well-formed as far as its brackets go."""
        if label > self._label_end:
            self._label_end = self._match_end(_LABEL, label)
        label_end = self._label_end
        if not self._text.startswith(_TARGET, label_end):
            return None
        tail = label_end + len(_TARGET)
        if tail > self._tail_end:
            self._tail_end = self._match_end(_TARGET_TAIL, tail)
        end = self._tail_end
        if not self._text.startswith(")", end):
            return None
        shown = self._text[label:label_end]
        if "\\" in shown:
            shown = join_pairs(_LABEL_ESCAPE.sub(r"\1", shown))
        return start, end + 1, shown, self._text[label_end + 2 : end]

    def _match_end(self, pattern: re.Pattern[str], at: int) -> int:
        match = pattern.match(self._text, at)
        assert match is not None  # these patterns match the empty text too
        return match.end()
