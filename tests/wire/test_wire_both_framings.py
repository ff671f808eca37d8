"""The wire's rules as one table, run against either framing of the same program.

A row is a rule, by its number in the contract, and what shows it. What only one framing has (its
own bytes, and the handshake of language servers) is in the rows that say so.
"""

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support import requests
from support.editor import Editor
from support.requests import AGENT, BIG_ID
from support.sidecar import PROGRAM, Sidecar, WireError

FRAMINGS = ["line", "content-length"]
MIB = 1 << 20
LIMIT = 64 * MIB
LONG = 60.0
"""Seconds, for what moves many megabytes on a busy machine."""
TOKEN = "t"
GOOD = "plain-talk"


class Place(NamedTuple):
    """Where a row is tried: a framing, and roots to read from."""

    framing: str
    main_root: Path
    big_root: Path

    @property
    def is_line(self) -> bool:
        return self.framing == "line"

    def start(self, *, big: bool = False, shake: bool = True, **how: Any) -> Sidecar:
        """A sidecar of its own; past the handshake, if `shake` and where there is one."""
        root = self.big_root if big else self.main_root
        return Sidecar(roots=[root], **how) if self.is_line else Editor(root, start=shake, **how)


Row = Callable[[Place], None]
RULES: list[Any] = []


def rule(number: int) -> Callable[[Row], Row]:
    """Puts what shows a rule into the table."""

    def add(row: Row) -> Row:
        RULES.append(pytest.param(row, id=f"{number}-{row.__name__}"))
        return row

    return add


@pytest.fixture(params=FRAMINGS)
def place(request: pytest.FixtureRequest, main_root: Path, big_root: Path) -> Place:
    return Place(request.param, main_root, big_root)


def ended(error: WireError, code: int) -> None:
    assert error.code == code
    assert error.data["code"] == "SESSION_REFERENCE_CANCELLED"
    assert error.data["retryable"] is (code == -32802)


def failure(peer: Sidecar, request_id: object) -> WireError:
    answer = peer.answer(request_id)
    assert "error" in answer, answer
    return WireError(answer["error"])


def assert_settled(peer: Sidecar) -> None:
    """It is well, nothing is left to be answered, and nothing was answered twice."""
    assert peer.call("status")["requestsInFlight"] == 0
    peer.close_stdin()
    assert peer.wait() == 0
    assert peer.unclaimed() == []
    assert peer.stderr == b""


# 1: one answer


@rule(1)
def each_of_many_requests_has_exactly_one_answer(place: Place) -> None:
    kinds: list[tuple[str, Any]] = [
        ("parseText", {"text": "see dsh-session:ImEi"}),
        ("parseText", {"text": 5}),
        ("formatMention", {"sessionId": "a"}),
        ("listCandidates", {"agent": AGENT}),
        ("prepare", requests.prepare(GOOD)),
        ("prepare", requests.prepare("not-there")),
        ("preStep", requests.pre_step(requests.person("@[x](dsh-session:InBsYWluLXRhbGsi)"))),
        ("status", {}),
        ("noSuchMethod", {}),
    ]
    with place.start() as peer:
        sent = [peer.request(*kinds[at % len(kinds)]) for at in range(90)]
        peer.close_stdin()
        assert peer.wait() == 0
        answers = peer.unclaimed()
    assert Counter(answer["id"] for answer in answers) == Counter(sent)
    failed = Counter(answer["error"]["code"] for answer in answers if "error" in answer)
    assert failed == {-32602: 10, -32014: 10, -32601: 10}


@rule(1)
def notifications_have_none(place: Place) -> None:
    with place.start() as peer:
        for method, params in [
            ("no/such", {}),
            ("$/no/such", [1]),
            ("$/cancelRequest", {"id": 99}),
            ("$/cancelRequest", {"id": None}),
            ("$/cancelRequest", [99]),
            ("$/cancel", {"token": "nobody"}),
            ("$/cancel", {}),
            ("parseText", {"text": 5}),
            ("listCandidates", {"agent": AGENT}),
            ("initialize", {}),
            ("shutdown", {}),
        ]:
            peer.notify(method, params)
        assert_settled(peer)


