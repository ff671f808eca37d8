"""The preview: what a context would be made of, in numbers."""

import pytest

from sessionref.reference.preview import (
    Captured,
    Preview,
    estimated_tokens,
    preview,
    read_captured,
    totals,
)
from sessionref.reference.references import Reference, sift
from sessionref.reference.snapshot import Snapshot, take
from sessionref.sessions.model import Header, Node, Reading, Voice
from sessionref_protocol.errors import ErrorKind, RpcError


def look(
    names: str,
    *,
    max_references: int = 3,
    max_bytes: int = 65_536,
    captured: dict[str, Captured] | None = None,
) -> Preview:
    """The preview of the agent `m` for these sessions; `x` can't be read, the others say `é`s."""
    sifted = sift("m", [Reference(name, name) for name in names], max_references)
    results: list[Snapshot | RpcError] = []
    for wanted in sifted.wanted:
        reading = Reading(
            header=Header(id=wanted.session_id, created_at=5, version=3),
            nodes=tuple(Node.of(seq, Voice.PERSON, "é" * 100) for seq in range(3)),
            captured_through_seq=7,
            last_activity_at=9,
        )
        gone = RpcError(ErrorKind.READ_FAILED, "No.", cause="not_found")
        results.append(gone if wanted.session_id == "x" else take(wanted, reading, max_bytes))
    return preview(sifted, results, captured or {})


def kinds(found: Preview) -> list[ErrorKind | None]:
    return [
        each.result.kind if isinstance(each.result, RpcError) else None for each in found.prospects
    ]


def test_a_source_that_can_be_prepared() -> None:
    [prospect] = look("a", max_bytes=400).prospects
    result = prospect.result
    assert isinstance(result, Snapshot)
    assert prospect.bytes == len(result.json.encode()) <= 400
    assert (result.stats.retained_messages, result.stats.omitted_bytes) == (1, 400)
    assert (result.created_at, result.last_activity_at) == (5, 9)


def test_every_failing_source_is_told_and_the_first_comes_first() -> None:
    found = look("axb")
    assert kinds(found) == [None, ErrorKind.READ_FAILED, None]
    assert [error.kind for error in found.errors] == [ErrorKind.READ_FAILED]


def test_what_is_known_before_reading_is_the_error_and_the_others_are_looked_at() -> None:
    found = look("axmbc", max_references=2)
    assert kinds(found) == [
        None,
        ErrorKind.READ_FAILED,
        ErrorKind.SELF_REFERENCE,
        ErrorKind.TOO_MANY,
        ErrorKind.TOO_MANY,
    ]
    assert [error.kind for error in found.errors] == [ErrorKind.SELF_REFERENCE]


def test_totals_are_of_what_can_be_prepared() -> None:
    found = look("axb", max_bytes=400)
    total = totals(found.prospects)
    sizes = [prospect.bytes for prospect in found.prospects]
    assert sizes[1] == 0
    assert (total.sources, total.bytes) == (2, sum(sizes))
    assert total.estimated_tokens == estimated_tokens(sizes[0]) + estimated_tokens(sizes[2])
    assert (total.original_messages, total.retained_messages) == (6, 2)
    assert (total.omitted_messages, total.omitted_bytes) == (4, 800)


@pytest.mark.parametrize(("size", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (65_536, 16_384)])
def test_a_token_is_four_bytes(size: int, tokens: int) -> None:
    assert estimated_tokens(size) == tokens


@pytest.mark.parametrize(
    ("captured", "stale"),
    [
        (None, None),
        (Captured(captured_through_seq=7), False),
        (Captured(captured_through_seq=7, captured_format_version=3), False),
        (Captured(captured_through_seq=7, captured_format_version=0), True),
        (Captured(captured_through_seq=6), True),
        (Captured(captured_through_seq=None), True),
    ],
)
def test_stale_is_another_log_than_was_captured(
    captured: Captured | None, stale: bool | None
) -> None:
    [prospect] = look("a", captured={"b": Captured(captured_through_seq=1)}).prospects
    assert prospect.stale is None
    [prospect] = look("a", captured={} if captured is None else {"a": captured}).prospects
    assert prospect.stale is stale


def test_what_failed_is_neither_stale_nor_current() -> None:
    [prospect] = look("x", captured={"x": Captured(captured_through_seq=1)}).prospects
    assert prospect.stale is None


def test_what_was_captured_is_read_from_references() -> None:
    values: list[object] = [
        {"sessionId": "a"},
        None,
        {"sessionId": 3, "capturedThroughSeq": 3},
        {"sessionId": "b", "capturedThroughSeq": None, "label": 3},
        {"sessionId": "c", "capturedThroughSeq": 4, "capturedFormatVersion": 2, "more": []},
        {"sessionId": "c", "capturedThroughSeq": 5},
    ]
    assert read_captured(values) == {
        "b": Captured(captured_through_seq=None),
        "c": Captured(captured_through_seq=4, captured_format_version=2),
    }


@pytest.mark.parametrize("seq", ["3", 3.5, True, -1, 2**53, {}])
def test_what_was_captured_is_a_seq(seq: object) -> None:
    with pytest.raises(RpcError) as caught:
        read_captured([{"sessionId": "a"}, {"sessionId": "b", "capturedThroughSeq": seq}])
    assert caught.value.kind is ErrorKind.INVALID_PARAMS
    assert caught.value.field == "references[1].capturedThroughSeq"
