"""Ranking and filtering of listed sessions."""

import random
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionref.reference.candidates import Display, Filter, candidate, matching, offered, ranked
from sessionref.sessions.model import Entry, Header, Summary
from sessionref_protocol import mention


def entry(session_id: str, created_at: int = 0, cwd: str | None = None) -> Entry:
    header = Header(id=session_id, created_at=created_at, version=0, cwd=cwd)
    return Entry(header=header, store="/root")


def nowhere(_: str) -> bool:
    """The agent's workspace, where it has none."""
    return False


def ids(entries: list[Entry]) -> list[str]:
    return [each.header.id for each in entries]


def test_the_agents_own_session_is_not_offered() -> None:
    assert ids(offered([entry("a"), entry("me"), entry("ME")], "me", Filter(), nowhere)) == [
        "a",
        "ME",
    ]


def test_same_cwd_then_none_then_others_each_newest_first() -> None:
    entries = [
        entry("other-new", 99, "/other"),
        entry("none-old", 1),
        entry("same-old", 1, "/here"),
        entry("trailing-slash", 98, "/here/"),
        entry("none-new", 97),
        entry("same-new", 50, "/here"),
    ]
    assert ids(ranked(entries, "/here".__eq__)) == [
        "same-new",
        "same-old",
        "none-new",
        "none-old",
        "other-new",
        "trailing-slash",
    ]


def test_without_a_cwd_of_the_agent_sessions_without_one_come_first() -> None:
    entries = [entry("x", 9, "/x"), entry("none", 1), entry("empty", 2, "")]
    assert ids(ranked(entries, nowhere)) == ["none", "x", "empty"]


def test_ties_are_in_code_point_order() -> None:
    """U+FF5E before the astral U+1F600, whose first UTF-16 unit is lower; upper before lower."""
    in_order = ["", "A", "TIE", "_", "a", "tie", "é", "\ud83d", "\ue000", "\uff5e", "😀"]
    entries = [entry(each, 5) for each in in_order]
    random.Random(1).shuffle(entries)
    assert ids(ranked(entries, nowhere)) == in_order


@given(
    st.lists(
        st.builds(
            entry, st.text(max_size=3), st.integers(0, 3), st.sampled_from([None, "/a", "/b"])
        ),
        unique_by=lambda each: each.header.id,
    ),
    st.sampled_from([None, "/a"]),
    st.randoms(),
)
def test_the_order_is_total(entries: list[Entry], cwd: str | None, chance: random.Random) -> None:
    shuffled = list(entries)
    chance.shuffle(shuffled)
    is_same = nowhere if cwd is None else cwd.__eq__
    assert ranked(entries, is_same) == ranked(shuffled, is_same)
    assert sorted(ids(ranked(entries, is_same))) == sorted(ids(entries))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ALPHA", ["alpha-1"]),
        ("/WORK/b", ["beta"]),
        ("parser", ["gamma"]),
        ("PARSER ", []),
        (" ", ["gamma"]),
        ("a", ["alpha-1", "beta", "gamma"]),
        (".*", []),
        ("", ["alpha-1", "beta", "gamma"]),
    ],
)
def test_a_query_is_looked_for_in_id_cwd_and_title(query: str, found: list[str]) -> None:
    entries = [entry("alpha-1"), entry("beta", cwd="/work/B"), entry("gamma")]
    summaries = defaultdict(Summary, gamma=Summary("Refactor the Parser"))
    assert ids(matching(entries, query, summaries)) == found


@pytest.mark.parametrize(
    ("session_id", "query", "matches"),
    [
        ("İstanbul", "i̇stanbul", True),
        ("ΣΑΣ", "σας", True),
        ("ΣΑΣ", "σασ", False),
        ("\u00e9", "e\u0301", False),
    ],
)
def test_letter_case_without_locale_or_normalization(
    session_id: str, query: str, *, matches: bool
) -> None:
    assert bool(matching([entry(session_id)], query, {})) is matches


def test_half_an_emoji_is_found_in_that_emoji() -> None:
    emoji = [entry("😀")]
    assert matching(emoji, "\ud83d", {}) == emoji
    assert matching(emoji, "\ude00", {}) == emoji
    assert matching(emoji, "\ude01", {}) == []


def test_a_candidate_has_exact_fields_and_a_display_for_people() -> None:
    session_id, title, cwd = "id\u200b", "A\u202e ]title", "/w\n"
    made = candidate(entry(session_id, 7, cwd), Summary(title), nowhere)
    assert (made.session_id, made.label, made.cwd) == (session_id, title, cwd)
    assert made.created_at == 7
    assert made.mention == mention.format_mention(session_id, title)
    assert mention.parse(made.mention).text == "@" + title
    assert made.display == Display("A\\u{202e} ]title", "/w\\u{a}")


def test_the_label_is_the_title_even_if_empty_and_else_the_id() -> None:
    assert candidate(entry("a"), Summary(""), nowhere).label == ""
    untitled = candidate(entry("a"), Summary(), nowhere)
    assert untitled.label == "a"
    assert untitled.cwd is None
    assert untitled.display == Display("a", None)


def subagent(session_id: str, **fields: Any) -> Entry:
    header = Header(id=session_id, created_at=0, version=3, **fields)
    return Entry(header=header, store="/root")


ENTRIES = [
    entry("plain", cwd="/here"),
    subagent("by-origin", origin="subagent"),
    subagent("by-depth", delegation_depth=1),
    subagent("top", delegation_depth=0),
    Entry(header=entry("put-away").header, store="/root", archived=True),
    Entry(header=entry("kept").header, store="/root", archived=False),
]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(), ["plain", "by-origin", "by-depth", "top", "put-away", "kept"]),
        (Filter(subagents=False), ["plain", "top", "put-away", "kept"]),
        (Filter(archived=False), ["plain", "by-origin", "by-depth", "top", "kept"]),
        (Filter(same_workspace_only=True), ["plain"]),
    ],
)
def test_what_a_filter_leaves(wanted: Filter, found: list[str]) -> None:
    assert ids(offered(ENTRIES, "me", wanted, "/here".__eq__)) == found


def test_a_sub_agent_is_shown_by_the_name_that_its_parent_gave_it() -> None:
    made = candidate(subagent("s", origin="subagent"), Summary("Title", "Scout"), nowhere)
    assert (made.label, made.display_title) == ("Title", "Scout")
    assert made.mention == mention.format_mention("s", "Title")
    assert candidate(entry("a"), Summary("Title"), nowhere).display_title == "Title"
    assert candidate(entry("a"), Summary(), nowhere).display_title == "a"