@rule(1)
def answers_to_nothing_are_dropped(place: Place) -> None:
    with place.start() as peer:
        peer.respond(1, {"sessions": []})
        peer.send({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}})
        peer.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}})
        assert_settled(peer)


# 2: cancels and deadlines


@rule(2)
def a_cancel_ends_a_read_in_flight(place: Place) -> None:
    with place.start(big=True) as peer:
        request_id = peer.request("prepare", requests.prepare(BIG_ID))
        assert peer.call("status")["requestsInFlight"] == 1
        for _ in range(3):
            peer.notify("$/cancelRequest", {"id": request_id})
        ended(failure(peer, request_id), -32800)
        assert_settled(peer)


@rule(2)
def a_cancel_in_the_same_breath_is_heeded(place: Place) -> None:
    mention = requests.person("@[Big](dsh-session:ImJpZyI)")
    asked: dict[str, dict[str, Any]] = {
        "prepare": requests.prepare(BIG_ID),
        "preStep": requests.pre_step(mention, policy="never-block"),
        "listCandidates": {"agent": AGENT, "query": "no such title"},
    }
    with place.start(big=True) as peer:
        for method, params in asked.items():
            frames = peer.frame(
                {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
            )
            for cancelled in (1, "y", method, method):
                cancel = {"method": "$/cancelRequest", "params": {"id": cancelled}}
                frames += peer.frame({"jsonrpc": "2.0", **cancel})
            peer.send_raw(frames)
            ended(failure(peer, method), -32800)
        assert_settled(peer)


@rule(2)
def a_cancel_before_its_request_or_after_its_answer_does_nothing(place: Place) -> None:
    with place.start() as peer:
        peer.notify("$/cancelRequest", {"id": "x"})
        for _ in range(2):
            peer.request("prepare", requests.prepare(GOOD), request_id="x")
            assert "additionalContext" in peer.settle("x")
            peer.notify("$/cancelRequest", {"id": "x"})
        assert_settled(peer)


@rule(2)
def ids_and_tokens_compare_by_type_and_value(place: Place) -> None:
    with place.start(big=True) as peer:
        peer.request("prepare", requests.prepare(BIG_ID), request_id=901)
        peer.request("prepare", requests.prepare(BIG_ID), request_id="901")
        peer.notify("$/cancelRequest", {"id": "901"})
        ended(failure(peer, "901"), -32800)
        marked = [
            peer.request("prepare", requests.prepare(BIG_ID, cancellationToken=token))
            for token in ("1", "1", 1)
        ]
        peer.notify("$/cancel", {"token": "1"})
        for request_id in marked[:2]:
            ended(failure(peer, request_id), -32800)
        assert peer.call("status")["requestsInFlight"] == 2
        peer.notify("$/cancel", {"token": 1})
        ended(failure(peer, marked[2]), -32800)
        peer.notify("$/cancelRequest", {"id": 901})
        ended(failure(peer, 901), -32800)
        assert_settled(peer)


@rule(2)
def a_passed_deadline_is_answered(place: Place) -> None:
    with place.start(big=True) as peer:
        late = peer.request("prepare", requests.prepare(BIG_ID, deadlineMs=1))
        ended(failure(peer, late), -32802)
        assert_settled(peer)


@rule(2)
def a_shutdown_answers_what_still_runs(place: Place) -> None:
    with place.start(big=True) as peer:
        running = peer.request("prepare", requests.prepare(BIG_ID))
        assert peer.call("shutdown") is None
        ended(failure(peer, running), -32802)
        peer.notify("exit")
        assert peer.wait() == 0
        assert peer.unclaimed() == []


# 3: errors


def asking(method: str, params: str, more: str = "") -> bytes:
    return f'{{{more}"jsonrpc":"2.0","id":"r","method":"{method}","params":{params}}}'.encode()


def preparing(session_id: str, config: str = "{}") -> bytes:
    references = f'[{{"sessionId":"{session_id}"}}]'
    return asking(
        "prepare",
        f'{{"agent":{{"id":"me"}},"content":[],"references":{references},"config":{config}}}',
    )


def sessions(count: int) -> str:
    return '"},{"sessionId":"'.join("abcde"[:count])


ANSWERS: list[tuple[str, bytes, str | None, int | None]] = [
    # what is sent, the id of the answer, its error's code
    ("no JSON", b"{", None, -32700),
    ("bad UTF-8", asking("status", "{}", '"x":"?",').replace(b"?", b"\xff"), None, -32700),
    ("too deep", b"[" * 100_000 + b"]" * 100_000, None, -32700),
    ("NaN", asking("status", '{"x":NaN}'), None, -32700),
    ("two values", asking("status", "{}") + b"{}", None, -32700),
    ("a batch", b"[" + asking("status", "{}") + b"]", None, -32600),
    ("a number", b"5", None, -32600),
    ("null", b"null", None, -32600),
    ("no version", b'{"id":"r","method":"status"}', "r", -32600),
    ("an old version", b'{"jsonrpc":"1.0","id":"r","method":"status"}', "r", -32600),
    ("a null id", b'{"jsonrpc":"2.0","id":null,"method":"status"}', None, -32600),
    ("a float id", b'{"jsonrpc":"2.0","id":1.5,"method":"status"}', None, -32600),
    ("a boolean id", b'{"jsonrpc":"2.0","id":true,"method":"status"}', None, -32600),
    ("no such method", asking("no/such", "{}"), "r", -32601),
    ("our own method", asking("host/listLiveSessions", "{}"), "r", -32601),
    ("a notification's", asking("$/cancelRequest", '{"id":1}'), "r", -32601),
    ("array params", asking("status", "[]"), "r", -32602),
    ("bad params", asking("parseText", "{}"), "r", -32602),
    ("a bad limit", asking("listCandidates", '{"agent":{"id":"a"},"limit":0}'), "r", -32602),
    ("a bad config", preparing(GOOD, '{"maxReferences":4}'), "r", -32010),
    ("a malformed mention", asking("parseText", '{"text":"dsh-session:!!a"}'), "r", None),
    ("a bad mention", asking("parseText", '{"text":"dsh-session:IiJ"}'), "r", -32011),
    ("the own session", preparing("me"), "r", -32012),
    ("too many", preparing(sessions(4)), "r", -32013),
    ("no such session", preparing("not there"), "r", -32014),
    ("no room", preparing(GOOD, '{"maxReferenceBytes":20}'), "r", -32015),
    ("null params", asking("status", "null"), "r", None),
    ("no params", b'{"jsonrpc":"2.0","id":"r","method":"status"}', "r", None),
    ("more fields", asking("status", '{"y":[{}]}', '"x":1,'), "r", None),
]


@pytest.fixture(scope="module")
def shared(session_roots: Callable[[str], Path]) -> Iterator[dict[str, Sidecar]]:
    """A sidecar of each framing, which every answer of the table leaves as it was."""
    root = session_roots("main")
    with Sidecar(roots=[root]) as line, Editor(root) as editor:
        yield {"line": line, "content-length": editor}


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(
    ("payload", "answered", "code"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS]
)
def test_an_answer_is_the_same_in_either_framing(
    shared: dict[str, Sidecar],
    framing: str,
    payload: bytes,
    answered: str | None,
    code: int | None,
) -> None:
    peer = shared[framing]
    peer.send_raw(peer.frame_of(payload))
    error = peer.answer(answered).get("error", {"data": {"retryable": False}})
    assert error.get("code") == code
    assert error["data"]["retryable"] is False
    assert peer.call("parseText", {"text": "after"})["text"] == "after"
    assert peer.unclaimed() == []


@rule(3)
def too_much_in_flight_is_refused(place: Place) -> None:
    params = requests.prepare(BIG_ID, cancellationToken=TOKEN)
    with place.start(big=True) as peer:
        sent = [peer.request("prepare", params) for _ in range(1024)]
        extra = [peer.request("prepare", params) for _ in range(10)]
        for request_id in extra:
            error = failure(peer, request_id)
            assert error.code == -32000
            assert error.data == {"code": "SIDECAR_BUSY", "retryable": True}
        peer.notify("$/cancel", {"token": TOKEN})
        for request_id in sent:
            ended(failure(peer, request_id), -32800)
        assert_settled(peer)


@rule(3)
def too_much_that_nobody_reads_is_refused(place: Place) -> None:
    """360 MB are asked for, which is more than the limit; a shutdown is heard all the same."""
    text = "x" * 10_000_000
    with place.start(drain=False, shake=False) as peer:
        if not place.is_line:
            peer.request("initialize", {"capabilities": {}}, request_id="hello")
        sent = [peer.request("parseText", {"text": text}) for _ in range(36)]
        peer.request("shutdown", request_id="end")
        peer.drain()
        assert peer.settle("end", LONG) is None
        codes = Counter(peer.answer(each, LONG).get("error", {}).get("code") for each in sent)
        assert codes.keys() == {None, -32000}
        assert codes[-32000] >= 3
        peer.notify("exit")
        assert peer.wait() == 0


# 4: ids


@rule(4)
def an_id_in_flight_is_refused_and_the_first_unharmed(place: Place) -> None:
    with place.start(big=True) as peer:
        peer.request("prepare", requests.prepare(BIG_ID), request_id="same")
        peer.request("status", request_id="same")
        assert failure(peer, "same").code == -32600
        peer.request("status", request_id=5_000)
        assert "result" in peer.answer(5_000)
        assert "additionalContext" in peer.settle("same", LONG)
        peer.request("status", request_id="same")
        assert "result" in peer.answer("same")
        assert_settled(peer)


@rule(4)
def an_id_comes_back_as_it_was(place: Place) -> None:
    with place.start() as peer:
        for request_id in (-1, 2**53 + 1, 10**30, "", "a b", "\ud83d", "\u2028", "1"):
            peer.request("parseText", {"text": "x"}, request_id=request_id)
            assert peer.settle(request_id)["text"] == "x"
        assert_settled(peer)


# 5: frames


@rule(5)
def a_frame_over_the_limit_is_skipped_and_the_next_one_read(place: Place) -> None:
    text = "y" * LIMIT
    with place.start() as peer:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "parseText", "params": {"text": text}}
        peer.send_raw(peer.frame(asked), LONG)
        assert failure(peer, None).code == -32600
        assert_settled(peer)


