"""The time of the last event of a log: packed rows, dropped tails and odd times included."""

import json
from typing import Any

import pytest

from sessionref.sessions.activity import last_activity
from sessionref.sessions.fold import LogFold
from sessionref.sessions.generations import generation
from sessionref.sessions.model import Header, ReadError, Reading

HEADER = Header(id="b", created_at=0, version=0)


def event(seq: int, time: object, **more: Any) -> bytes:
    return json.dumps({"type": "turn/start", "seq": seq, "time": time, "data": {}, **more}).encode()


def packed(seq: int, time: int, *gaps: int) -> bytes:
    texts = ["x"] * (len(gaps) + 1)
    data = {"turn": 1, "step": 1, "index": 0, "dt": list(gaps), "texts": texts}
    return json.dumps({"type": "text-chunks", "seq0": seq, "time0": time, "data": data}).encode()


BEYOND_NUMBERS = b'{"type":"text-chunks","seq0":2,"time0":5,"data":{"dt":[1e308,1e308]}}'


def fold(*batches: list[bytes]) -> Reading:
    log = LogFold(generation(0))
    for batch in batches:
        log.feed(batch)
    return log.reading(HEADER)


def test_an_empty_log_was_never_active() -> None:
    assert fold().last_activity_at is None
    assert fold([], []).last_activity_at is None


@pytest.mark.parametrize(
    "batches",
    [
        [[event(0, 10), event(1, 20)]],
        [[event(0, 10)], [event(1, 20)]],
        [[event(0, 10), event(1, 20)], []],
        [[event(0, 10), event(1, 20), b"{"]],
        [[event(0, 10), event(1, 20)], [b"{", event(2, 30)]],
        [[event(0, 10), event(1, 20), event(9, 30)], [event(2, 40)], [event(3, 50)]],
        [[event(0, 10), event(1, 2e1)]],
        [[event(0, 10), event(1, 20), event(1, 30)]],
        [[event(0, 10), event(1, 20)], [event(1, 30), event(2, 40)]],
        [[event(0, 10), event(1, 20), BEYOND_NUMBERS]],
    ],
)
def test_the_last_event_counts_and_nothing_that_was_dropped(batches: list[list[bytes]]) -> None:
    assert fold(*batches).last_activity_at == 20


def test_what_follows_damage_does_not_count() -> None:
    log = LogFold(generation(0), exact=True)
    lines = [event(0, 10), event(1, 20), event(2, 30, surfaceOp="append"), event(1, 40)]
    with pytest.raises(ReadError):
        log.feed(lines)
    assert log.reading(HEADER).last_activity_at == 20


def test_a_packed_row_was_active_at_the_last_of_its_events() -> None:
    assert fold([event(0, 10), packed(1, 20)]).last_activity_at == 20
    reading = fold([event(0, 10), packed(1, 20, 5, -2, 7)])
    assert (reading.captured_through_seq, reading.last_activity_at) == (5, 30)


@pytest.mark.parametrize("time", [None, "20", -1, 1.5, [], 2**60])
def test_a_time_that_is_none_is_absent(time: object) -> None:
    assert fold([event(0, 10), event(1, time)]).last_activity_at is None


def test_a_log_without_times_can_be_read() -> None:
    line = b'{"type":"turn/start","seq":0,"data":{}}'
    assert fold([line]).last_activity_at is None


def test_a_row_that_only_looks_packed() -> None:
    assert last_activity([b'{"seq0":0,"time0":5,"data":3}'], 0) is None
    assert last_activity([b'{"seq0":0,"time0":"5","data":{"dt":[]}}'], 0) is None


def test_a_row_may_have_members_of_packed_ones() -> None:
    assert fold([event(0, 10), event(1, 20, seq0=1, time0=30)]).last_activity_at == 20
