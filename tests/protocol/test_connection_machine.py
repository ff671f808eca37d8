"""A connection against a small model: what comes in is given out, answered or dropped, in order.

Messages come in cut at any byte, good and bad ones; requests are settled, failed, and both again;
questions of ours are answered, forgotten, or answered by what is no answer. The model is a set of
ids each way and how far the conversation is.
"""

import json
from typing import Any, Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sessionref_protocol.connection import Connection, Received, Refusal
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.messages import Notification, Request, Response

LIMIT = 150
IN_FLIGHT = 2
PARSE, INVALID, PARAMS, BUSY = -32700, -32600, -32602, -32000

Id = int | str
Told = tuple[Any, ...] | None
"""What becomes of a frame: a kind and an id, a refusal's id and code, or nothing."""

ids: st.SearchStrategy[Id] = st.sampled_from([1, "1", 2, 3, "a", "", -1])
methods = st.sampled_from([*"xxxxxx", "initialize", "shutdown", "exit"])


class Conversation(RuleBasedStateMachine):
    @initialize(framing=st.sampled_from(["line", "content-length"]), auto=st.booleans())
    def begin(self, framing: Literal["line", "content-length"], auto: bool) -> None:
        self.framing = framing
        mode: Any = "auto" if auto else framing
        self.connection = Connection(mode, line_limit=LIMIT, in_flight_limit=IN_FLIGHT)
        self.upcoming = b""
        self.frames: list[tuple[int, Any]] = []
        """Where in what was said each frame is known, and what the model makes of it then."""
        self.said = self.given = 0
        self.is_over = False
        # The model
        self.theirs: list[Id] = []
        self.ours: list[Id] = []
        self.calls = 0
        self.phase: Literal["fresh", "open", "shut down"] = "fresh"
        self.initializing: Id | None = None

    # What the peer says

    is_open = precondition(lambda self: not self.is_over)

    def say(self, payload: bytes, becomes: Any) -> None:
        end = b"\n" if self.framing == "line" else b""
        head = b"" if self.framing == "line" else b"Content-Length: %d\r\n\r\n" % len(payload)
        self.upcoming += head + payload + end
        self.said += len(head + payload + end)
        unread = len(payload) if head and len(payload) > LIMIT else 0  # its length is enough
        self.frames.append((self.said - unread, becomes))

    def say_json(self, message: dict[str, Any], becomes: Any) -> None:
        self.say(json.dumps({"jsonrpc": "2.0", **message}).encode(), becomes)

    @is_open
    @rule(id_=ids, method=methods)
    def ask(self, id_: Id, method: str) -> None:
        def becomes() -> Told:
            early = self.framing == "content-length" and self.phase == "fresh"
            if id_ in self.theirs or self.phase == "shut down":
                return "refusal", id_, INVALID
            if early and method != "initialize":
                return "refusal", id_, INVALID
            if method == "initialize" and self.phase != "fresh":
                return "refusal", id_, INVALID
            if method == "initialize":
                self.initializing = id_
            if len(self.theirs) >= IN_FLIGHT and method != "shutdown":
                return "refusal", id_, BUSY
            self.phase = "shut down" if method == "shutdown" else "open"
            self.theirs.append(id_)
            return "request", id_, method

        self.say_json({"id": id_, "method": method}, becomes)

    @is_open
    @rule(method=methods)
    def notify(self, method: str) -> None:
        def becomes() -> Told:
            early = self.framing == "content-length" and self.phase == "fresh"
            return None if early and method != "exit" else ("notification", method)

        self.say_json({"method": method}, becomes)

    @is_open
    @rule(id_=st.one_of(st.integers(0, 5), st.sampled_from(["1", None])), good=st.booleans())
    def answer(self, id_: Any, good: bool) -> None:
        def becomes() -> Told:
            if id_ not in self.ours or isinstance(id_, str):
                return None
            self.ours.remove(id_)
            return "response", id_

        error = {"code": 1, "message": "m"}
        self.say_json({"id": id_, **({"result": 1} if good else {"error": error})}, becomes)

    @is_open
    @rule(id_=st.integers(0, 5))
    def answer_badly(self, id_: int) -> None:
        """Nobody can tell what it says, but whose answer it is."""

        def becomes() -> list[Told]:
            told: list[Told] = [("refusal", None, INVALID)]
            if id_ in self.ours:
                self.ours.remove(id_)
                told.append(("response", id_))
            return told

        self.say_json({"id": id_, "error": 7}, becomes)

    @is_open
    @rule(
        bad=st.sampled_from(
            [
                (b"{", None, PARSE),
                (b"\xff", None, PARSE),
                (b"[]", None, INVALID),
                (b'{"jsonrpc":"2.0","id":null,"method":"x"}', None, INVALID),
                (b'{"jsonrpc":"1.0","id":9,"method":"x"}', 9, INVALID),
                (b"x" * (LIMIT + 1), None, INVALID),
            ]
        )
    )
    def say_rubbish(self, bad: tuple[bytes, Any, int]) -> None:
        payload, id_, code = bad
        self.say(payload, lambda: ("refusal", id_, code))

    @is_open
    @rule(id_=ids)
    def ask_with_a_list(self, id_: Id) -> None:
        def becomes() -> Told:
            in_time = id_ not in self.theirs and self.phase != "shut down"
            return "refusal", id_, PARAMS if in_time else INVALID

        self.say_json({"id": id_, "method": "x", "params": []}, becomes)

    @is_open
    @rule(share=st.integers(0, 8))
    def comes_in(self, share: int) -> None:
        """So many eighths of what was said, in one chunk."""
        size = len(self.upcoming) * share // 8
        chunk, self.upcoming = self.upcoming[:size], self.upcoming[size:]
        self.given += size
        self.check(self.connection.feed(chunk))

    @is_open
    @rule()
    def ends(self) -> None:
        self.comes_in(8)
        assert self.connection.feed_eof() == []
        self.is_over = True

    def check(self, received: list[Received]) -> None:
        """All frames that are whole now become what the model says, one after the other."""
        expected: list[Told] = []
        while self.frames and self.frames[0][0] <= self.given:
            told = self.frames.pop(0)[1]()
            expected += told if isinstance(told, list) else [told]
        assert [self.told(each) for each in received] == [each for each in expected if each]

    def told(self, received: Received) -> Told:
        match received:
            case Request(id=id_, method=method):
                return "request", id_, method
            case Notification(method=method):
                return "notification", method
            case Response(id=id_):
                return "response", id_
            case Refusal(frame=frame):
                answer = self.payload(frame)
                return "refusal", answer["id"], answer["error"]["code"]

    def payload(self, frame: bytes) -> Any:
        """The one message of a frame."""
        if self.connection.mode == "content-length":
            head, _, frame = frame.partition(b"\r\n\r\n")
            assert head == b"Content-Length: %d" % len(frame)
        else:
            assert frame.count(b"\n") == 1
        return json.loads(frame)

    # What we do

    @rule(id_=ids, how=st.sampled_from(["settle", "fail", "can't be written"]))
    def settle(self, id_: Id, how: str) -> None:
        if how == "fail":
            frame = self.connection.fail(id_, RpcError(ErrorKind.CANCELLED, "m"))
        else:
            frame = self.connection.settle(id_, 1 if how == "settle" else object())
        assert (frame is not None) == (id_ in self.theirs)
        if frame is None:
            return
        self.theirs.remove(id_)
        answer = self.payload(frame)
        assert answer["id"] == id_
        assert ("result" in answer) == (how == "settle")
        if id_ == self.initializing:
            self.initializing = None
            if how != "settle" and self.phase == "open" and not self.theirs:
                self.phase = "fresh"

    @rule()
    def call(self) -> None:
        id_, frame = self.connection.call("y", {})
        self.calls += 1
        assert id_ == self.calls
        assert self.payload(frame)["id"] == id_
        self.ours.append(id_)

    @rule(id_=st.integers(0, 5))
    def forget(self, id_: int) -> None:
        self.connection.forget(id_)
        self.ours = [each for each in self.ours if each != id_]

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "connection"):
            assert self.connection.in_flight == len(self.theirs)
            assert self.connection.shutdown_received == (self.phase == "shut down")


Conversation.TestCase.settings = settings(
    max_examples=500,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestConversation = Conversation.TestCase
