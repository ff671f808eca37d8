"""One conversation: every request is answered once, ids and the lifecycle are kept."""

import json
import logging
from typing import Any, Literal

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import Raw

from sessionref_protocol import codec
from sessionref_protocol.connection import Connection, Received, Refusal
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.framing import ContentLengthFraming, LineFraming
from sessionref_protocol.messages import Id, Notification, Request, Response


def connection(
    mode: Literal["auto", "line", "content-length"] = "line",
    *,
    line_limit: int = 1000,
    in_flight_limit: int = 100,
    serving: bool = True,
) -> Connection:
    return Connection(mode, line_limit=line_limit, in_flight_limit=in_flight_limit, serving=serving)


def line(message: Request | Notification | Response) -> bytes:
    return LineFraming.frame(codec.encode_message(message))


def lsp(message: Request | Notification | Response) -> bytes:
    return ContentLengthFraming.frame(codec.encode_message(message))


def answer(refusal: Received) -> tuple[Any, int]:
    """The id and the code of a ready answer."""
    assert isinstance(refusal, Refusal)
    message = json.loads(refusal.frame[refusal.frame.index(b"{") :])
    return message["id"], message["error"]["code"]


def test_a_request_is_in_flight_until_it_is_settled_once() -> None:
    peer = connection()
    assert peer.feed(line(Request(1, "x")) + line(Request("1", "x"))) == [
        Request(1, "x"),
        Request("1", "x"),
    ]
    assert peer.in_flight == 2
    assert peer.settle(1, {"a": None}) == b'{"jsonrpc":"2.0","id":1,"result":{"a":null}}\n'
    assert peer.in_flight == 1
    assert peer.settle(1, {}) is None
    assert peer.fail(1, RpcError(ErrorKind.CANCELLED, "late")) is None
    failed = peer.fail("1", RpcError(ErrorKind.CANCELLED, "Cancelled."))
    assert failed is not None
    assert json.loads(failed)["error"]["code"] == -32800
    assert peer.settle("1", {}) is None
    assert peer.settle("never asked", {}) is None
    assert peer.in_flight == 0


def test_an_id_may_be_used_again_once_it_was_answered() -> None:
    peer = connection()
    peer.feed(line(Request(1, "x")))
    peer.settle(1, None)
    assert peer.feed(line(Request(1, "y"))) == [Request(1, "y")]


def test_an_id_in_flight_is_refused_and_the_first_unharmed() -> None:
    peer = connection()
    peer.feed(line(Request("a", "x")))
    (refusal,) = peer.feed(line(Request("a", "y")))
    assert answer(refusal) == ("a", -32600)
    assert peer.in_flight == 1
    assert peer.settle("a", 1) == b'{"jsonrpc":"2.0","id":"a","result":1}\n'


def test_too_many_requests_are_busy_until_one_is_answered() -> None:
    peer = connection(in_flight_limit=2)
    one, two, three = peer.feed(b"".join(line(Request(id_, "x")) for id_ in (1, 2, 3)))
    assert (one, two) == (Request(1, "x"), Request(2, "x"))
    assert answer(three) == (3, -32000)
    peer.settle(1, None)
    assert peer.feed(line(Request(3, "x"))) == [Request(3, "x")]


def test_what_is_no_message_is_refused_in_its_place() -> None:
    peer = connection(line_limit=50)
    received = peer.feed(
        line(Request(1, "a"))
        + b"nonsense\n"
        + b"[]\n"
        + b"x" * 60
        + b"\n"
        + b'{"jsonrpc":"2.0","id":2,"method":"b","params":7}\n'
        + line(Request(3, "c"))
    )
    assert received[0] == Request(1, "a")
    assert [answer(refusal) for refusal in received[1:5]] == [
        (None, -32700),
        (None, -32600),
        (None, -32600),
        (2, -32602),
    ]
    assert received[5] == Request(3, "c")
    assert peer.in_flight == 2


def test_a_broken_header_is_refused_too() -> None:
    peer = connection("content-length")
    received = peer.feed(b"Content-Length: x\r\n\r\n{}" + lsp(Request(1, "initialize")))
    assert answer(received[0]) == (None, -32600)
    assert received[1:] == [Request(1, "initialize")]


def test_the_last_line_needs_no_end() -> None:
    peer = connection("auto")
    assert peer.feed(line(Request(1, "x")).rstrip()) == []
    assert peer.feed_eof() == [Request(1, "x")]
    assert peer.mode == "line"


