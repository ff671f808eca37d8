"""Strings and JSON text are as ECMAScript has them, on both paths."""

import json
from typing import Any

import msgspec
import pytest
from ecmascript_texts import damaged, json_texts, json_values, object_texts, strings
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw

from sessionref_protocol import ecmascript, scanner, surrogates
from sessionref_protocol.ecmascript import TooDeep


class Inner(msgspec.Struct, frozen=True, rename="camel"):
    some_text: str
    some_list: list[str] = []
    some_pair: tuple[str, ...] = ()


class Outer(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    number: int = 0
    inner: Inner | None = None
    anything: Raw = Raw()
    named: dict[str, Raw] = {}


# Strings


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ('"\\/', '"\\"\\\\/"'),
        ("\b\f\n\r\t\v", '"\\b\\f\\n\\r\\t\\u000b"'),
        ("\x00\x1f\x7f\x80", '"\\u0000\\u001f\x7f\x80"'),
        ("\u2028<é😀\ufeff", '"\u2028<é😀\ufeff"'),
        ("\ud83d", '"\\ud83d"'),
        ("\ude00\ud83dx\udfff", '"\\ude00\\ud83dx\\udfff"'),
    ],
)
def test_quote_spells_as_stringify_does(text: str, quoted: str) -> None:
    assert ecmascript.quote(text) == quoted


@given(strings)
def test_a_quoted_string_reads_back_everywhere(text: str) -> None:
    quoted = ecmascript.quote(text)
    assert json.loads(quoted) == text
    assert ecmascript.decode(quoted.encode(), str) == text
    assert ecmascript.decode_any(quoted.encode()) == text


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("\ud83d\ude00", "😀"),
        ("\ud83d\ud83d\ude00\ude00", "\ud83d😀\ude00"),
        ("\ude00\ud83d", "\ude00\ud83d"),
        ("\ud83dx\ude00", "\ud83dx\ude00"),
        ("\udbff\udfff", "\U0010ffff"),
        ("😀", "😀"),
    ],
)
def test_halves_that_meet_become_one_character(text: str, joined: str) -> None:
    assert ecmascript.join_pairs(text) == joined


@given(strings)
def test_lengths_and_bytes_are_those_of_the_text_encoder(text: str) -> None:
    encoded = ecmascript.to_utf8(text)
    assert ecmascript.utf8_length(text) == len(encoded)
    assert encoded.decode() == "".join(
        "\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text
    )
    assert ecmascript.utf16_length(text) == sum(1 + (character > "\uffff") for character in text)


def test_white_space_is_what_ecmascript_calls_so() -> None:
    assert len(ecmascript.WHITE_SPACE) == 25
    assert set("\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff\v\f") <= ecmascript.WHITE_SPACE
    assert not set("\x85\u180e\u200b\u2060\x1c\x1d\x1e\x1f") & ecmascript.WHITE_SPACE


@pytest.mark.parametrize(
    ("text", "lowered"),
    [("İ", "i̇"), ("ΣΑΣ", "σας"), ("Σ", "σ"), ("ẞ", "ß"), ("Ǆ", "ǆ"), ("\ud83dA", "\ud83da")],
)
def test_lower_case_knows_no_locale(text: str, lowered: str) -> None:
    assert ecmascript.lower(text) == lowered


@pytest.mark.parametrize(
    ("haystack", "needle", "found"),
    [
        ("a😀b", "\ud83d", True),
        ("a😀b", "a\ud83d", True),
        ("a😀b", "\ude00b", True),
        ("a😀b", "\ude00", True),  # noqa: PT014 - the linter takes all surrogates for one
        ("a😀b", "\ude01", False),
        ("😀😀", "\ude00\ud83d", True),
        ("😀😀", "\ude00😀", True),
        ("😀", "\ude00\ud83d", False),
        ("x\ud83dy", "\ud83d", True),
        ("\u3dd8\ud800", "\ud83d", False),
        ("abc", "", True),
        ("", "", True),
        ("é", "e\u0301", False),
    ],
)
def test_containment_is_over_code_units(haystack: str, needle: str, found: bool) -> None:
    assert ecmascript.contains(haystack, needle) is found
    assert ecmascript.containing(["", haystack, "?"], needle) == [needle == "", found, needle == ""]


@given(st.text("a😀\ud83d\ude00", max_size=6), st.text("a😀\ud83d\ude00", max_size=3))
def test_containment_agrees_with_lists_of_code_units(haystack: str, needle: str) -> None:
    haystack, needle = ecmascript.join_pairs(haystack), ecmascript.join_pairs(needle)
    whole, part = (
        list(memoryview(t.encode("utf-16-le", "surrogatepass")).cast("H"))
        for t in (haystack, needle)
    )
    naive = any(whole[at : at + len(part)] == part for at in range(len(whole) + 1))
    assert ecmascript.contains(haystack, needle) is naive
    assert ecmascript.containing([haystack], needle) == [naive]


# Decoding


