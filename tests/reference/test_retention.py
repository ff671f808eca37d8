"""Fitting into the budget: the recorded answers, a slow twin, and the cost."""

import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import naive
from sessionref.config import MIB
from sessionref.reference.projection import Item
from sessionref.reference.retention import Fitted, Source, fit
from sessionref_protocol.errors import ErrorKind, RpcError
from support.vectors import load

GROUPS: list[dict[str, Any]] = load("retention")["groups"]


def source(*items: Item, label: str = "label", cwd: str | None = None) -> Source:
    return Source(
        session_id="s",
        label=label,
        cwd=cwd,
        captured_through_seq=len(items) - 1 if items else None,
        items=items,
    )


def of_group(group: dict[str, Any]) -> Source:
    items = [  # only a user message can be a checkpoint, whatever a vector asks for
        Item.of(each["role"], each["text"], each["role"] == "user" and "checkpoint" in each)
        for each in group["conversation"]
    ]
    return Source(
        session_id=group["sessionId"],
        label=group["label"],
        cwd=group.get("cwd"),
        captured_through_seq=len(items) - 1 if items else None,
        items=tuple(items),
    )


def answer(given: Source, max_bytes: int) -> dict[str, Any]:
    """The result in the words of the vectors."""
    try:
        fitted = fit(given, max_bytes)
    except RpcError as error:
        return {"error": {"code": error.kind.value.name}}
    stats = fitted.stats
    return {
        "result": {
            "conversation": [{"role": item.role, "text": item.text} for item in fitted.items],
            "stats": {
                "compacted": stats.compacted,
                "originalMessages": stats.original_messages,
                "retainedMessages": stats.retained_messages,
                "omittedMessages": stats.omitted_messages,
                "omittedBytes": stats.omitted_bytes,
                "truncated": stats.truncated,
            },
            "bytes": len(fitted.json.encode()),
        }
    }


def recorded(case: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in case.items() if key != "maxBytes"}


def check_json(given: Source, fitted: Fitted) -> None:
    """The text is safe between tags and says what the items say."""
    assert "<" not in fitted.json
    value = json.loads(fitted.json)
    assert list(value) == ["sessionId", "label", "cwd", "capturedThroughSeq", "conversation"]
    assert value == {
        "sessionId": given.session_id,
        "label": given.label,
        "cwd": given.cwd,
        "capturedThroughSeq": given.captured_through_seq,
        "conversation": [{"role": item.role, "text": item.text} for item in fitted.items],
    }


@pytest.mark.parametrize(
    "group", [group for group in GROUPS if group["name"] != "bom at start"], ids=lambda g: g["name"]
)
def test_recorded_answers(group: dict[str, Any]) -> None:
    given = of_group(group)
    for case in group["cases"]:
        assert answer(given, case["maxBytes"]) == recorded(case), case["maxBytes"]
        if "result" in case:
            check_json(given, fit(given, case["maxBytes"]))


def test_recorded_answers_differ_only_where_a_byte_order_mark_is_cut() -> None:
    """There it vanishes from the text without being counted; here it is a character."""
    [group] = [group for group in GROUPS if group["name"] == "bom at start"]
    given = of_group(group)
    differing = [
        case["maxBytes"]
        for case in group["cases"]
        if answer(given, case["maxBytes"]) != recorded(case)
    ]
    cut = [
        case["maxBytes"]
        for case in group["cases"]
        if "omitted" in case.get("result", {}).get("conversation", [{"text": ""}])[0]["text"]
    ]
    assert differing == cut
    [item] = fit(given, 178).items
    assert item.text == "\ufeffbom text 界 b bom text 界 \n[… omitted 154 UTF-8 bytes …]"


TEXTS = st.text(
    st.sampled_from('a<"\\\n\x01é界😀\ud83d\ude00\ufeff') | st.characters(), max_size=120
).map(lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))
ITEMS = st.builds(
    Item.of, st.sampled_from(["user", "assistant"]), TEXTS.filter(bool), st.booleans()
)


@settings(max_examples=400, deadline=None)
@given(st.lists(ITEMS, max_size=8), TEXTS, st.none() | TEXTS, st.data())
def test_the_slow_twin_agrees(
    items: list[Item], label: str, cwd: str | None, data: st.DataObject
) -> None:
    given = source(*items, label=label, cwd=cwd)
    whole = len(fit(given, 10**9).json.encode())
    max_bytes = data.draw(st.integers(1, whole + 1))
    expected = naive.fit(
        given.session_id,
        label,
        cwd,
        given.captured_through_seq,
        [(item.role, item.text, item.checkpoint) for item in items],
        max_bytes,
    )
    if expected is None:
        with pytest.raises(RpcError) as caught:
            fit(given, max_bytes)
        assert caught.value.kind is ErrorKind.BUDGET_EXCEEDED
        return
    fitted = fit(given, max_bytes)
    assert fitted.json == expected.json
    assert [(i.role, i.text, i.checkpoint) for i in fitted.items] == expected.messages
    assert fitted.stats.omitted_messages == expected.omitted_messages
    assert fitted.stats.omitted_bytes == expected.omitted_bytes
    assert fitted.stats.original_messages == len(items)
    assert fitted.stats.retained_messages == len(fitted.items)
    assert fitted.stats.compacted == any(item.checkpoint for item in items)
    assert fitted.stats.truncated == (fitted.json != fit(given, whole).json)
    assert len(fitted.json.encode()) <= max_bytes
    check_json(given, fitted)


