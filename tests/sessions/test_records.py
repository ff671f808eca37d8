"""Records by the rule: shapes that only old, new or strange writers write."""

import json
from typing import Any

import pytest

from sessionref.config import MIB
from sessionref.sessions.fold import LogFold
from sessionref.sessions.generations import KNOWN, generation
from sessionref.sessions.log import UnfinishedLine
from sessionref.sessions.model import Header, ReadError, Reading
from sessionref.sessions.title import title_text
from support.logs import assistant, checkpoint, numbered, title, user

HEADER = Header(id="a", created_at=1, version=0)


def fold(rows: list[Any], number: int = 0) -> Reading:
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in numbered(rows)]
    log = LogFold(generation(number))
    log.feed(lines)
    return log.reading(HEADER)


def said(reading: Reading) -> list[tuple[str, str]]:
    return [(node.voice.value, node.text) for node in reading.nodes]


def cause(rows: list[Any], number: int = 0) -> str:
    with pytest.raises(ReadError) as refused:
        fold(rows, number)
    return refused.value.cause


def log_only(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "data": {}, **more}


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("number", range(len(KNOWN)))
def test_every_generation_reads_the_plain_shapes(number: int) -> None:
    rows = [user("q"), assistant("a"), checkpoint("c"), title("t")]
    reading = fold(rows, number)
    assert said(reading) == [("person", "q"), ("assistant", "a"), ("checkpoint", "c")]
    assert reading.title == "t"
    assert reading.degraded is None


@pytest.mark.parametrize(
    ("kind", "since"),
    [("system/message", 3), ("developer/message", 4)],
)
def test_a_surface_type_has_a_place_since_it_exists(kind: str, since: int) -> None:
    row = log_only(kind, surfaceOp="append")
    for number in range(len(KNOWN)):
        if number < since:
            assert cause([row], number) == "corrupt"
        else:
            assert said(fold([row], number)) == [("other", "")]


def test_packed_rows_are_counted_where_they_exist() -> None:
    data = {"turn": 1, "step": 1, "index": 0, "dt": [3, -1], "texts": ["a", "b", "c"]}
    packed = {"type": "text-chunks", "seq0": 0, "time0": 5, "data": data}
    line = json.dumps(packed).encode()
    for number in (0, 1):
        assert fold([line], number).captured_through_seq == 2
    for number in (2, 3, 4):
        assert fold([line], number).captured_through_seq is None  # a bad record, dropped


def test_what_closes_an_open_turn_is_counted() -> None:
    calls = assistant("x")
    calls["data"]["message"]["content"] += [
        {"type": "tool-call", "id": name, "name": "n", "arguments": "{}"} for name in "dde"
    ]
    opened = [log_only("turn/start"), log_only("step/start"), calls]
    assert fold(opened).captured_through_seq == 2 + 2 + 1 + 1
    assert [node.seq for node in fold(opened).nodes] == [2, 3, 4]
    answer = {
        "type": "tool/result",
        "data": {"message": {"source": {"kind": "tool", "callId": "d"}}},
        "surfaceOp": "append",
    }
    assert fold([*opened, answer]).captured_through_seq == 3 + 1 + 1 + 1
    assert fold([*opened, log_only("step/end")]).captured_through_seq == 3 + 1
    assert fold([*opened, log_only("step/start")]).captured_through_seq == 3 + 1 + 1
    assert fold([*opened, log_only("turn/start")]).captured_through_seq == 3 + 1
    assert fold([*opened, log_only("turn/end")]).captured_through_seq == 3
    assert fold([]).captured_through_seq is None


