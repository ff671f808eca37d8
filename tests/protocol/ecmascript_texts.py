"""Strategies: ECMAScript strings, and JSON text spelled in every way that the grammar allows."""

import json

from hypothesis import strategies as st

from sessionref_protocol.ecmascript import join_pairs

_TROUBLE = [
    *'\x00\x08\x0c\x1f\x7f\x85\xa0\u2028\u2029\ufeff\ufffd\uffff\n\r\t"\\/]()@[<',
    *("\ud800", "\udbff", "\udc00", "\udfff", "\ud83d", "\ude00", "😀", "\U0010ffff", "İ", "Σ"),
]

characters = st.one_of(st.sampled_from(_TROUBLE), st.characters())
strings = st.lists(characters, max_size=12).map(lambda parts: join_pairs("".join(parts)))
"""Any ECMAScript string, with what usually goes wrong in it."""

_space = st.sampled_from(["", "", "", " ", "\n\t", " \r\n "])

_unit_escapes = st.sampled_from(
    ["\\ud83d", "\\uD83D", "\\ude00", "\\uDE00", "\\uffff", "\\uFFFF", "\\\\ud83d", "\\u0061"]
)
_pieces = st.one_of(
    _unit_escapes,
    st.sampled_from(['\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\uffff", "----"]),
    st.characters(codec="utf-8", exclude_characters='"\\', min_codepoint=0x20),
)
string_texts = st.lists(_pieces, max_size=6).map(lambda parts: '"' + "".join(parts) + '"')

number_texts = st.one_of(
    st.sampled_from(["0", "-0", "1.0", "1e400", "-1E+5", "1e-400", "12345678901234567890123"]),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)

scalar_texts = st.one_of(
    st.sampled_from(["true", "false", "null"]), number_texts, string_texts, strings.map(json.dumps)
)


def _list(items: list[str], space: str) -> str:
    return f"[{space}" + f"{space},".join(items) + f"{space}]"


def _object(items: list[tuple[str, str]], space: str) -> str:
    return f"{{{space}" + f",{space}".join(f"{k}{space}:{space}{v}" for k, v in items) + "}"


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(_list, st.lists(inner, max_size=4), _space),
        st.builds(_object, st.lists(st.tuples(string_texts, inner), max_size=4), _space),
    )


json_texts = st.recursive(scalar_texts, _containers, max_leaves=12).map(str.encode)
"""Valid JSON texts as bytes."""

object_texts = st.builds(
    _object, st.lists(st.tuples(string_texts, json_texts.map(bytes.decode)), max_size=5), _space
).map(str.encode)
"""Valid JSON objects as bytes."""


_DAMAGE = [b"", b"\\ud83d", b"NaN", b"\xed\xa0\xbd", b"\xef\xbb\xbf"]
_DAMAGE += [bytes([byte]) for byte in b',:"[]{}\\0e.- \n\x00\xff\xa0']


@st.composite
def damaged(draw: st.DrawFn, texts: st.SearchStrategy[bytes] = json_texts) -> bytes:
    """A JSON text with some bytes cut out and others put in; mostly no JSON any more."""
    text = draw(texts)
    at = draw(st.integers(0, len(text)))
    until = draw(st.integers(at, min(len(text), at + 2)))
    put = draw(st.sampled_from(_DAMAGE))
    return text[:at] + put + text[until:]


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), strings),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(strings, inner)),
    max_leaves=12,
)
"""Values that JSON text has: strings are ECMAScript strings."""
