"""What would take too much memory is refused before it does, and nothing else is."""

import json
import tracemalloc
from typing import Any

import pytest

from sessionref.config import LIMITS, MIB
from sessionref.sessions.activity import last_activity
from sessionref.sessions.fold import LogFold
from sessionref.sessions.generations import generation
from sessionref.sessions.large import LARGE_BYTES, check_large
from sessionref.sessions.model import Header, ReadError, Reading
from support.logs import assistant, numbered, title, user

HEADER = Header(id="a", created_at=1, version=0)
EMOJI = "\U0001f600"


def fold(rows: list[Any], number: int = 0, *, max_bytes: int = LIMITS.max_session_bytes) -> Reading:
    """Each row in a block of its own, as large ones always are."""
    log = LogFold(generation(number), max_bytes=max_bytes)
    for row in numbered(rows):
        log.feed([row if isinstance(row, bytes) else spell(row)])
    return log.reading(HEADER)


def spell(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def reason(rows: list[Any], number: int = 0, **more: Any) -> str:
    with pytest.raises(ReadError) as refused:
        fold(rows, number, **more)
    assert refused.value.cause == "corrupt"
    return refused.value.reason


MANY = LIMITS.max_record_tokens + 1
VALUES: dict[str, bytes] = {
    "strings": b'"a",' * MANY,
    "numbers": b"0," * MANY,
    "pairs": b"[0,0]," * MANY,
    "objects": b'{"a":0},' * MANY,
    "depth": b"[" * 2 * MANY,
    "strings and nothing else": b'""' * MANY,
}


@pytest.mark.parametrize("name", VALUES)
def test_a_large_record_may_not_hold_very_many_values(name: str) -> None:
    record = b'{"type":"todo/write","seq":0,"data":[%b0]}' % VALUES[name]
    assert len(record) > LARGE_BYTES
    assert reason([record]) == "a record holds more than any that we read"


def test_a_text_may_hold_as_many_commas_and_brackets_as_it_likes() -> None:
    text = 'a,[{"b\\' * MANY
    assert fold([user(text)]).nodes[0].text == text


PACKED = {"type": "text-chunks", "seq0": 0, "time0": 1}
DELTAS: dict[str, Any] = {"turn": 1, "step": 1, "index": 0, "dt": []}


def called(call: str) -> dict[str, Any]:
    message = {"source": {"kind": "tool", "callId": call}, "content": []}
    return {"type": "tool/result", "data": {"message": message}, "surfaceOp": "append"}


def with_block(block: Any) -> dict[str, Any]:
    row = assistant("a")
    row["data"]["message"]["content"].append(block)
    return row


TEXTS: dict[str, Any] = {
    "a person's": lambda text: user(text),
    "an assistant's": lambda text: assistant(text),
    "that of a call": lambda text: with_block({"type": "tool-call", "id": text}),
    "that of a call's answer": called,
    "a source's": lambda text: user("q", {"kind": text}),
    "an operation's": lambda text: user("q") | {"surfaceOp": {"op": text}},
    "a packed one": lambda text: PACKED | {"data": DELTAS | {"texts": [text]}},
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(("character", "times"), [("a", 3), ("é", 5), ("新", 5), (EMOJI, 9)])
def test_a_text_counts_for_as_much_as_is_made_of_it(name: str, character: str, times: int) -> None:
    row = TEXTS[name](character + "a" * 2 * MIB)
    size = len(spell({"seq": 0, **row}))
    with pytest.raises(ReadError, match="more than we keep"):
        fold([row], max_bytes=(times + 1) * 2 * MIB)
    check_large(spell(row), (times + 1) * size)


@pytest.mark.parametrize(
    "row",
    [
        {"type": "tool/call", "data": {"content": [{"text": EMOJI * MIB}], "x": EMOJI * MIB}},
        {"type": "request/header", "data": EMOJI * MIB},
        called("c") | {"x": EMOJI * MIB},
        with_block({"type": "image", "data": EMOJI * MIB}),
        {**user("q"), "x": EMOJI * MIB},
    ],
)
def test_what_nobody_quotes_counts_for_no_more_than_itself(row: Any) -> None:
    record = spell({"seq": 0, **row})
    before = tracemalloc_peak(lambda: check_large(record, len(record) + 1000))
    assert before < MIB / 4
    reading = fold([record], max_bytes=len(record) + 1000)
    assert reading.captured_through_seq == 0


def tracemalloc_peak(work: Any) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_surface_may_not_grow_beyond_its_limit() -> None:
    rows = [user("x" * 1000)] * 100
    assert len(fold(rows, max_bytes=200_000).nodes) == 100
    assert reason(rows, max_bytes=100_000) == "the session says more than we keep of any"
    tiny = [user("")] * 1000
    assert reason(tiny, max_bytes=100_000) == "the session says more than we keep of any"


def test_what_a_compaction_replaces_makes_room() -> None:
    rows: list[Any] = [user("x" * 1000)]
    for seq in range(1, 300):
        replace = {"op": "replace", "start": seq - 1, "end": seq - 1}
        rows.append(user("x" * 1000) | {"surfaceOp": replace, "sourceEventSeqs": [seq - 1]})
    (node,) = fold(rows, max_bytes=10_000).nodes
    assert node.seq == 299


def test_calls_that_wait_for_their_answers_may_not_grow_beyond_it_either() -> None:
    calls = [{"type": "tool-call", "id": f"call {number}"} for number in range(2_000)]
    row = assistant("x")
    row["data"]["message"]["content"] += calls
    assert reason([row], max_bytes=100_000) == "the session says more than we keep of any"
    row["data"]["message"]["content"][1:] = [{"type": "tool-call", "id": "x" * 100}] * 2_000
    assert fold([row], max_bytes=100_000).captured_through_seq == 0


def test_a_title_longer_than_any_is_none() -> None:
    longest = "x" * (LIMITS.max_title_bytes - 100)
    assert fold([title("short"), title(longest)]).title == longest
    assert fold([title("short"), title(longest + "x" * 100)]).title is None
    descriptor = {"type": "subagent/descriptor", "data": {"label": longest + "x" * 100}}
    assert fold([descriptor]).name is None


def test_a_large_record_of_an_odd_shape_is_refused() -> None:
    odd = {"type": "future/thing", "data": "x" * LIMITS.max_odd_record_bytes}
    assert reason([odd]) == "a record of an odd shape is larger than any that we read"
    odd["data"] = "x" * (LIMITS.max_odd_record_bytes - 100)
    degraded = fold([odd]).degraded
    assert degraded is not None
    assert degraded.count == 1
    known = {"type": "todo/write", "data": "x" * LIMITS.max_odd_record_bytes}
    assert fold([known]).captured_through_seq == 0


def test_each_escape_in_a_large_record_of_an_odd_shape_counts_as_much_as_it_costs() -> None:
    escapes = b"\\ud83d" * 200_000
    record = spell({"seq": 0, **user("TEXT")})
    assert reason([record.replace(b"TEXT", escapes)]).startswith("a record of an odd shape")
    small = LARGE_BYTES // 12
    assert len(fold([record.replace(b"TEXT", escapes[: small * 6])]).nodes[0].text) == small


X = "x" * LARGE_BYTES


@pytest.mark.parametrize(
    ("row", "active"),
    [
        ({"type": "tool/call", "seq": 0, "time": 5, "data": X}, 5),
        ({"type": "tool/call", "seq": 0, "time": 5.0, "data": [{"dt": [1]}, X]}, 5),
        ({"type": "tool/call", "seq": 0, "time": -5, "data": X}, None),
        ({"type": "tool/call", "seq": 0, "time": None, "data": X}, None),
        (
            {"type": "future/thing", "seq": 0, "seq0": 0, "time0": 7, "data": {"dt": [], "x": X}},
            None,
        ),
        ({"type": "future/thing", "seq": 0, "seq0": 0, "time0": 7, "data": X}, None),
        (PACKED | {"time0": 5, "data": DELTAS | {"texts": [X, "a"], "dt": [3]}}, 8),
        ({"seq": 0, "time": 5, **user(X)}, 5),
    ],
)
def test_a_large_record_tells_when_it_was(row: Any, active: int | None) -> None:
    """And is not kept for that, as others are."""
    log = LogFold(generation(0))
    record = spell(row)
    assert len(record) > LARGE_BYTES
    log.feed([record])
    assert log.reading(HEADER).last_activity_at == active
    assert last_activity([record], log.last_seq) == active
    assert len(log._latest[0]) < 100 or row.get("data") == X


def test_citations_of_seqs_that_collide_take_no_longer_than_others() -> None:
    """All of them have one hash; a set of so many of them takes hours."""
    apart = 2**61 - 1
    collisions = [number * apart for number in range(1, 100_000)]
    cites = user("q") | {"sourceEventSeqs": collisions}
    assert reason([user("q"), cites]) == "an event cites one that is not earlier"
