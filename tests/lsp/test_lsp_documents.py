"""Lines, positions and edits, against a reference that walks character by character."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from sessionref.lsp.documents import Document, Units, split_lines

ENCODINGS = ["utf-8", "utf-16", "utf-32"]
TEXTS = st.text("ab@é中😀\r\n\u2028\x0b\x85", max_size=14) | st.text("a\r\n", max_size=5)


def width(character: str, encoding: str) -> int:
    if encoding == "utf-32":
        return 1
    codec, unit = ("utf-16-le", 2) if encoding == "utf-16" else ("utf-8", 1)
    return len(character.encode(codec)) // unit


def positions(text: str, encoding: str) -> list[tuple[int, int]]:
    """The position of every place in the text, its end included; the plain way."""
    found = []
    line = column = 0
    for at, character in enumerate(text):
        found.append((line, column))
        if character == "\n" or (character == "\r" and text[at + 1 : at + 2] != "\n"):
            line, column = line + 1, 0
        elif character != "\r":
            column += width(character, encoding)
    return [*found, (line, column)]


def document(text: str, encoding: str) -> Document:
    return Document("untitled:x", text, 1, "markdown", Units(encoding))


@given(TEXTS, st.sampled_from(ENCODINGS))
def test_every_place_has_its_position_and_the_reverse(text: str, encoding: str) -> None:
    opened = document(text, encoding)
    assert opened.source == text
    for offset, (line, character) in enumerate(positions(text, encoding)):
        assert opened.position(offset) == lsp.Position(line, character)
        back = opened.offset_at_position(lsp.Position(line, character))
        between = text[offset - 1 : offset + 1] == "\r\n"  # no position is there
        assert back == offset - between


@given(TEXTS, st.lists(st.tuples(TEXTS, st.randoms()), max_size=5), st.sampled_from(ENCODINGS))
def test_edits_leave_what_they_say(text: str, edits: list[tuple[str, Any]], encoding: str) -> None:
    opened = document(text, encoding)
    for new, random in edits:
        places = positions(text, encoding)
        allowed = [at for at in range(len(places)) if text[at - 1 : at + 1] != "\r\n" or at == 0]
        start, end = sorted((random.choice(allowed), random.choice(allowed)))
        range_ = lsp.Range(lsp.Position(*places[start]), lsp.Position(*places[end]))
        opened.apply_change(lsp.TextDocumentContentChangePartial(range_, new))
        text = text[:start] + new + text[end:]
        assert opened.source == text
        assert list(opened.lines) == split_lines(text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_beyond_an_end_is_that_end_and_inside_a_character_is_before_it(encoding: str) -> None:
    opened = document("a😀b\r\nc", encoding)
    assert opened.offset_at_position(lsp.Position(0, 99)) == 3
    assert opened.offset_at_position(lsp.Position(7, 0)) == 6
    if encoding != "utf-32":
        assert opened.offset_at_position(lsp.Position(0, 2)) == 1


def test_halves_of_a_character_that_come_together_are_one() -> None:
    opened = document("\ud83d", "utf-16")
    end = lsp.Position(0, 1)
    opened.apply_change(lsp.TextDocumentContentChangePartial(lsp.Range(end, end), "\ude00"))
    assert opened.source == "😀"


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "file://[x/a", "", "git:/a?{}", "a b"])
def test_any_uri_is_a_document(uri: str) -> None:
    assert Document(uri, "x", 1, "no-such-language", Units("utf-16")).source == "x"
