"""The wire's rules as one table, run against either framing of the same program."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import requests
from support.editor import Editor
from support.requests import AGENT, BIG_ID
from support.sidecar import Sidecar


def start(framing: str, root: Path) -> Sidecar:
    return Sidecar(roots=[root]) if framing == "line" else Editor(root)


@pytest.fixture(params=["line", "content-length"])
def framing(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


@pytest.fixture
def peer(framing: str, main_root: Path) -> Iterator[Sidecar]:
    """A sidecar past its handshake, where the framing has one."""
    with start(framing, main_root) as started:
        yield started


def raw(peer: Sidecar, payload: bytes) -> bytes:
    """A frame with any payload."""
    assert b"\n" not in payload
    place = peer.frame("?")
    return place.replace(b": 3\r", b": %d\r" % len(payload)).replace(b'"?"', payload)


TABLE: list[tuple[str, bytes, str | None, int | None]] = [
    # what is sent, the id of the answer, its error's code
    ("no JSON", b"{", None, -32700),
    ("bad UTF-8", b'{"jsonrpc":"2.0","id":"r","method":"status","x":"\xff"}', None, -32700),
    ("too deep", b"[" * 100_000 + b"]" * 100_000, None, -32700),
    ("NaN", b'{"jsonrpc":"2.0","id":"r","method":"status","params":{"x":NaN}}', None, -32700),
    ("a batch", b'[{"jsonrpc":"2.0","id":"r","method":"status"}]', None, -32600),
    ("a number", b"5", None, -32600),
    ("no version", b'{"id":"r","method":"status"}', "r", -32600),
    ("a null id", b'{"jsonrpc":"2.0","id":null,"method":"status"}', None, -32600),
    ("a float id", b'{"jsonrpc":"2.0","id":1.5,"method":"status"}', None, -32600),
    ("a boolean id", b'{"jsonrpc":"2.0","id":true,"method":"status"}', None, -32600),
    ("no such method", b'{"jsonrpc":"2.0","id":"r","method":"no/such"}', "r", -32601),
    ("array params", b'{"jsonrpc":"2.0","id":"r","method":"status","params":[]}', "r", -32602),
    ("bad params", b'{"jsonrpc":"2.0","id":"r","method":"parseText","params":{}}', "r", -32602),
    ("null params", b'{"jsonrpc":"2.0","id":"r","method":"status","params":null}', "r", None),
    ("no params", b'{"jsonrpc":"2.0","id":"r","method":"status"}', "r", None),
    (
        "more fields",
        b'{"x":1,"jsonrpc":"2.0","id":"r","method":"status","params":{"y":2}}',
        "r",
        None,
    ),
    (
        "a bad config",
        b'{"jsonrpc":"2.0","id":"r","method":"listCandidates","params":'
        b'{"agent":{"id":"a"},"config":{"maxReferences":4}}}',
        "r",
        -32010,
    ),
    (
        "the own session",
        b'{"jsonrpc":"2.0","id":"r","method":"prepare","params":'
        b'{"agent":{"id":"a"},"content":[],"references":[{"sessionId":"a"}]}}',
        "r",
        -32012,
    ),
    (
        "no such session",
        b'{"jsonrpc":"2.0","id":"r","method":"prepare","params":'
        b'{"agent":{"id":"a"},"content":[],"references":[{"sessionId":"not there"}]}}',
        "r",
        -32014,
    ),
]


@pytest.mark.parametrize(
    ("payload", "answered", "code"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_one_answer_of_the_table(
    peer: Sidecar, payload: bytes, answered: str | None, code: int | None
) -> None:
    peer.send_raw(raw(peer, payload))
    answer = peer.answer(answered)
    assert answer.get("error", {}).get("code") == code
    assert peer.call("parseText", {"text": "after"})["text"] == "after"
    assert peer.unclaimed() == []


def test_notifications_get_no_answer(peer: Sidecar) -> None:
    for method, params in [
        ("no/such", {}),
        ("$/no/such", [1]),
        ("$/cancelRequest", {"id": 99}),
        ("$/cancelRequest", {"id": None}),
        ("$/cancel", {"token": "nobody"}),
        ("parseText", {"text": 5}),
        ("initialize", {}),
    ]:
        peer.notify(method, params)
    assert peer.call("status")["requestsInFlight"] == 0
    assert peer.unclaimed() == []


def test_a_cancel_in_the_same_breath_is_heeded(framing: str, big_root: Path) -> None:
    with start(framing, big_root) as peer:
        asked = {"jsonrpc": "2.0", "id": "x", "method": "prepare"}
        frames = peer.frame({**asked, "params": requests.prepare(BIG_ID)})
        for cancelled in (1, "y", "x", "x"):
            cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": cancelled}}
            frames += peer.frame(cancel)
        peer.send_raw(frames)
        error = peer.answer("x")["error"]
        assert error["code"] == -32800
        assert error["data"]["code"] == "SESSION_REFERENCE_CANCELLED"


def test_tokens_and_deadlines_end_requests(framing: str, big_root: Path) -> None:
    with start(framing, big_root) as peer:
        by_token = peer.request("prepare", requests.prepare(BIG_ID, cancellationToken="t"))
        peer.notify("$/cancel", {"token": "t"})
        assert peer.answer(by_token)["error"]["code"] == -32800
        late = peer.request("prepare", requests.prepare(BIG_ID, deadlineMs=1))
        assert peer.answer(late)["error"]["code"] == -32802


def test_an_id_in_flight_is_refused_and_the_first_unharmed(framing: str, big_root: Path) -> None:
    with start(framing, big_root) as peer:
        peer.request("prepare", requests.prepare(BIG_ID), request_id="same")
        peer.request("status", request_id="same")
        assert peer.answer("same")["error"]["code"] == -32600
        assert "result" in peer.answer("same")


def test_strings_are_those_of_ecmascript(peer: Sidecar) -> None:
    payload = (
        rb'{"jsonrpc":"2.0","id":"\ud83d","method":"parseText","params":{"text":"\ude00\u2028"}}'
    )
    peer.send_raw(raw(peer, payload))
    heard = peer.hear("\ud83d")
    assert rb'"id":"\ud83d"' in heard.line
    assert rb"\ude00\u2028" in heard.line


def test_after_shutdown_every_request_is_refused(peer: Sidecar) -> None:
    assert peer.call("shutdown") is None
    assert peer.fails("status").code == -32600
    peer.notify("exit")
    assert peer.wait() == 0


def test_exit_alone_ends_with_1(peer: Sidecar) -> None:
    peer.notify("exit")
    assert peer.wait() == 1


def test_the_end_of_the_input_lets_requests_finish(peer: Sidecar) -> None:
    asked = [peer.request("listCandidates", {"agent": AGENT}) for _ in range(20)]
    peer.close_stdin()
    assert peer.wait() == 0
    assert sorted(answer["id"] for answer in peer.unclaimed()) == sorted(asked)


def test_a_host_that_reads_late_gets_everything(framing: str, main_root: Path) -> None:
    text = "x" * 100_000
    with start(framing, main_root) as peer:
        asked = [peer.request("parseText", {"text": text}) for _ in range(40)]
        for request_id in asked:
            assert json.dumps(peer.settle(request_id)) == json.dumps(
                {"text": text, "references": []}
            )
