"""The mention grammar, held against a naive one.

An input is a text in UTF-8; what is no UTF-8 of it stands for lone surrogates.
"""

from fuzz.target import Target
from sessionref_protocol.ecmascript import join_pairs, utf16_length
from sessionref_protocol.mention import decode_uri, encode_uri, format_mention, parse, scan
from support import grammar


def text_of(data: bytes) -> str:
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    return join_pairs(text)


def check(data: bytes) -> None:
    text = text_of(data)
    found = grammar.ours(text)
    assert found == grammar.naive(text)
    _check_hits(text)
    for uri in text.split():
        session_id = decode_uri(uri)
        assert session_id is None or encode_uri(session_id) == uri
    half = len(text) // 2
    _check_round_trip(join_pairs(text[:half]), join_pairs(text[half:]))


def _check_hits(text: str) -> None:
    at = 0
    for hit in scan(text):
        assert at <= hit.start < hit.end <= len(text)
        assert (hit.label is None) == text.startswith("dsh-session:", hit.start)
        at = hit.end


def _check_round_trip(session_id: str, label: str) -> None:
    mention = format_mention(session_id, label)
    (reference,) = parse(mention).references
    assert (reference.session_id, reference.label) == (session_id, label)
    assert (reference.start, reference.end) == (0, utf16_length(mention))


TARGET = Target(
    "mentions",
    check,
    tuple(
        token.encode()
        for token in ("@[", "](", "](dsh-session:", "dsh-session:", "dsh-session:ImEi", "\\", "\\]")
    )
    + tuple(token.encode() for token in ("@[a](dsh-session:ImEi)", "\u2028", "\u00a0", "😀"))
    + (b"\xed\xa0\xbd", b"\xed\xb8\x80", b"\r"),
)