@rule(5)
def a_frame_of_just_the_limit_is_read(place: Place) -> None:
    with place.start() as peer:
        around = len(asking("parseText", '{"text":""}'))
        payload = asking("parseText", '{"text":"%s"}' % ("y" * (LIMIT - around)))
        assert len(payload) == LIMIT
        peer.send_raw(peer.frame_of(payload), LONG)
        assert len(peer.settle("r", LONG)["text"]) == LIMIT - around
        assert_settled(peer)


@rule(5)
def frames_may_be_cut_anywhere(place: Place) -> None:
    with place.start() as peer:
        asked = {"jsonrpc": "2.0", "id": "中", "method": "parseText", "params": {"text": "会话"}}
        for byte in peer.frame(asked):
            peer.send_raw(bytes([byte]))
        assert peer.settle("中")["text"] == "会话"
        assert_settled(peer)


@rule(5)
def white_space_and_a_mark_may_precede_the_first_frame(place: Place) -> None:
    hello = asking("initialize", '{"protocolVersion":1,"capabilities":{}}')
    for filler in (b"\xef\xbb\xbf", b"\n\r\n \t", b"\r\n"):
        with place.start(shake=False) as peer:
            peer.send_raw(filler + peer.frame_of(hello))
            assert peer.settle("r")["serverInfo"]["name"] == "sessionref"
            assert_settled(peer)


