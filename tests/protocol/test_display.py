"""What is shown to people holds nothing that hides, reorders or breaks lines."""

import unicodedata

import pytest
from ecmascript_texts import strings
from hypothesis import given

from sessionref_protocol import ecmascript
from sessionref_protocol.display import excerpt, json_printable, printable
from sessionref_protocol.ecmascript import utf16_length


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("C:\\x ~ é 会话 😀 ❤\ufe0f e\u0301 \xa0", "C:\\x ~ é 会话 😀 ❤\ufe0f e\u0301 \xa0"),
        ("\x00\t\n\x1b\x7f\x85", "\\u{0}\\u{9}\\u{a}\\u{1b}\\u{7f}\\u{85}"),
        (
            "\u202aa\u202e\u2066\u2069\u061c\u200f",
            "\\u{202a}a\\u{202e}\\u{2066}\\u{2069}\\u{61c}\\u{200f}",
        ),
        (
            "\u200b\u200c\u200d\u2060\ufeff\u00ad",
            "\\u{200b}\\u{200c}\\u{200d}\\u{2060}\\u{feff}\\u{ad}",
        ),
        ("\u2028\u2029\u034f\u3164\u180e", "\\u{2028}\\u{2029}\\u{34f}\\u{3164}\\u{180e}"),
        ("\U000e0041\U000e0100\U0001d173", "\\u{e0041}\\u{e0100}\\u{1d173}"),
        ("\ud83dx\udc00", "\\u{d83d}x\\u{dc00}"),
    ],
)
def test_what_could_deceive_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(strings)
def test_nothing_shown_is_a_control_or_turns_the_text_around(text: str) -> None:
    shown = printable(text)
    assert not {"Cc", "Cs", "Zl", "Zp"} & {unicodedata.category(character) for character in shown}
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not turning & {unicodedata.bidirectional(character) for character in shown}
    assert printable(shown) == shown


@given(strings)
def test_an_excerpt_is_whole_or_ends_with_an_ellipsis(text: str) -> None:
    cut = excerpt(text, 10)
    assert utf16_length(cut) <= 10
    whole = printable(text)
    if utf16_length(whole) <= 10:
        assert cut == whole
    else:
        assert cut[-1] == "…"
        assert whole.startswith(cut[:-1])


def test_json_of_hiding_characters_means_the_same_in_printable_ones() -> None:
    text = "a\x7f\x9b\u202e\u2028\ud83d\U000e0041 é\ufe0f\n"
    json_text = ecmascript.encode({"k": text}).decode()
    shown = json_printable(json_text)
    assert shown == (r'{"k":"a\u007f\u009b\u202e\u2028\ud83d\udb40\udc41 é' + "\ufe0f" + r'\n"}')
    assert ecmascript.decode(shown.encode(), dict) == {"k": text}
