"""The URI and the mention grammar: recorded answers, and a naive grammar to compare with."""

import base64
import re
from typing import Any

import pytest
from ecmascript_texts import strings
from hypothesis import example, given
from hypothesis import strategies as st

from sessionref_protocol.ecmascript import join_pairs, utf16_length
from sessionref_protocol.mention import (
    SCHEME,
    MalformedMention,
    Mention,
    decode_uri,
    encode_uri,
    format_mention,
    parse,
    quote_for_error,
)
from support import grammar, vectors


def recorded(file: str, method: str) -> list[Any]:
    cases = [case for case in vectors.load(file)["cases"] if case["method"] == method]
    return [pytest.param(case, id=case["name"]) for case in cases]


@pytest.mark.parametrize("case", recorded("uri", "encodeUri"))
def test_recorded_uris_are_encoded(case: Any) -> None:
    assert encode_uri(case["params"]["sessionId"]) == case["result"]["uri"]


@pytest.mark.parametrize("case", recorded("uri", "decodeUri"))
def test_recorded_uris_are_decoded_or_refused(case: Any) -> None:
    assert decode_uri(case["params"]["uri"]) == case.get("result", {}).get("sessionId")


@pytest.mark.parametrize("case", recorded("mentions", "formatMention"))
def test_recorded_mentions_are_formatted(case: Any) -> None:
    params = case["params"]
    mention = format_mention(params["sessionId"], params.get("label"))
    assert mention == case["result"]["mention"]


@pytest.mark.parametrize("case", recorded("mentions", "parseText"))
def test_recorded_texts_are_parsed_or_refused(case: Any) -> None:
    text = case["params"]["text"]
    if "error" in case:
        with pytest.raises(MalformedMention):
            parse(text)
    else:
        parsed = parse(text)
        assert parsed.text == case["result"]["text"]
        references = [{"sessionId": r.session_id, "label": r.label} for r in parsed.references]
        assert references == case["result"]["references"]


@given(strings)
def test_every_id_has_one_uri_and_comes_back(session_id: str) -> None:
    uri = encode_uri(session_id)
    assert re.fullmatch(r"dsh-session:[A-Za-z0-9_-]+", uri)
    assert decode_uri(uri) == session_id
    assert decode_uri(uri + "=") is None
    assert decode_uri(uri + "\n") is None
    assert decode_uri(uri.removeprefix("dsh-")) is None


@given(
    st.one_of(st.binary(max_size=8), st.sampled_from([b"[" * 5000, b'"\\ud83d\\ude00"', b'" "']))
)
def test_a_payload_decodes_only_if_it_is_what_we_would_write(payload: bytes) -> None:
    uri = SCHEME + base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
    session_id = decode_uri(uri)
    assert session_id is None or encode_uri(session_id) == uri


@given(strings, strings)
@example("a", "\ud83d\\")
@example("", "]\\\n\u2028")
def test_a_formatted_mention_parses_to_what_it_was_made_of(session_id: str, label: str) -> None:
    mention = format_mention(session_id, label)
    parsed = parse(f"x{mention}.")
    end = 1 + utf16_length(mention)
    assert parsed.references == (Mention(session_id, label, 1, end),)
    assert parsed.text == f"x@{label}."
    assert parse(format_mention(session_id)).references[0].label == session_id
    assert parse(encode_uri(session_id)).references[0].session_id == session_id


def test_offsets_are_code_units_of_the_input() -> None:
    parsed = parse("😀 @[😀](dsh-session:ImEi)😀dsh-session:ImIi \ud83d@[](dsh-session:ImEi)")
    assert parsed.text == "😀 @😀😀@b \ud83d@"
    assert parsed.references == (
        Mention("a", "😀", 3, 26),
        Mention("b", "b", 28, 44),
        Mention("a", "", 46, 67),
    )


def test_halves_that_parsing_brings_together_are_one_character() -> None:
    parsed = parse("@[\ud83d\\\ude00](dsh-session:ImEi) @[\ud83d](dsh-session:ImEi)\ude00")
    assert [reference.label for reference in parsed.references] == ["😀", "\ud83d"]
    assert parsed.text == "@😀 @😀"


@pytest.mark.parametrize(
    ("text", "mention", "start"),
    [
        ("😀 dsh-session:zzz and @[ok](dsh-session:ImEi)", "dsh-session:zzz", 3),
        (
            "@[ok](dsh-session:ImEi) @[b😀](dsh-session:!!) dsh-session:zz",
            "@[b😀](dsh-session:!!)",
            24,
        ),
        ("a @[x](dsh-session:)", "@[x](dsh-session:)", 2),
        ("dsh-session:IiJ", "dsh-session:IiJ", 0),
    ],
)
def test_the_first_malformed_mention_is_named_with_its_place(
    text: str, mention: str, start: int
) -> None:
    with pytest.raises(MalformedMention) as caught:
        parse(text)
    assert caught.value.mention == mention
    assert (caught.value.start, caught.value.end) == (start, start + utf16_length(mention))
    assert mention in str(caught.value)


# Held against a naive grammar

_FRAGMENTS = ["@[", "@", "[", "]", "](", "(", ")", "\\", "\\\\", "\\]", "\n", "\r", "\u2028", " "]
_FRAGMENTS += ["dsh-session:", "dsh-session:ImEi", "](dsh-session:ImEi)", "](dsh-session:", "ImEi"]
_FRAGMENTS += [
    "a",
    "-",
    "é",
    "😀",
    "\ud83d",
    "\ude00",
    "\u00a0",
    "\u0085",
    "@[a](dsh-session:ImEi)",
]


@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=14).map("".join).map(join_pairs))
@example("@[a\\@[b](dsh-session:ImEi)")
@example("@[a](dsh-session:@[b](dsh-session:ImEi)")
@example("@[\\\n@[b](dsh-session:ImEi)")
@example("@[@[a](dsh-session: @[a](dsh-session:ImEi)")
def test_parsing_finds_what_the_naive_grammar_finds(text: str) -> None:
    assert grammar.ours(text) == grammar.naive(text)


# What people see of it


def test_an_error_quotes_at_most_120_characters_and_nothing_deceptive() -> None:
    assert quote_for_error("a" * 120) == "a" * 120
    assert quote_for_error("a" * 121) == "a" * 119 + "…"
    assert quote_for_error("😀" * 60) == "😀" * 60
    assert quote_for_error("😀" * 61) == "😀" * 59 + "…"
    assert quote_for_error("\u202e\n") == "\\u{202e}\\u{a}"
    assert quote_for_error("a" * 115 + "\u202eb") == "a" * 115 + "…"