def test_a_result_that_can_not_be_encoded_fails_the_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    peer = connection()
    peer.feed(line(Request(1, "x")))
    with caplog.at_level(logging.ERROR):
        failed = peer.settle(1, object())
    assert failed is not None
    assert json.loads(failed)["error"]["code"] == -32603
    assert caplog.records[0].exc_info is not None
    assert peer.settle(1, None) is None


# The lifecycle


def test_lines_need_no_initialize() -> None:
    peer = connection()
    assert peer.feed(line(Notification("n")) + line(Request(1, "x"))) == [
        Notification("n"),
        Request(1, "x"),
    ]


def test_initialize_comes_first_and_once() -> None:
    peer = connection()
    assert peer.feed(line(Request(1, "initialize"))) == [Request(1, "initialize")]
    (again,) = peer.feed(line(Request(2, "initialize")))
    assert answer(again) == (2, -32600)
    late = connection()
    late.feed(line(Notification("n")) + line(Request(1, "x")))
    (refusal,) = late.feed(line(Request(2, "initialize")))
    assert answer(refusal) == (2, -32600)


def test_what_was_refused_is_no_first_request() -> None:
    peer = connection()
    peer.feed(b"nonsense\n" + b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}\n')
    assert peer.feed(line(Request(2, "initialize"))) == [Request(2, "initialize")]


def test_language_servers_hear_nothing_before_initialize_but_exit() -> None:
    peer = connection("auto")
    early, ended = peer.feed(
        lsp(Request(1, "x")) + lsp(Notification("textDocument/didOpen")) + lsp(Notification("exit"))
    )
    assert answer(early) == (1, -32600)
    assert ended == Notification("exit")
    assert peer.feed(lsp(Request(1, "shutdown")))[0].__class__ is Refusal
    assert not peer.shutdown_received
    assert peer.feed(lsp(Request(1, "initialize")) + lsp(Request(2, "x"))) == [
        Request(1, "initialize"),
        Request(2, "x"),
    ]
    assert peer.feed(lsp(Notification("n"))) == [Notification("n")]


def test_after_shutdown_requests_are_refused_and_notifications_pass() -> None:
    peer = connection()
    assert not peer.shutdown_received
    assert peer.feed(line(Request(1, "x")) + line(Request(2, "shutdown"))) == [
        Request(1, "x"),
        Request(2, "shutdown"),
    ]
    assert peer.shutdown_received
    for id_, method in ((3, "x"), (4, "shutdown"), (5, "initialize")):
        (refusal,) = peer.feed(line(Request(id_, method)))
        assert answer(refusal) == (id_, -32600)
    cancel = Notification("$/cancelRequest", Raw(b'{"id":1}'))
    assert peer.feed(line(cancel) + line(Notification("exit"))) == [cancel, Notification("exit")]
    assert peer.settle(1, None) is not None
    assert peer.settle(2, None) == b'{"jsonrpc":"2.0","id":2,"result":null}\n'


# Our own requests


def test_responses_come_back_to_requests_of_ours_only() -> None:
    peer = connection()
    id_, frame = peer.call("host/listLiveSessions", {})
    assert json.loads(frame) == {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "host/listLiveSessions",
        "params": {},
    }
    strangers: list[Id | None] = [None, "x", 99, str(id_)]
    for stranger in strangers:
        assert peer.feed(line(Response(stranger, result=Raw(b"1")))) == []
    response = Response(id_, result=Raw(b"null"))
    assert peer.feed(line(response)) == [response]
    assert peer.feed(line(response)) == []
    assert peer.in_flight == 0


def test_a_forgotten_request_gets_no_response_and_ids_are_not_used_again() -> None:
    peer = connection()
    first, _ = peer.call("a", None)
    peer.forget(first)
    peer.forget(first)
    second, frame = peer.call("b", None)
    assert second != first
    assert b"params" not in frame
    assert peer.feed(line(Response(first, result=Raw(b"1")))) == []


def test_the_two_sides_may_use_the_same_id() -> None:
    peer = connection()
    id_, _ = peer.call("a", None)
    assert peer.feed(line(Request(id_, "x"))) == [Request(id_, "x")]
    response = Response(id_, result=Raw(b"1"))
    assert peer.feed(line(response)) == [response]
    assert peer.settle(id_, None) is not None