def test_lone_surrogates_survive_in_every_kind_of_member() -> None:
    text = (
        rb'{"kind":"\ud83d","number":7,"unknown":"\udc00","anything": { "b":1.0, "a":"\uD83D\/" },'
        rb'"named":{"k\udfff":"\ud800"},'
        rb'"inner":{"someText":"x\ud83d\ude00\ude00","someList":["\udbff"],"somePair":["\udc00"]}}'
    )
    value = ecmascript.decode(text, Outer)
    assert value == Outer(
        kind="\ud83d",
        number=7,
        inner=Inner("x😀\ude00", ["\udbff"], ("\udc00",)),
        anything=Raw(rb'{ "b":1.0, "a":"\uD83D\/" }'),
        named={"k\udfff": Raw(rb'"\ud800"')},
    )


@pytest.mark.parametrize(
    "text",
    [
        rb'"\uffff\ud83d"',
        b'"\xef\xbf\xbf\\ud83d"',
        b'"\xef\xbf\xbfd83d\\ud83d"',
        rb'"\uFFFFd83d\ud83d"',
        rb'"\\ud83d\ud83d"',
    ],
)
def test_what_looks_like_the_mark_of_a_hidden_surrogate_survives_too(text: bytes) -> None:
    assert ecmascript.decode(text, str) == json.loads(text)
    assert ecmascript.decode(b'{"anything":' + text + b"}", Outer).anything == Raw(text)


def test_keys_that_differ_only_in_how_they_spell_a_surrogate_are_one_key() -> None:
    text = rb'{"\ud83d":1,"a":2,"\uD83D":3}'
    assert list(ecmascript.decode(text, dict[str, int]).items()) == [("\ud83d", 3), ("a", 2)]


def by_msgspec(text: bytes, type_: Any) -> object:
    """What the first path answers; None where it refuses."""
    try:
        return msgspec.json.decode(text, type=type_)
    except msgspec.DecodeError as error:
        return type(error)


def by_second_path(text: bytes, type_: Any) -> object:
    try:
        return surrogates.restore(msgspec.json.decode(surrogates.hide(text), type=type_))
    except msgspec.DecodeError as error:
        return type(error)


@pytest.mark.parametrize("type_", [dict[str, Raw], list[Raw], Raw, object, Outer, str])
@given(text=st.one_of(json_texts, object_texts, damaged()))
def test_both_paths_answer_alike(type_: Any, text: bytes) -> None:
    first = by_msgspec(text, type_)
    if first is not msgspec.DecodeError:  # which also means: no lone surrogates
        assert by_second_path(text, type_) == first


@given(json_texts)
def test_any_json_text_decodes_as_its_grammar_says(text: bytes) -> None:
    assert ecmascript.decode(text, Raw) == Raw(text.strip())
    assert ecmascript.decode_any(text) == json.loads(text)


@given(damaged())
@example(b"[NaN]")
@example(b"-Infinity")
@example(b'["\x1f"]')
@example(b"[1,]")
@example(b"\xef\xbb\xbf[]")
@example(b'[{"a":"\xc0\xaf"}]')
@example(b"")
def test_what_is_no_json_is_refused_by_every_decoder(text: bytes) -> None:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text.decode(), parse_constant=refuse)
    except ValueError:
        for decode in (lambda: ecmascript.decode(text, Raw), lambda: ecmascript.decode_any(text)):
            with pytest.raises(msgspec.DecodeError):
                decode()
    else:
        assert ecmascript.decode(text, Raw) == Raw(text.strip(b" \t\n\r"))
        ecmascript.decode_any(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rb'{"number":"\ud83d"}', "Expected `int`, got `str` - at `$.number`"),
        (
            rb'{"kind":"\ud83d","inner":{"someText":1}}',
            "Expected `str`, got `int` - at `$.inner.someText`",
        ),
        (rb'{"kind":"\ud83d","number":1.0}', "Expected `int`, got `float` - at `$.number`"),
        (rb'["\ud83d"]', "Expected `object`, got `array`"),
    ],
)
def test_the_second_path_refuses_wrong_types_in_the_same_words(text: bytes, message: str) -> None:
    for spelled in (text, text.replace(rb"\ud83d", b"x")):
        with pytest.raises(msgspec.ValidationError) as caught:
            ecmascript.decode(spelled, Outer)
        assert str(caught.value) == message


def test_numbers_beyond_every_range_are_infinite_and_pass_through_raw() -> None:
    digits = b"9" * 5000
    assert ecmascript.decode_any(b"[1e400,-1e400,-" + digits + b"]") == [
        float("inf"),
        float("-inf"),
        float("-inf"),
    ]
    assert ecmascript.decode_any(b"9" * 4000) == 10**4000 - 1
    assert ecmascript.decode(b"[1e400," + digits + b"]", list[Raw]) == [Raw(b"1e400"), Raw(digits)]


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"\\ud83d":'])
@pytest.mark.parametrize("levels", [100_000, 200_000])
def test_too_deep_is_said_and_never_a_recursion_error(opening: bytes, levels: int) -> None:
    deep = opening * levels
    for text in (deep, b'{"unknown":"\\ud83d","anything":' + deep):
        with pytest.raises(TooDeep):
            ecmascript.decode(text, Raw)
        with pytest.raises(TooDeep):
            ecmascript.decode_any(text)


