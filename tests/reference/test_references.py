"""Checks before any read: the first fault in the order of the input is the one answered."""

import pytest

from sessionref.reference.references import (
    Reference,
    Wanted,
    check_references,
    distinct,
    invalid_mention,
    may_be_taken,
    read_references,
    sift,
)
from sessionref_protocol import mention
from sessionref_protocol.errors import ErrorKind, RpcError

BAD_SHAPES: list[object] = [
    None,
    "plain-talk",
    3,
    ["plain-talk"],
    {},
    {"label": "only"},
    {"sessionId": None},
    {"sessionId": 3},
    {"sessionId": "a", "label": None},
    {"sessionId": "a", "label": 3},
]


def fault(agent_id: str, values: list[object], max_references: int = 3) -> RpcError:
    with pytest.raises(RpcError) as caught:
        check_references(agent_id, read_references(values), max_references)
    return caught.value


def test_sessions_are_wanted_once_and_under_their_first_label() -> None:
    values: list[object] = [
        {"sessionId": "a", "label": "First"},
        {"sessionId": "a", "label": "Second"},
        {"sessionId": "b"},
        {"sessionId": "a"},
        {"sessionId": "c", "label": ""},
    ]
    assert check_references("me", read_references(values), 3) == (
        Wanted("a", "First", 0),
        Wanted("b", "b", 1),
        Wanted("c", "", 2),
    )


def test_further_labels_are_kept_where_they_could_be_taken_for_a_mention() -> None:
    labels = ["First", "dsh-session:IiI", "Second", "see dsh-session:"]
    [wanted] = distinct(Reference("a", label) for label in labels)
    assert wanted == Wanted("a", "First", 0, ("dsh-session:IiI", "see dsh-session:"))


def test_no_references_are_no_fault() -> None:
    assert check_references("me", (), 3) == ()


@pytest.mark.parametrize("value", BAD_SHAPES)
def test_bad_shapes(value: object) -> None:
    error = fault("me", [{"sessionId": "a"}, value])
    assert error.kind is ErrorKind.INVALID_REFERENCE
    assert error.field == "references[1]"
    assert error.input_index == 1


def test_unknown_fields_of_a_reference_are_ignored() -> None:
    assert list(read_references([{"sessionId": "a", "more": 1}])) == [Reference("a", "a")]


def test_the_agents_own_session() -> None:
    error = fault("me", [{"sessionId": "a"}, {"sessionId": "me"}])
    assert error.kind is ErrorKind.SELF_REFERENCE
    assert error.session_id == "me"
    assert error.input_index == 1


def test_own_id_is_found_item_by_item_and_before_the_count() -> None:
    many: list[object] = [{"sessionId": name} for name in "abcd"]
    assert fault("me", [*many, {"sessionId": "me"}]).kind is ErrorKind.SELF_REFERENCE
    assert fault("me", [{"sessionId": "me"}, None]).kind is ErrorKind.SELF_REFERENCE
    assert fault("me", [None, {"sessionId": "me"}]).kind is ErrorKind.INVALID_REFERENCE
    assert fault("me", [*many, None]).kind is ErrorKind.INVALID_REFERENCE


def test_only_distinct_sessions_count_against_the_limit() -> None:
    values: list[object] = [{"sessionId": "a"}, {"sessionId": "a"}]
    assert len(check_references("me", read_references(values), 1)) == 1
    error = fault("me", [*values, {"sessionId": "b"}], 1)
    assert error.kind is ErrorKind.TOO_MANY


def references(names: str) -> list[Reference]:
    return [Reference(name, name.upper()) for name in names]


def told(names: str, max_references: int = 3) -> tuple[str, list[tuple[str, int, ErrorKind]]]:
    """What the agent `m` may read of these sessions, and what is left out and why."""
    sifted = sift("m", references(names), max_references)
    assert all(each.error.session_id == each.wanted.session_id for each in sifted.left_out)
    assert all(each.error.input_index == each.wanted.input_index for each in sifted.left_out)
    return "".join(wanted.session_id for wanted in sifted.wanted), [
        (each.wanted.session_id, each.wanted.input_index, each.error.kind)
        for each in sifted.left_out
    ]


def test_the_own_session_is_left_out_and_takes_no_place() -> None:
    assert told("amb", 2) == ("ab", [("m", 1, ErrorKind.SELF_REFERENCE)])
    assert told("mm", 1) == ("", [("m", 0, ErrorKind.SELF_REFERENCE)])


def test_those_beyond_the_limit_are_left_out_and_the_others_keep_their_place() -> None:
    assert told("mabac", 1) == (
        "a",
        [
            ("m", 0, ErrorKind.SELF_REFERENCE),
            ("b", 2, ErrorKind.TOO_MANY),
            ("c", 3, ErrorKind.TOO_MANY),
        ],
    )
    sifted = sift("m", references("mabac"), 3)
    assert [wanted.input_index for wanted in sifted.wanted] == [1, 2, 3]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("", None),
        ("aaab", None),
        ("abc", ErrorKind.TOO_MANY),
        ("am", ErrorKind.SELF_REFERENCE),
        ("abcdm", ErrorKind.SELF_REFERENCE),
    ],
)
def test_the_first_fault_is_told_beside_what_can_be_read(
    names: str, kind: ErrorKind | None
) -> None:
    sifted = sift("m", references(names), 2)
    assert (sifted.error and sifted.error.kind) == kind
    assert bool(sifted.left_out) is (kind is not None)


def test_nothing_is_wanted_of_references_that_cannot_be_read() -> None:
    sifted = sift("m", read_references([{"sessionId": "a"}, None]), 3)
    assert (sifted.wanted, sifted.left_out) == ((), ())
    assert sifted.error is not None
    assert sifted.error.kind is ErrorKind.INVALID_REFERENCE


def test_which_labels_could_be_taken_for_a_mention() -> None:
    assert may_be_taken("see dsh-session:IiI")
    assert not may_be_taken("Fix login")


def test_distinct_checks_nothing() -> None:
    references = [Reference("me", "x"), Reference("b", "y"), Reference("me", "z")]
    assert distinct(references) == (Wanted("me", "x", 0), Wanted("b", "y", 1))


def test_a_malformed_mention_is_shown_with_its_place() -> None:
    with pytest.raises(mention.MalformedMention) as caught:
        mention.parse("😀 see dsh-session:IiJ")
    error = invalid_mention(caught.value, field="text")
    assert error.kind is ErrorKind.INVALID_REFERENCE
    assert (error.field, error.start, error.end) == ("text", 7, 22)
    assert "dsh-session:IiJ" in error.message


def test_a_malformed_mention_is_shown_escaped_and_in_part() -> None:
    with pytest.raises(mention.MalformedMention) as caught:
        mention.parse(f"@[\u202e\n{'x' * 500}](dsh-session:IiJ)")
    message = invalid_mention(caught.value).message
    assert "\u202e" not in message
    assert "\n" not in message
    assert 100 < len(message) < 160