def test_a_source_of_exactly_the_budget_is_whole() -> None:
    given = source(Item.of("user", "first 界"), Item.of("assistant", "second"))
    whole = len(fit(given, 10**6).json.encode())
    assert fit(given, whole).stats.truncated is False
    assert fit(given, whole - 1).stats.omitted_messages == 1


def test_an_empty_conversation_fits_or_fails_whole() -> None:
    given = source()
    text = (
        '{"sessionId":"s","label":"label","cwd":null,"capturedThroughSeq":null,"conversation":[]}'
    )
    fitted = fit(given, len(text))
    assert fitted.json == text
    assert fitted.stats.original_messages == 0
    assert fitted.stats.truncated is False
    with pytest.raises(RpcError) as caught:
        fit(given, len(text) - 1)
    assert caught.value.kind is ErrorKind.BUDGET_EXCEEDED


def test_the_oldest_goes_first_even_where_cutting_one_text_would_do() -> None:
    long = Item.of("assistant", "x" * 2000)
    given = source(Item.of("user", "a question"), long)
    whole = len(fit(given, 10**6).json.encode())
    fitted = fit(given, whole - 1)
    assert fitted.items == (long,)


def test_the_first_of_equally_long_texts_is_cut_first() -> None:
    """The others follow for one byte: the notice's line feed takes two in JSON, one in text."""
    given = source(*(Item.of("user", name * 200, True) for name in "abc"))
    whole = len(fit(given, 10**6).json.encode())
    fitted = fit(given, whole - 50)
    assert [len(item.text.encode()) for item in fitted.items] == [150, 198, 199]
    assert fitted.stats.omitted_bytes == (50 + 33) + (2 + 33) + (1 + 33)


def test_the_error_names_the_session_and_not_its_text() -> None:
    given = source(Item.of("user", "a secret"))
    with pytest.raises(RpcError) as caught:
        fit(given, 10)
    assert caught.value.session_id == "s"
    assert "secret" not in caught.value.message


def _conversation(count: int, size: int) -> Source:
    return source(*(Item.of("user" if i % 2 else "assistant", "m" * size) for i in range(count)))


def _one_long_text() -> Source:
    return source(Item.of("user", "界\n" * 5_000_000))


def _checkpoints() -> Source:
    return source(*(Item.of("user", "c" * 500, True) for _ in range(2_000)))


def _seconds(given: Source, max_bytes: int) -> float:
    started = time.perf_counter()
    fit(given, max_bytes)
    return time.perf_counter() - started


@pytest.mark.parametrize(
    ("build", "max_bytes"),
    [
        pytest.param(lambda: _conversation(8_000, 700), 65_536, id="8000 messages of 700 bytes"),
        pytest.param(lambda: _conversation(100_000, 3), 65_536, id="100000 tiny messages"),
        pytest.param(lambda: _conversation(100_000, 3), 2_000_000, id="half of 100000 kept"),
        pytest.param(_one_long_text, 65_536, id="one text of 20 MB"),
        pytest.param(_one_long_text, 10**7, id="one text of 20 MB, half kept"),
        pytest.param(_checkpoints, 600_000, id="2000 checkpoints, none of which may go"),
    ],
)
def test_cost_is_linear(build: Callable[[], Source], max_bytes: int) -> None:
    """A bound far above what it takes, and far below what anything quadratic would take."""
    assert _seconds(build(), max_bytes) < 2.0


def test_twice_the_messages_cost_about_twice_as_much() -> None:
    once, twice = _conversation(8_000, 700), _conversation(16_000, 700)
    cost = min(_seconds(once, 65_536) for _ in range(7))
    double = min(_seconds(twice, 65_536) for _ in range(7))
    assert double < 4 * cost + 0.01


def test_a_large_text_is_measured_without_being_written() -> None:
    """Each of its characters takes six in the JSON, of which next to nothing is kept."""
    large = source(Item.of("user", "<" * 4 * MIB))
    tracemalloc.start()
    try:
        fitted = fit(large, 10_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert fitted.stats.omitted_bytes == 4 * MIB
    assert peak < 3 * 4 * MIB
    assert fit(large, 100 * MIB).json.count("\\u003c") == 4 * MIB
