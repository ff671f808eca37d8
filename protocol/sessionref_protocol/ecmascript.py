"""Strings and JSON text as ECMAScript has them. A pure leaf.

An ECMAScript string is a sequence of UTF-16 code units. Here it is a `str` that may hold lone
surrogates and never holds a high surrogate right before a low one: such a pair is one character.
JSON text is strict (no NaN, no trailing commas, no BOM, valid UTF-8 throughout) except for what
ECMAScript takes and gives: lone surrogates, as `\\udxxx`. Nothing here knows of sessions or of the
wire. Source of the rules: the contract, section 6, rule 6.
"""

import re
from collections.abc import Iterable
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from . import surrogates
from .scanner import depth, members

__all__ = [
    "WHITE_SPACE",
    "WHITE_SPACE_CLASS",
    "TooDeep",
    "compact",
    "contains",
    "decode",
    "decode_any",
    "depth",
    "encode",
    "join_pairs",
    "lower",
    "quote",
    "scan_object",
    "to_utf8",
    "utf8_length",
    "utf16_length",
]

T = TypeVar("T")

WHITE_SPACE: Final = frozenset(
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What `\\s` means there. It has U+FEFF; it has neither U+0085, U+180E, U+200B nor U+001C-1F."""

WHITE_SPACE_CLASS: Final = "".join(sorted(WHITE_SPACE))
"""The same, to stand between `[` and `]` in a regular expression."""


class TooDeep(msgspec.DecodeError):
    """The text nests deeper than we can follow. Whether it is JSON at all is not known."""


# Strings

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff]")


def quote(text: str) -> str:
    """`JSON.stringify` of a string: nothing is escaped but `"`, `\\`, controls, lone surrogates."""
    quoted = encode_basestring(text)
    if quoted.isascii():
        return quoted
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):x}", quoted)


def join_pairs(text: str) -> str:
    """Makes one character of each high surrogate that came to stand before a low one."""
    if text.isascii():
        return text
    return _PAIR.sub(lambda found: _from_utf16(_to_utf16(found[0])), text)


def _to_utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _from_utf16(units: bytes) -> str:
    return units.decode("utf-16-le", "surrogatepass")


def utf8_length(text: str) -> int:
    """Size in bytes as `TextEncoder` counts: a lone surrogate becomes U+FFFD and takes three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def to_utf8(text: str) -> bytes:
    """The bytes that `TextEncoder` makes: a lone surrogate becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text).encode()


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, as `String.prototype.length` has it."""
    return len(text) if text.isascii() else len(_to_utf16(text)) // 2


def lower(text: str) -> str:
    """Lower case by Unicode's default mapping, which knows no locale."""
    return text.lower()


def contains(haystack: str, needle: str) -> bool:
    """Whether `needle` occurs, over UTF-16 code units: half an emoji occurs in that emoji.

    Only a needle that begins with a low surrogate or ends with a high one can match where no
    character begins or ends.
    """
    if needle in haystack:
        return True
    return _matches_halves(needle) and _units(needle) in _units(haystack)


def containing(haystacks: Iterable[str], needle: str) -> list[bool]:
    """The same of many texts, in order, for little more than looking at each."""
    if _matches_halves(needle):
        return [contains(haystack, needle) for haystack in haystacks]
    return [needle in haystack for haystack in haystacks]


def _matches_halves(needle: str) -> bool:
    return needle != "" and (
        "\udc00" <= needle[0] <= "\udfff" or "\ud800" <= needle[-1] <= "\udbff"
    )


def _units(text: str) -> str:
    """One character for each UTF-16 code unit."""
    return _ASTRAL.sub(_halves, text)


def _halves(found: re.Match[str]) -> str:
    above = ord(found[0]) - 0x10000
    return chr(0xD800 + (above >> 10)) + chr(0xDC00 + (above & 0x3FF))


# JSON text to values


def decode(data: bytes | msgspec.Raw, type: type[T]) -> T:  # noqa: A002 - as msgspec has it
    """A JSON text as a value of `type`, as msgspec decodes it, lone surrogates included.

    Strings that hold them, and `Raw` members that spell them, come out unchanged. A `Raw` that is
    given counts as checked. Of equal keys the last one wins. Floats beyond range are refused.

    Raises `msgspec.ValidationError` for a wrong type, `TooDeep`, and `msgspec.DecodeError` for
    what is not JSON. Where a text has several faults, any of them is raised.
    """
    if isinstance(data, bytes):
        _check_utf8(data)
    try:
        decoder: msgspec.json.Decoder[T] = _DECODERS.get(type) or _decoder(type)
        return decoder.decode(data)
    except RecursionError:
        raise TooDeep("JSON is nested too deep") from None
    except msgspec.DecodeError:
        text = bytes(data)
        if not surrogates.may_occur(text):
            raise
    try:
        value = _decode(surrogates.hide(text), type)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(surrogates.restore_text(str(error))) from None
    return surrogates.restore(value)


def _decode(data: bytes | msgspec.Raw, type_: type[T]) -> T:
    try:
        return _decoder(type_).decode(data)
    except RecursionError:
        raise TooDeep("JSON is nested too deep") from None


def _decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _DECODERS.get(type_)
    if decoder is None:
        decoder = _DECODERS[type_] = msgspec.json.Decoder(type_)
    return decoder


_DECODERS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
"""One for each type that was ever asked for: making one costs more than using it."""


def _check_utf8(data: bytes) -> None:
    """msgspec skips over strings that nobody asked for without looking at their bytes."""
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError(f"Invalid UTF-8 at byte {error.start}") from None


def decode_any(data: bytes | msgspec.Raw) -> object:
    """A JSON text as dicts, lists, strings, numbers, booleans and None.

    Numbers are as ECMAScript has them where Python would refuse: `1e400` and integers of more
    than some thousand digits are infinite. Raises `TooDeep` and `msgspec.DecodeError`.
    """
    try:
        return _decode(data, object)
    except TooDeep:
        raise
    except msgspec.DecodeError:
        text = bytes(data)
        _check_utf8(text)
    try:
        value: object = _ANY.decode(text.decode())
    except RecursionError:
        raise TooDeep("JSON is nested too deep") from None
    except JSONDecodeError as error:
        raise msgspec.DecodeError(str(error)) from None
    return value


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # Python's limit on digits, far beyond the largest double
        return float(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise msgspec.DecodeError(f"JSON is malformed: {name} is not JSON")


_ANY: Final = JSONDecoder(parse_int=_integer, parse_constant=_refuse_constant)


def scan_object(data: bytes) -> dict[str, bytes]:
    """The members of a JSON object, each with the exact bytes of its value, however deep.

    Of equal keys the last one wins. `msgspec.ValidationError` for JSON that is no object,
    `msgspec.DecodeError` for what is not JSON. Texts too deep for msgspec are walked in Python.
    """
    try:
        return {key: bytes(value) for key, value in decode(data, dict[str, msgspec.Raw]).items()}
    except TooDeep:
        return {decode(key, str): value for key, value in members(data)}


# Values to JSON text

_ENCODER: Final = msgspec.json.Encoder()
_STRING_OR_SPACE: Final = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")|[ \t\n\r]++', re.DOTALL)


def encode(value: object) -> bytes:
    """Compact JSON of structs, dicts, lists, strings, numbers, booleans, None and `Raw`.

    Lone surrogates leave as `\\udxxx`, U+2028 and U+2029 escaped. A `Raw` leaves without its
    insignificant white space and otherwise as it is spelled: keys, numbers, strings.
    Raises TypeError and the like for values that are none of these.
    """
    text = _encode(value)
    if b" " in text or b"\n" in text or b"\t" in text or b"\r" in text:
        try:
            text = msgspec.json.format(text, indent=-1)
        except (msgspec.DecodeError, RecursionError):  # a lone surrogate, or a very deep `Raw`
            text = _STRING_OR_SPACE.sub(rb"\1", text)
    return _on_one_line(text)


def encode_compact(value: object) -> bytes:
    """The same of a value whose `Raw`s have no white space between their tokens, if it has any."""
    return _on_one_line(_encode(value))


def _encode(value: object) -> bytes:
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        pieces: list[bytes] = []
        _spell(msgspec.to_builtins(value, builtin_types=(msgspec.Raw,), str_keys=True), pieces)
        return b"".join(pieces)


def compact(data: bytes) -> msgspec.Raw:
    """One JSON text, checked and made compact as `encode` would. Raises as `decode` does."""
    return msgspec.Raw(encode(decode(data, msgspec.Raw)))


def _spell(value: object, pieces: list[bytes]) -> None:
    """What msgspec's encoder does, for strings that it refuses."""
    match value:
        case str():
            pieces.append(quote(value).encode())
        case dict():
            separator = b"{"
            for key, item in value.items():
                pieces += (separator, quote(key).encode(), b":")
                _spell(item, pieces)
                separator = b","
            pieces.append(b"}" if value else b"{}")
        case list() | tuple():
            separator = b"["
            for item in value:
                pieces.append(separator)
                _spell(item, pieces)
                separator = b","
            pieces.append(b"]" if value else b"[]")
        case _:
            pieces.append(_ENCODER.encode(value))


def _on_one_line(text: bytes) -> bytes:
    """With no character in it that ends a line anywhere."""
    if b"\xe2\x80\xa8" in text:
        text = text.replace(b"\xe2\x80\xa8", b"\\u2028")
    if b"\xe2\x80\xa9" in text:
        text = text.replace(b"\xe2\x80\xa9", b"\\u2029")
    return text