# The scanner


@given(st.one_of(object_texts, damaged(object_texts), damaged()))
@example(b'{"a":[]}}')
@example(b'{"a":[}')
@example(b'{"a":{"b":1]}')
@example(b'{"a":01}')
@example(b'{"a":1 "b":2}')
def test_the_scanner_and_msgspec_agree_on_what_is_an_object(text: bytes) -> None:
    def scanned() -> dict[str, bytes]:
        text.decode()
        return {ecmascript.decode(k, str): v for k, v in scanner.members(text)}

    try:
        wanted = ecmascript.scan_object(text)
    except msgspec.DecodeError:
        with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
            scanned()
    else:
        assert list(scanned().items()) == list(wanted.items())


def test_members_are_found_beside_values_of_any_depth() -> None:
    deep = b"[" * 100_000 + b'{"x":[1, 2]}' + b"]" * 100_000
    text = b' {"a": 1.0 ,"deep":' + deep + b', "t\\u0069tle" : "\\ud83d" , "a":2}\n'
    assert ecmascript.scan_object(text) == {"a": b"2", "deep": deep, "title": rb'"\ud83d"'}
    assert ecmascript.depth(text) == 100_003
    for broken in (text[:-3], text + b",", text.replace(b"[1, 2]", b"[1, 2"), b"[" + text + b"]"):
        with pytest.raises(msgspec.DecodeError):
            ecmascript.scan_object(broken)


@given(json_texts)
def test_depth_counts_containers(text: bytes) -> None:
    def levels(value: object) -> int:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            return 1 + max(map(levels, value), default=0)
        return 0

    # an earlier member of the same name counts in the text but is not in the value
    assert ecmascript.depth(text) >= levels(json.loads(text))
    without_values = json.loads(text, object_pairs_hook=lambda pairs: [v for _, v in pairs])
    assert ecmascript.depth(text) == levels(without_values)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        (b"1", 0),
        (b'"["', 0),
        (rb'"\"["', 0),
        (rb'["\\",[]]', 2),
        (rb'"\\\"[["', 0),
        (b'["",[""]]', 2),
    ],
)
def test_brackets_in_strings_are_not_counted(text: bytes, levels: int) -> None:
    assert ecmascript.depth(text) == levels


# Encoding


@given(json_values)
def test_what_is_encoded_decodes_to_the_same(value: object) -> None:
    text = ecmascript.encode(value)
    assert ecmascript.decode_any(text) == value
    assert json.loads(text) == value
    text.decode()
    assert not set(b"\n\r") & set(text)
    assert b"\xe2\x80\xa8" not in text
    assert b"\xe2\x80\xa9" not in text


@given(json_values)
def test_the_slow_encoder_spells_as_the_fast_one(value: object) -> None:
    with_surrogate = ecmascript.encode(["\ud83d", value])
    assert with_surrogate == b'["\\ud83d",' + ecmascript.encode(value) + b"]"


def test_structs_leave_by_their_wire_names_on_both_paths() -> None:
    value = Outer(kind="k", inner=Inner("t"), anything=Raw(b"[ 1.0 ]"), named={"a": Raw(b"1e400")})
    text = (
        b'{"kind":"k","number":0,"inner":{"someText":"t","someList":[],"somePair":[]},'
        b'"anything":[1.0],"named":{"a":1e400}}'
    )
    assert ecmascript.encode(value) == text
    value = msgspec.structs.replace(value, kind="\udc00")
    assert ecmascript.encode(value) == text.replace(b'"k"', rb'"\udc00"')


@pytest.mark.parametrize(
    ("raw", "spelled"),
    [
        (b'{\n  "b": 1.0,\r\n\t"a": "x  \\/ \\u0041"\n}', rb'{"b":1.0,"a":"x  \/ \u0041"}'),
        (
            b'[ "\\ud83d" , 1e400 ,\n12345678901234567890123 ]',
            rb'["\ud83d",1e400,12345678901234567890123]',
        ),
        ('{"a":"\u2028 \u2029"}'.encode(), rb'{"a":"\u2028 \u2029"}'),
        (b"[" * 2000 + b" " + b"]" * 2000, b"[" * 2000 + b"]" * 2000),
    ],
)
def test_a_raw_member_leaves_compact_and_otherwise_as_it_is_spelled(
    raw: bytes, spelled: bytes
) -> None:
    assert ecmascript.encode({"v": Raw(raw), "s": "a b"}) == b'{"v":' + spelled + b',"s":"a b"}'
    assert ecmascript.encode({"v": Raw(raw), "s": "\ud800"}) == (
        b'{"v":' + spelled + b',"s":"\\ud800"}'
    )


@given(json_texts)
def test_compacting_changes_nothing_but_white_space(text: bytes) -> None:
    compacted = bytes(ecmascript.compact(text))
    assert json.loads(compacted) == json.loads(text)
    assert ecmascript.compact(compacted) == Raw(compacted)


def test_what_is_no_json_is_not_compacted() -> None:
    with pytest.raises(msgspec.DecodeError):
        ecmascript.compact(b"[1,")
