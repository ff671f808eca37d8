"""Ranking and filtering of listed sessions."""

import random
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionref.reference.candidates import Display, candidate, matching, others, ranked
from sessionref.sessions.model import Entry, Header, Summary
from sessionref_protocol import mention


def entry(session_id: str, created_at: int = 0, cwd: str | None = None) -> Entry:
    header = Header(id=session_id, created_at=created_at, version=0, cwd=cwd)
    return Entry(header=header, store="/root")


def ids(entries: list[Entry]) -> list[str]:
    return [each.header.id for each in entries]


def test_the_agents_own_session_is_not_offered() -> None:
    assert ids(others([entry("a"), entry("me"), entry("ME")], "me")) == ["a", "ME"]


def test_same_cwd_then_none_then_others_each_newest_first() -> None:
    entries = [
        entry("other-new", 99, "/other"),
        entry("none-old", 1),
        entry("same-old", 1, "/here"),
        entry("trailing-slash", 98, "/here/"),
        entry("none-new", 97),
        entry("same-new", 50, "/here"),
    ]
    assert ids(ranked(entries, "/here")) == [
        "same-new",
        "same-old",
        "none-new",
        "none-old",
        "other-new",
        "trailing-slash",
    ]


def test_without_a_cwd_of_the_agent_sessions_without_one_come_first() -> None:
    entries = [entry("x", 9, "/x"), entry("none", 1), entry("empty", 2, "")]
    assert ids(ranked(entries, None)) == ["none", "x", "empty"]


def test_ties_are_in_code_point_order() -> None:
    """U+FF5E before the astral U+1F600, whose first UTF-16 unit is lower; upper before lower."""
    in_order = ["", "A", "TIE", "_", "a", "tie", "é", "\ud83d", "\ue000", "\uff5e", "😀"]
    entries = [entry(each, 5) for each in in_order]
    random.Random(1).shuffle(entries)
    assert ids(ranked(entries, None)) == in_order


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
    assert ranked(entries, cwd) == ranked(shuffled, cwd)
    assert sorted(ids(ranked(entries, cwd))) == sorted(ids(entries))


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
    offered = candidate(entry(session_id, 7, cwd), Summary(title))
    assert (offered.session_id, offered.label, offered.cwd) == (session_id, title, cwd)
    assert offered.created_at == 7
    assert offered.mention == mention.format_mention(session_id, title)
    assert mention.parse(offered.mention).text == "@" + title
    assert offered.display == Display("A\\u{202e} ]title", "/w\\u{a}")


def test_the_label_is_the_title_even_if_empty_and_else_the_id() -> None:
    assert candidate(entry("a"), Summary("")).label == ""
    untitled = candidate(entry("a"), Summary())
    assert untitled.label == "a"
    assert untitled.cwd is None
    assert untitled.display == Display("a", None)