def test_depth_matters_only_where_it_is_looked_at() -> None:
    envelope = b'{"type":"todo/write","seq":0,"time":1,"data":%s}' % deep(20_000)
    assert fold([envelope]).captured_through_seq == 0
    message = (
        b'{"type":"user/message","seq":0,"surfaceOp":"append","data":'
        b'{"meta":%s,"source":{"kind":"user","more":%s},"content":%s}}'
    )
    text = b'[{"type":"text","text":"q"}]'
    assert said(fold([message % (deep(20_000), deep(20_000), text)])) == [("person", "q")]
    assert cause([message % (b"0", b"0", deep(20_000))]) == "corrupt"
    answer = (
        b'{"type":"tool/result","seq":0,"surfaceOp":"append","data":'
        b'{"message":{"source":{"callId":"c"},"content":%s}}}'
    )
    assert said(fold([answer % deep(20_000)])) == [("other", "")]


def test_bytes_that_are_no_utf8_read_as_replacement_characters() -> None:
    line = json.dumps(user("cut") | {"seq": 0}).encode().replace(b"cut", b"cut \xff\xe2\x82")
    assert said(fold([line])) == [("person", "cut \ufffd\ufffd")]
    named = json.dumps(title("cut") | {"seq": 0}).encode().replace(b"cut", b"cut \xe2\x82")
    assert fold([named]).title == "cut \ufffd"


def test_lone_surrogates_are_kept_and_pairs_joined() -> None:
    line = json.dumps(user("x") | {"seq": 0}).encode()
    line = line.replace(b'"x"', rb'"\ud83d\ude00 \ud83d \ude00"')
    assert said(fold([line])) == [("person", "\U0001f600 \ud83d \ude00")]


def test_the_last_title_counts_however_it_is() -> None:
    good = {"title": "t", "messageSeqs": [], "source": {"kind": "user"}}
    assert title_text(json.dumps(good).encode()) == "t"
    assert title_text(json.dumps(good | {"messageSeqs": "abc"}).encode()) == "t"
    malformed: list[Any] = [
        good | {"title": 5},
        good | {"title": None},
        good | {"messageSeqs": None},
        good | {"messageSeqs": {}},
        good | {"source": {"kind": "future"}},
        good | {"source": "user"},
        {"title": "t", "source": {"kind": "user"}},
        None,
        [],
    ]
    for wrong in malformed:
        assert title_text(json.dumps(wrong).encode()) is None
    bad = title("bad")
    bad["data"]["source"] = {"kind": "future"}
    assert fold([title("good"), bad]).title is None
    assert fold([bad, title("good")]).title == "good"
    assert fold([title("good"), title("")]).title == ""


def test_an_empty_list_of_citations_is_for_early_assistants_only() -> None:
    empty: dict[str, Any] = {"sourceEventSeqs": []}
    for number in (0, 1):
        assert said(fold([assistant("a") | empty], number)) == [("assistant", "a")]
        assert cause([user("q") | empty], number) == "corrupt"
    for number in (2, 3, 4):
        assert cause([assistant("a") | empty], number) == "corrupt"


def test_a_null_among_the_blocks_of_a_message_is_corrupt() -> None:
    message = user("q")
    message["data"]["content"].append(None)
    assert cause([message]) == "corrupt"


def test_a_bad_record_ends_a_log_that_may_be_torn() -> None:
    rows = [user("q"), b"garbage", user("lost") | {"seq": 1}]
    assert said(fold(rows)) == [("person", "q")]
    assert cause([*rows, log_only("turn/end")]) == "corrupt"
    assert cause([user("q"), log_only("turn/end", seq=5)]) == "corrupt"
    assert cause([*rows, b" null "]) == "corrupt"
    assert cause([b"null"]) == "corrupt"
    dropped = [*rows, user("x") | {"surfaceOp": "prepend"}, user("y") | {"data": None}]
    assert said(fold(dropped)) == [("person", "q")]


def test_a_long_record_costs_what_it_weighs() -> None:
    """A record in ten thousand pieces: a quadratic join takes minutes."""
    unfinished = UnfinishedLine(256 * MIB)
    piece = b"x" * 8192
    for _ in range(20_000):
        assert unfinished.join(piece) == []
    (line,) = unfinished.join(b"\n")
    assert len(line) == 20_000 * len(piece)
    assert not unfinished
