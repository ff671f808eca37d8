"""The soak finds what it is to find: lost, doubled and wrong answers, and growth."""

import sys
from pathlib import Path

import pytest

from benchmarks.soak import run
from benchmarks.soak.agents import Asked
from benchmarks.soak.run import Soak
from benchmarks.soak.vitals import Vitals, growth

MIB = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks at processes in /proc")


def test_the_program_stands_a_short_one(tmp_path: Path) -> None:
    soak = Soak(tmp_path, seed=2, seconds=3.0)
    soak.run()
    assert soak.complaints == []
    assert soak.answers >= run.IN_FLIGHT
    assert {"prepare", "preStep", "listCandidates", "readSnapshot"} <= soak.taken.keys()
    assert soak.errors.total() > 0


ANSWERING = """
import json, queue, sys, threading
lines = queue.SimpleQueue()
def write():
    while True:
        print(lines.get(), flush=True)
threading.Thread(target=write, daemon=True).start()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": RESULT})
        for _ in range(TIMES if message["id"] else 1):
            lines.put(answer)
"""
"""A program that answers everything alike, so many times."""

WAITING = ANSWERING.replace("lines.put(answer)", "print(answer, flush=True)")
"""The same, but it takes nothing before its answers are read."""


@pytest.mark.parametrize(
    ("code", "times", "result", "complaint"),
    [
        (ANSWERING, 0, {"requestsInFlight": 0}, "requests were not answered"),
        (ANSWERING, 1, {}, "of no shape"),
        (ANSWERING, 1, {"mention": "x", "text": "", "references": []}, "a wrong result of"),
        (ANSWERING, 2, {}, "an answer that nobody waits for"),
        (WAITING, 1, {"x": "y" * 1000}, "the process takes nothing"),
    ],
)
def test_a_bad_program_does_not(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    times: int,
    result: object,
    complaint: str,
) -> None:
    monkeypatch.setattr(run, "_SILENCE_SECONDS", 1.0)
    code = code.replace("RESULT", repr(result)).replace("TIMES", str(times))
    soak = Soak(tmp_path, seed=1, seconds=5.0, program=(sys.executable, "-c", code))
    soak.run()
    assert any(complaint in each for each in soak.complaints)


def asked(**more: bool) -> Asked:
    return Asked("prepare", 0.0, lambda result: result == "right", **more)


def failed(code: int, **data: object) -> dict[str, object]:
    return {"error": {"code": code, "data": data}}


def test_an_answer_must_be_right_or_its_error_due() -> None:
    assert asked().complaint({"result": "right"}) is None
    assert asked().complaint({"result": "wrong"})
    assert asked(is_cancelled=True).complaint(failed(-32800)) is None
    assert asked().complaint(failed(-32800))
    assert asked(may_be_late=True).complaint(failed(-32802)) is None
    assert asked(is_cancelled=True).complaint(failed(-32802))
    assert asked().complaint(failed(-32014, cause="changed")) is None
    assert asked().complaint(failed(-32014, cause="corrupt"))
    assert asked().complaint(failed(-32603))
    bad = Asked("noSuchMethod", 0.0, lambda _: True, error=-32601)
    assert bad.complaint(failed(-32601)) is None
    assert bad.complaint({"result": None})


def over_time(memory: int, descriptors: int, threads: int) -> list[Vitals]:
    """A hundred seconds, in which these grow by so much each second."""
    return [
        Vitals(float(at), 100 * MIB + memory * at, 20 + descriptors * at, 10 + threads * at)
        for at in range(100)
    ]


def test_what_grows_after_the_warm_up_is_told() -> None:
    steady = over_time(0, 0, 0)
    assert growth(steady, 30.0) == []
    early = [*over_time(MIB, 1, 1)[:30], *(each._replace(at=each.at) for each in steady[30:])]
    assert growth(early, 30.0) == []
    assert growth(over_time(MIB // 2, 0, 0), 30.0) == ["memory grew from 124 MiB to 141 MiB"]
    assert growth(over_time(0, 1, 0), 30.0) == ["descriptors grew from 84 to 119"]
    assert growth(over_time(0, 0, 1), 30.0) == ["threads grew from 74 to 109"]
    assert growth(steady[:20], 30.0) == ["there was no time to see whether anything grows"]