NO_FRAMES: dict[str, list[tuple[bytes, int]]] = {
    # bytes that are no frame, and the code of the one answer that they have
    "line": [
        (b"hello\n", -32700),
        (b"Content-Length: 2\n", -32700),
        (b"\xef\xbb\xbf{}\n", -32700),
        (b"{}{}\n", -32700),
    ],
    "content-length": [
        (b"hello\r\n\r\n", -32600),
        (b"Content-Length: x\r\n\r\n", -32600),
        (b"Content-Length: -1\r\n\r\n", -32600),
        (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", -32600),
        (b"Content-Type: application/json\r\n\r\n", -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"status"}\n\n', -32600),
        (b"Content-Length: 0\r\n\r\n", -32700),
    ],
}


@rule(5)
def what_is_no_frame_has_one_answer_and_costs_no_other_frame(place: Place) -> None:
    with place.start() as peer:
        for raw, code in NO_FRAMES[place.framing]:
            asked = {"jsonrpc": "2.0", "id": "next", "method": "status"}
            peer.send_raw(raw + peer.frame(asked))
            assert failure(peer, None).code == code, raw
            assert "result" in peer.answer("next"), raw
            assert peer.unclaimed() == []
        assert_settled(peer)


@rule(5)
def ends_of_lines_and_more_headers_are_tolerated(place: Place) -> None:
    payload = asking("parseText", '{"text":"x"}')
    spelled = {
        "line": [payload + b"\r\n", b"\n \n" + payload + b"\n\n"],
        "content-length": [
            b"content-length: %d\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n",
            b"Content-Type: x; charset=utf-8\nCONTENT-LENGTH:%d\n\n",
            b"\r\nContent-Length:   %d \r\nX: y:z\r\n\r\n",
        ],
    }[place.framing]
    with place.start() as peer:
        for raw in spelled:
            peer.send_raw(raw if place.is_line else raw % len(payload) + payload)
            assert peer.settle("r")["text"] == "x"
        assert_settled(peer)


@rule(5)
def a_last_frame_that_is_cut(place: Place) -> None:
    """A line needs no end; of the other framing less than a frame is none."""
    with place.start() as peer:
        peer.send_raw(peer.frame_of(asking("parseText", '{"text":"x"}') + b" ")[:-1])
        peer.close_stdin()
        if place.is_line:
            assert peer.settle("r")["text"] == "x"
        else:
            assert failure(peer, None).code == -32600
        assert peer.wait() == 0
        assert peer.unclaimed() == []


# 6: strings and numbers


@rule(6)
def strings_are_those_of_ecmascript(place: Place) -> None:
    payload = (
        rb'{"jsonrpc":"2.0","id":"\ud83d","method":"parseText","params":{"text":"\ude00\u2028"}}'
    )
    with place.start() as peer:
        peer.send_raw(peer.frame_of(payload))
        heard = peer.hear("\ud83d")
        assert rb'"id":"\ud83d"' in heard.line
        assert rb"\ude00\u2028" in heard.line
        assert_settled(peer)


@rule(6)
def what_is_passed_on_keeps_its_spelling(place: Place) -> None:
    content = rb'[{"z":1.0,"a":1e400,"n":123456789012345678901234567890,"s":"\ud800 \u00e9"}]'
    with place.start() as peer:
        params = '{"agent":{"id":"x"},"references":[],"content":?}'
        peer.send_raw(peer.frame_of(asking("prepare", params).replace(b"?", content)))
        assert peer.hear("r").line.endswith(b'"result":{"content":' + content + b"}}")
        assert_settled(peer)


# 7: the end


@rule(7)
def after_shutdown_every_request_is_refused(place: Place) -> None:
    with place.start() as peer:
        assert peer.call("shutdown") is None
        for method in ("status", "initialize", "shutdown", "noSuchMethod", "textDocument/hover"):
            assert peer.fails(method, {}).code == -32600
        peer.notify("exit")
        assert peer.wait() == 0
        assert peer.unclaimed() == []


@rule(7)
def exit_alone_ends_with_1(place: Place) -> None:
    with place.start(big=True) as peer:
        peer.request("prepare", requests.prepare(BIG_ID))
        peer.notify("exit")
        assert peer.wait() == 1
    with place.start(shake=False) as peer:
        peer.notify("exit")
        assert peer.wait() == 1


@rule(7)
def the_end_of_the_input_lets_requests_finish(place: Place) -> None:
    with place.start(big=True) as peer:
        request_id = peer.request("prepare", requests.prepare(BIG_ID))
        peer.close_stdin()
        assert "additionalContext" in peer.settle(request_id, LONG)
        assert peer.wait() == 0
    with place.start(shake=False) as peer:
        peer.close_stdin()
        assert peer.wait() == 0
        assert peer.unclaimed() == []


@rule(7)
def a_signal_cancels_answers_and_ends(place: Place) -> None:
    for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
        with place.start(big=True) as peer:
            request_id = peer.request("prepare", requests.prepare(BIG_ID))
            assert peer.call("status")["requestsInFlight"] == 1
            peer.signal(number)
            ended(failure(peer, request_id), -32802)
            assert peer.wait() == code
            assert peer.unclaimed() == []
            assert peer.stderr == b""


@rule(7)
def a_broken_stdout_ends_it(place: Place) -> None:
    with place.start(drain=False, shake=False) as peer:
        peer.close_stdout()
        assert peer.wait() == 1


PARENT = "import signal, subprocess, sys; subprocess.Popen(sys.argv[1:]); signal.pause()"


@rule(7)
def a_vanished_parent_ends_it(place: Place) -> None:
    """We hold the ends of its pipes; that they are read to their end shows that it is gone."""
    with place.start(command=[sys.executable, "-c", PARENT, str(PROGRAM)]) as peer:
        assert peer.call("parseText", {"text": "x"})["text"] == "x"
        peer.process.kill()
        assert peer.wait() == -signal.SIGKILL


# 8: no deadlock


@rule(8)
def who_reads_nothing_can_still_cancel_and_gets_everything_later(place: Place) -> None:
    text = "x" * 30_000  # three such answers fill a pipe
    with place.start(big=True, drain=False, shake=False) as peer:
        if not place.is_line:
            peer.request("initialize", {"capabilities": {}}, request_id="hello")
        peer.request("prepare", requests.prepare(BIG_ID), request_id="slow")
        sent = [peer.request("parseText", {"text": text}) for _ in range(200)]
        peer.notify("$/cancelRequest", {"id": "slow"})
        sent += [peer.request("parseText", {"text": text}) for _ in range(20)]
        peer.drain()
        ended(failure(peer, "slow"), -32800)
        for request_id in sent:
            assert peer.settle(request_id)["text"] == text
        peer.close_stdin()
        assert peer.wait() == 0


# 9: limits, and the handshake


@rule(9)
def the_limits_are_told(place: Place) -> None:
    stated = {
        "maxLineBytes": 64 * MIB,
        "maxRequestsInFlight": 1024,
        "maxQueuedOutputBytes": 256 * MIB,
        "eofDrainSeconds": 30,
        "maxRecordBytes": 64 * MIB,
        "maxZstdWindowBytes": 128 * MIB,
        "maxNesting": 512,
    }
    with place.start(shake=False) as peer:
        result = peer.call("initialize", {"protocolVersion": 1, "capabilities": {}})
        told = (
            result if place.is_line else result["capabilities"]["experimental"]["sessionReference"]
        )
        assert {name: told["limits"][name] for name in stated} == stated
        assert_settled(peer)


@rule(9)
def initialize_comes_first_and_once(place: Place) -> None:
    """Lines need none; a language server hears nothing else before it."""
    hello = {"protocolVersion": 1, "capabilities": {}}
    with place.start(shake=False) as peer:
        peer.notify("textDocument/didOpen", {})
        if place.is_line:
            assert peer.call("parseText", {"text": "x"})["text"] == "x"
            assert peer.fails("initialize", hello).code == -32600
        else:
            assert peer.fails("parseText", {"text": "x"}).code == -32600
            assert peer.fails("shutdown").code == -32600
            assert "capabilities" in peer.call("initialize", hello)
            assert peer.fails("initialize", hello).code == -32600
        assert_settled(peer)


@pytest.mark.parametrize("show", RULES)
def test_a_rule_holds_in_either_framing(place: Place, show: Row) -> None:
    show(place)


def test_the_table_has_every_rule() -> None:
    """But the tenth, which is of types and not of the wire."""
    numbers = {int(row.id.partition("-")[0]) for row in RULES}
    assert numbers == set(range(1, 10))
    assert json.dumps(sorted(NO_FRAMES)) == json.dumps(sorted(FRAMINGS))
