"""Whose a recall message is, by its place and its labels alone, and what is shown for it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sessionref.reference.prestep import Policy
from sessionref.reference.transcript import describe, line
from sessionref_protocol.mention import format_mention

from .test_prestep import direct, enter, failure, raw_messages, recall, run

PLUGIN = '{"source":{"kind":"plugin"},"content":[]}'
A, B = recall(("a", "Alpha")), recall(("b", "Beta"))


def owners(*messages: str) -> dict[int, int | None]:
    """The direct message of each recall, by their places."""
    found = describe([Raw(message.encode()) for message in messages])
    for each in found:
        assert each.placement == (
            None
            if each.message_index is None
            else "after"
            if each.message_index < each.recall_index
            else "before"
        )
    return {each.recall_index: each.message_index for each in found}


def test_a_recall_on_either_side_of_its_message() -> None:
    assert owners(direct("see @Alpha"), A) == {1: 0}
    assert owners(A, direct("see @Alpha")) == {0: 1}


def test_labels_of_several_words_that_follow_each_other_directly() -> None:
    both = recall(("a", "Fix login"), ("b", "Fix"), ("c", "the tests, please"))
    text = "as in @Fix login@Fix and @the tests, please do"
    assert owners(direct("@Fix login"), both, direct(text)) == {1: 2}
    assert owners(direct(text), both, direct("@Fix login")) == {1: 0}


def test_chains_of_both_placements() -> None:
    assert owners(direct("@Alpha"), A, direct("@Alpha"), A) == {1: 0, 3: 2}
    assert owners(A, direct("@Alpha"), A, direct("@Alpha")) == {0: 1, 2: 3}
    assert owners(direct("@Alpha"), A, B, direct("@Beta")) == {1: 0, 2: 3}


def test_a_neighbour_without_its_labels_is_not_its_own() -> None:
    assert owners(direct("hello"), A) == {1: None}
    assert owners(direct("@Beta"), A, direct("Alpha")) == {1: None}
    assert owners(A) == {0: None}
    assert owners(direct("@Alpha"), PLUGIN, A) == {2: None}


def test_a_message_that_only_refers_to_the_session_gives_way_to_one_that_was_rewritten() -> None:
    failed = direct(format_mention("a", "Alpha"))
    assert owners(failed, A, direct("@Alpha")) == {1: 2}
    assert owners(failed, A, direct("hello")) == {1: 0}


def test_a_longer_word_gives_way_to_the_label_itself() -> None:
    assert owners(direct("@Alphabet"), A, direct("@Alpha")) == {1: 2}
    assert owners(direct("@Alphabet"), A) == {1: 0}  # as `@[Alpha](…)bet` would be rewritten
    assert owners(recall(("a", "登录")), direct("@登录的问题")) == {0: 1}


def test_where_the_choice_is_open_the_rest_of_the_transcript_decides() -> None:
    open_ = [direct("@Beta"), B, direct("@Beta")]
    assert owners(*open_) == {1: 0}
    assert owners(A, direct("@Alpha"), PLUGIN, *open_) == {0: 1, 4: 5}
    assert owners(direct("@Alpha"), A, PLUGIN, *open_) == {1: 0, 4: 3}


def test_a_message_has_one_recall() -> None:
    assert owners(A, direct("@Alpha"), A) == {0: None, 2: 1}


def test_an_edited_message_keeps_its_recall_while_it_refers_to_it() -> None:
    both = recall(("a", "Alpha"), ("b", "Beta"))
    assert owners(direct("@Beta only"), both) == {1: 0}


def test_what_is_no_message_at_all() -> None:
    assert owners("null", "3", '"session-reference"', "[]", "{}") == {}


def described_line(**entry: Any) -> str:
    source = {
        "kind": "session-reference",
        "form": "recall",
        "version": 1,
        "references": [{"sessionId": "a", "label": "Fix login", **entry}],
    }
    message = json.dumps({"source": source, "content": []}).encode()
    [recalled] = describe([Raw(message)])[0].recall.references
    return line(recalled)


def stats(original: int, retained: int, omitted_bytes: int) -> dict[str, Any]:
    return {
        "compacted": False,
        "originalMessages": original,
        "retainedMessages": retained,
        "omittedMessages": original - retained,
        "omittedBytes": omitted_bytes,
        "truncated": omitted_bytes > 0,
    }


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ((40, 12, 8_100), "12 of 40 messages, 8.1 KB omitted"),
        ((40, 40, 0), "40 messages"),
        ((1, 1, 0), "1 message"),
        ((1, 1, 1), "1 message, 1 byte omitted"),
        ((2, 2, 999), "2 messages, 999 bytes omitted"),
        ((2, 1, 1_000), "1 of 2 messages, 1.0 KB omitted"),
        ((2, 2, 999_949), "2 messages, 999.9 KB omitted"),
        ((2, 2, 999_950), "2 messages, 1.0 MB omitted"),
        ((2, 2, 12_345_678_901_234), "2 messages, 12345.7 GB omitted"),
        ((0, 0, 0), "no messages"),
    ],
)
def test_a_line_says_how_much_of_a_session_is_quoted(
    told: tuple[int, int, int], expected: str
) -> None:
    assert described_line(**stats(*told)) == f"Fix login — {expected}"


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"originalMessages": 3},
        {**stats(3, 3, 0), "omittedBytes": -1},
        {**stats(3, 3, 0), "omittedBytes": 10**400},
    ],
)
def test_a_line_says_nothing_of_what_it_cannot_make_out(entry: dict[str, Any]) -> None:
    assert described_line(**entry) == "Fix login"


def test_a_line_says_where_the_session_was_not_read_with_certainty() -> None:
    degraded = {"reason": "damaged", "throughSeq": 4}
    assert described_line(**stats(2, 2, 0), degraded=degraded) == (
        "Fix login — 2 messages, may be incomplete"
    )
    assert described_line(degraded=degraded) == "Fix login — may be incomplete"
    assert described_line(degraded={"reason": "else"}) == "Fix login"


def test_a_line_is_one_line_and_deceives_nobody() -> None:
    assert described_line(label="a\n\u202eb") == "a\\u{a}\\u{202e}b"
    assert described_line(label="x" * 500) == "x" * 79 + "…"


LABELS = st.sampled_from(["Alpha", "Al", "Alpha beta", "", "@", "]", "\ud83d", "登录"])
MENTIONED = st.lists(st.tuples(st.sampled_from("abc"), LABELS), min_size=1, max_size=3)


@given(
    st.lists(MENTIONED | st.none(), min_size=1, max_size=4),
    st.sampled_from(["after", "before"]),
    st.sets(st.sampled_from("abc"), max_size=2),
)
def test_every_context_of_a_step_is_given_to_the_message_that_it_was_made_for(
    given_messages: list[list[tuple[str, str]] | None], placement: Any, failing: set[str]
) -> None:
    """Plugins stand between them: neighbours with the same labels could not be told apart."""
    decision = enter(
        *(
            message
            for mentioned in given_messages
            for message in (
                direct(" ".join(format_mention(*each) for each in mentioned or ())),
                PLUGIN,
            )
        )
    )
    sessions = {session_id: failure() for session_id in failing}
    result = run(decision, Policy(placement, "skip"), sessions)
    after = raw_messages(result.decision)
    found = describe([Raw(message) for message in after])
    ids = [json.loads(message).get("id") for message in after]
    expected = [each.context_id for each in result.outcomes if each.context_id is not None]
    assert [ids[each.recall_index] for each in found] == expected
    step = -1 if placement == "after" else 1
    assert [each.message_index for each in found] == [each.recall_index + step for each in found]
