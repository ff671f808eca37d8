"""Pages of a conversation: bounded, and nothing lost between them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sessionref.reference.pages import Page, page
from sessionref.reference.projection import Item
from sessionref_protocol.ecmascript import encode, join_pairs

PAGE_BYTES = 1024
TEXTS = st.text(st.sampled_from('a\n"\0é中😀\ud83d'), min_size=1, max_size=900).map(join_pairs)
ITEMS = st.lists(
    st.builds(Item.of, st.sampled_from(["user", "assistant"]), TEXTS, st.booleans()), max_size=8
)


def all_pages(items: list[Item], limit: int | None, max_bytes: int = PAGE_BYTES) -> list[Page]:
    pages = [page(items, 0, limit, max_bytes)]
    while (offset := pages[-1].next_offset) is not None:
        pages.append(page(items, offset, limit, max_bytes))
    return pages


@given(ITEMS, st.none() | st.integers(1, 5))
def test_the_pages_hold_the_whole_conversation(items: list[Item], limit: int | None) -> None:
    parts = [part for each in all_pages(items, limit) for part in each.parts]
    joined: list[Item] = []
    text = ""
    for part in parts:
        text += part.text
        if not part.continues:
            joined.append(Item.of(part.role, text, part.checkpoint))
            text = ""
    assert text == ""
    assert joined == items


@given(ITEMS, st.none() | st.integers(1, 5))
def test_no_page_is_larger_than_it_may_be(items: list[Item], limit: int | None) -> None:
    for each in all_pages(items, limit):
        size = sum(len(encode({"role": part.role, "text": part.text})) for part in each.parts)
        assert size <= PAGE_BYTES
        assert limit is None or len(each.parts) <= limit
        assert each.parts or items == []


def test_messages_of_an_ordinary_size_are_not_cut() -> None:
    items = [
        Item.of("user", "one"),
        Item.of("assistant", "two", checkpoint=True),
        Item.of("user", "three"),
    ]
    [only] = all_pages(items, None)
    assert [(part.text, part.continues) for part in only.parts] == [
        ("one", False),
        ("two", False),
        ("three", False),
    ]
    assert [part.checkpoint for part in only.parts] == [False, True, False]


def test_an_offset_counts_parts() -> None:
    items = [Item.of("user", "x" * 200), Item.of("assistant", "y")]  # a part has 128 bytes
    first, second, third = all_pages(items, 1)
    assert [len(first.parts[0].text), len(second.parts[0].text)] == [128, 72]
    assert (first.parts[0].continues, second.parts[0].continues) == (True, False)
    assert third.parts[0].text == "y"
    assert third.next_offset is None


def test_there_is_nothing_behind_the_end() -> None:
    items = [Item.of("user", "one")]
    assert page(items, 1, None, PAGE_BYTES) == Page(parts=(), next_offset=None)
    assert page(items, 2**53 - 1, None, PAGE_BYTES) == Page(parts=(), next_offset=None)
    assert page([], 0, None, PAGE_BYTES) == Page(parts=(), next_offset=None)


def test_characters_stay_whole() -> None:
    text = "😀" * 100
    parts = [part.text for each in all_pages([Item.of("user", text)], None) for part in each.parts]
    assert "".join(parts) == text
    assert json.loads(encode(parts)) == parts