def test_a_malformed_response_is_refused_without_its_id_and_ends_the_wait() -> None:
    peer = connection()
    id_, _ = peer.call("a", None)
    bad = b'{"jsonrpc":"2.0","id":%d,"result":1,"error":{"code":1,"message":""}}\n'
    assert isinstance(id_, int)
    refusal, response = peer.feed(bad % id_)
    assert answer(refusal) == (None, -32600)
    assert isinstance(response, Response)
    assert response.id == id_
    assert response.error is not None
    (again,) = peer.feed(bad % id_)
    assert answer(again) == (None, -32600)


def test_a_request_that_can_not_be_encoded_waits_for_nothing() -> None:
    peer = connection()
    with pytest.raises(TypeError):
        peer.call("a", object())
    assert peer.feed(line(Response(1, result=Raw(b"1")))) == []


def test_two_ends_talk_in_either_framing() -> None:
    for mode in ("line", "content-length"):
        host, sidecar = connection(mode, serving=False), connection("auto")
        first, frame = host.call("initialize", {"protocolVersion": 1})
        (request,) = sidecar.feed(frame)
        assert request == Request(first, "initialize", Raw(b'{"protocolVersion":1}'))
        asked, question = sidecar.call("host/listLiveSessions", {})
        (received,) = host.feed(question)
        assert received == Request(asked, "host/listLiveSessions")
        given = host.settle(asked, {"sessions": []})
        settled = sidecar.settle(first, {"protocolVersion": 1})
        assert given is not None
        assert settled is not None
        assert sidecar.feed(given) == [Response(asked, result=Raw(b'{"sessions":[]}'))]
        assert host.feed(settled + sidecar.notify("$/progress", {"token": 1})) == [
            Response(first, result=Raw(b'{"protocolVersion":1}')),
            Notification("$/progress", Raw(b'{"token":1}')),
        ]


class Conversation(RuleBasedStateMachine):
    """Whatever a host sends, each of its requests is answered exactly once."""

    LIMIT = 3

    def __init__(self) -> None:
        super().__init__()
        self.peer = connection(in_flight_limit=self.LIMIT)
        self.open: set[Id] = set()
        self.fresh = True
        self.initializing: Id | None = None
        self.shut_down = False
        self.sent: list[Id] = []
        self.answered: list[Id] = []

    @rule(
        id_=st.sampled_from([0, 1, 2, 3, "1", "2", ""]),
        method=st.sampled_from(["x", "x", "initialize", "shutdown"]),
    )
    def request(self, id_: Id, method: str) -> None:
        self.sent.append(id_)
        (received,) = self.peer.feed(line(Request(id_, method)))
        if isinstance(received, Refusal):
            refused_id, code = answer(received)
            assert refused_id == id_
            self.answered.append(id_)
            early = method == "initialize" and not self.fresh
            if id_ in self.open or self.shut_down or early:
                assert code == -32600
            else:
                assert code == -32000
                assert len(self.open) >= self.LIMIT
                assert method != "shutdown"
        else:
            assert received == Request(id_, method)
            assert id_ not in self.open
            assert not self.shut_down
            assert len(self.open) < self.LIMIT or method == "shutdown"
            assert method != "initialize" or self.fresh
            self.open.add(id_)
            self.fresh = False
            if method == "initialize":
                self.initializing = id_
            self.shut_down = method == "shutdown"

    @precondition(lambda self: self.open)
    @rule(choice=st.data(), fails=st.booleans(), times=st.integers(1, 3))
    def settle(self, choice: st.DataObject, fails: bool, times: int) -> None:
        id_ = choice.draw(st.sampled_from(sorted(self.open, key=repr)))
        frames = [
            self.peer.fail(id_, RpcError(ErrorKind.CANCELLED, "c"))
            if fails
            else self.peer.settle(id_, None)
            for _ in range(times)
        ]
        assert frames[0] is not None
        assert json.loads(frames[0])["id"] == id_
        assert frames[1:] == [None] * (times - 1)
        self.open.remove(id_)
        self.answered.append(id_)
        if id_ == self.initializing:
            self.initializing = None
            self.fresh = fails and not self.open and not self.shut_down

    @rule(payload=st.sampled_from([b"nonsense\n", b"[]\n", b'{"jsonrpc":"2.0","method":"n"}\n']))
    def noise(self, payload: bytes) -> None:
        self.peer.feed(payload)

    @invariant()
    def every_request_is_open_or_answered_once(self) -> None:
        assert self.peer.in_flight == len(self.open)
        assert self.peer.shutdown_received is self.shut_down
        assert sorted([*self.answered, *self.open], key=repr) == sorted(self.sent, key=repr)


TestConversation = Conversation.TestCase
