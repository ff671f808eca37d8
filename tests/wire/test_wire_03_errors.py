"""Rule 3: the table of errors, as far as it can be reached from outside.

Readings: a bad envelope with a good id is answered with that id, so that the host can settle it;
without one, with null. `data.field` is the path of the bad parameter, joined with dots.
512 levels are promised for what we look at (rule 9); params that nest much deeper are refused as a
whole, wherever it is, before anything is answered with the id.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from support import logs, requests
from support.requests import AGENT, BIG_ID, line
from support.sidecar import Sidecar, WireError

RETRYABLE_CAUSES = {"io", "changed", "host"}


def error_of(sidecar: Sidecar, raw: bytes, request_id: object) -> dict[str, Any]:
    sidecar.send_raw(raw)
    answer = sidecar.answer(request_id)
    assert list(answer) == ["jsonrpc", "id", "error"]
    error = answer["error"]
    assert list(error) == ["code", "message", "data"]
    assert isinstance(error["message"], str)
    assert error["message"]
    found: dict[str, Any] = error
    return found


PARSE_ERRORS = {
    "cut short": b'{"jsonrpc":"2.0","id":1,"method":"status"\n',
    "no json": b"hello\n",
    "two values": b'{"jsonrpc":"2.0","id":1,"method":"status"}{}\n',
    "trailing comma": b'{"jsonrpc":"2.0","id":1,"method":"status",}\n',
    "single quotes": b"{'jsonrpc':'2.0'}\n",
    "a raw control": b'{"jsonrpc":"2.0","id":1,"method":"status","x":"\x01"}\n',
    "a bad escape": rb'{"jsonrpc":"2.0","id":1,"method":"status","x":"\x"}' + b"\n",
    "bad utf-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}\n',
    "content-length": b"Content-Length: 2\n",
}


@pytest.mark.parametrize("name", PARSE_ERRORS)
def test_a_line_that_is_no_json(own_sidecar: Sidecar, name: str) -> None:
    """On the line framing, decided by the first line, also a header of the other framing."""
    own_sidecar.call("status")
    error = error_of(own_sidecar, PARSE_ERRORS[name], None)
    assert error["code"] == -32700
    assert error["data"] == {"retryable": False}
    assert own_sidecar.call("parseText", {"text": "x"})["text"] == "x"


def test_a_text_nested_too_deep(own_sidecar: Sidecar) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    error = error_of(own_sidecar, line("parseText", f'{{"text":{deep}}}'), None)
    assert error["code"] == -32700
    assert own_sidecar.call("parseText", {"text": "x"})["text"] == "x"


@pytest.mark.parametrize("field", ["content", "unknown"])
def test_the_depth_that_is_promised(own_sidecar: Sidecar, field: str) -> None:
    deep = "[" * 512 + "]" * 512
    params = {"content": "[]", "unknown": "0", field: deep}
    members = ",".join(f'"{name}":{value}' for name, value in params.items())
    own_sidecar.send_raw(line("prepare", f'{{"agent":{{"id":"x"}},"references":[],{members}}}'))
    assert own_sidecar.settle(1) == {"content": json.loads(params["content"])}


BAD_ENVELOPES: dict[str, tuple[bytes, object]] = {
    "a number": (b"5\n", None),
    "a string": (b'"status"\n', None),
    "null": (b"null\n", None),
    "an empty batch": (b"[]\n", None),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"status"}]\n', None),
    "an empty object": (b"{}\n", None),
    "no version": (b'{"id":1,"method":"status"}\n', 1),
    "an old version": (b'{"jsonrpc":"1.0","id":1,"method":"status"}\n', 1),
    "a version that is a number": (b'{"jsonrpc":2.0,"id":1,"method":"status"}\n', 1),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":1,"method":5}\n', 1),
    "a method that is null": (b'{"jsonrpc":"2.0","id":"a","method":null}\n', "a"),
    "an id that is null": (b'{"jsonrpc":"2.0","id":null,"method":"status"}\n', None),
    "an id that is a float": (b'{"jsonrpc":"2.0","id":1.5,"method":"status"}\n', None),
    "an id that is true": (b'{"jsonrpc":"2.0","id":true,"method":"status"}\n', None),
    "an id that is an object": (b'{"jsonrpc":"2.0","id":{},"method":"status"}\n', None),
}


@pytest.mark.parametrize("name", BAD_ENVELOPES)
def test_a_bad_envelope(own_sidecar: Sidecar, name: str) -> None:
    raw, request_id = BAD_ENVELOPES[name]
    error = error_of(own_sidecar, raw, request_id)
    assert error["code"] == -32600
    assert error["data"] == {"retryable": False}
    own_sidecar.close_stdin()
    assert own_sidecar.wait() == 0
    assert own_sidecar.unclaimed() == []


@pytest.mark.parametrize("method", ["nope", "", "Status", "prestep", "host/listLiveSessions", "\n"])
def test_an_unknown_method(sidecar: Sidecar, method: str) -> None:
    error = sidecar.fails(method)
    assert (error.code, error.data) == (-32601, {"retryable": False})


GOOD: dict[str, dict[str, Any]] = {
    "preStep": requests.pre_step(requests.person("x")),
    "listCandidates": {"agent": AGENT},
    "prepare": requests.prepare(),
    "parseText": {"text": "x"},
    "formatMention": {"sessionId": "x"},
}

BAD_PARAMS: list[tuple[str, dict[str, Any], str]] = [
    ("preStep", {"agent": None}, "agent"),
    ("preStep", {"agent": {"id": 5}}, "agent.id"),
    ("preStep", {"decision": 5}, "decision"),
    ("preStep", {"decision": {"kind": "maybe"}}, "decision.kind"),
    ("preStep", {"decision": {"kind": "enter", "messages": {}}}, "decision.messages"),
    ("preStep", {"policy": "sometimes"}, "policy"),
    ("preStep", {"policy": {"placement": "under", "onFailure": "terminate"}}, "policy.placement"),
    ("preStep", {"policy": {"placement": "after", "onFailure": "x"}}, "policy.onFailure"),
    ("listCandidates", {"agent": {"cwd": "/w"}}, "agent.id"),
    ("listCandidates", {"agent": {"id": "x", "cwd": 5}}, "agent.cwd"),
    ("listCandidates", {"query": 5}, "query"),
    ("listCandidates", {"workDoneToken": 1.5}, "workDoneToken"),
    ("listCandidates", {"cancellationToken": True}, "cancellationToken"),
    ("prepare", {"references": {}}, "references"),
    ("prepare", {"references": None}, "references"),
    ("prepare", {"cancellationToken": []}, "cancellationToken"),
    ("prepare", {"deadlineMs": 0}, "deadlineMs"),
    ("parseText", {"text": None}, "text"),
    ("parseText", {"text": ["x"]}, "text"),
    ("formatMention", {"sessionId": 5}, "sessionId"),
    ("formatMention", {"label": 5}, "label"),
]


@pytest.mark.parametrize(("method", "bad", "field"), BAD_PARAMS)
def test_a_bad_param_is_named(
    sidecar: Sidecar, method: str, bad: dict[str, Any], field: str
) -> None:
    error = sidecar.fails(method, {**GOOD[method], **bad})
    assert (error.code, error.data) == (-32602, {"retryable": False, "field": field})


@pytest.mark.parametrize(
    ("method", "field"),
    [
        ("preStep", "agent"),
        ("preStep", "decision"),
        ("listCandidates", "agent"),
        ("prepare", "content"),
        ("prepare", "references"),
        ("parseText", "text"),
        ("formatMention", "sessionId"),
    ],
)
def test_a_missing_param_is_named(sidecar: Sidecar, method: str, field: str) -> None:
    params = {key: value for key, value in GOOD[method].items() if key != field}
    error = sidecar.fails(method, params)
    assert (error.code, error.data) == (-32602, {"retryable": False, "field": field})


@pytest.mark.parametrize("params", [[], ["x"], "x", 5, True])
def test_params_that_are_no_object(sidecar: Sidecar, params: object) -> None:
    assert sidecar.fails("status", params).code == -32602


@pytest.mark.parametrize("limit", [0, -1, 1.5, 1.0, "3", True, None, [], 2**53])
def test_a_bad_limit_is_also_an_invalid_reference(sidecar: Sidecar, limit: object) -> None:
    error = sidecar.fails("listCandidates", {"agent": AGENT, "limit": limit})
    assert error.code == -32602
    assert error.data == {
        "code": "SESSION_REFERENCE_INVALID_REFERENCE",
        "retryable": False,
        "field": "limit",
    }


BAD_CONFIG: list[tuple[str, object]] = [
    ("maxReferences", 0),
    ("maxReferences", 4),
    ("maxReferences", 1.5),
    ("maxReferences", "1"),
    ("maxReferences", True),
    ("maxReferenceBytes", 0),
    ("maxReferenceBytes", -1),
    ("maxReferenceBytes", 2**53),
    ("maxReferenceBytes", []),
    ("candidateLimit", 0),
    ("candidateLimit", 2.5),
    ("candidateLimit", 2**53),
    ("enabled", 1),
    ("enabled", "true"),
]


@pytest.mark.parametrize("method", ["preStep", "listCandidates", "prepare"])
@pytest.mark.parametrize(("key", "value"), BAD_CONFIG)
def test_a_bad_value_in_a_request_s_config(
    sidecar: Sidecar, method: str, key: str, value: object
) -> None:
    error = sidecar.fails(method, {**GOOD[method], "config": {key: value}})
    assert error.code == -32010
    assert error.data == {
        "code": "SESSION_REFERENCE_INVALID_CONFIG",
        "retryable": False,
        "field": f"config.{key}",
    }


def test_a_bad_config_is_an_error_under_never_block_too(sidecar: Sidecar) -> None:
    params = requests.pre_step(requests.person("x"), policy="never-block", config={"enabled": 5})
    assert sidecar.fails("preStep", params).code == -32010


def test_a_bad_config_in_initialize(own_sidecar: Sidecar) -> None:
    params = {"protocolVersion": 1, "config": {"maxReferences": 9}}
    error = own_sidecar.fails("initialize", params)
    assert (error.code, error.data["field"]) == (-32010, "config.maxReferences")


def test_a_malformed_mention_says_where_it_stands(sidecar: Sidecar) -> None:
    """Offsets are UTF-16 units of the text."""
    text = "\U0001f600 see dsh-session:IiJ."
    error = sidecar.fails("parseText", {"text": text})
    assert error.code == -32011
    assert error.data == {
        "code": "SESSION_REFERENCE_INVALID_REFERENCE",
        "retryable": False,
        "start": 7,
        "end": 22,
    }
    assert "dsh-session:IiJ" in error.message


def test_a_malformed_mention_in_a_message_says_in_which(sidecar: Sidecar) -> None:
    fine, bad = requests.person("fine"), requests.person("a @[b](dsh-session:!) c")
    error = sidecar.fails("preStep", requests.pre_step(fine, bad))
    assert error.code == -32011
    assert error.data["messageIndex"] == 1
    assert (error.data["start"], error.data["end"]) == (2, 21)


def test_the_quoted_mention_is_short_and_escaped(sidecar: Sidecar) -> None:
    text = "@[\x1b[31m\u202e" + "x" * 10_000 + "](dsh-session:!)"
    message = sidecar.fails("parseText", {"text": text}).message
    assert "\x1b" not in message
    assert "\u202e" not in message
    assert message.count("x") < 120
    assert len(message) < 300


@pytest.mark.parametrize(
    ("references", "index"),
    [
        ([None], 0),
        ([{"sessionId": "plain-talk"}, 5], 1),
        ([{}], 0),
        ([{"sessionId": 5}], 0),
        ([{"sessionId": "a", "label": None}], 0),
        ([{"sessionId": "a"}, {"sessionId": "b"}, {"sessionId": "c", "label": 5}], 2),
    ],
)
def test_a_malformed_reference_says_which(
    sidecar: Sidecar, references: list[Any], index: int
) -> None:
    error = sidecar.fails("prepare", {**GOOD["prepare"], "references": references})
    assert error.code == -32011
    assert error.data["code"] == "SESSION_REFERENCE_INVALID_REFERENCE"
    assert error.data["inputIndex"] == index


def test_the_own_id(sidecar: Sidecar) -> None:
    error = sidecar.fails("prepare", requests.prepare("plain-talk", AGENT["id"]))
    assert (error.code, error.data["retryable"]) == (-32012, False)
    assert error.data["code"] == "SESSION_REFERENCE_SELF_REFERENCE"
    assert error.data["inputIndex"] == 1


def test_too_many(sidecar: Sidecar) -> None:
    """Before any read: none of these can be read."""
    error = sidecar.fails("prepare", requests.prepare("a", "b", "a", "c", "d"))
    assert (error.code, error.data["retryable"]) == (-32013, False)
    assert error.data["code"] == "SESSION_REFERENCE_TOO_MANY"


def test_an_earlier_item_s_fault_comes_first(sidecar: Sidecar) -> None:
    references = [{"sessionId": AGENT["id"]}, None]
    assert sidecar.fails("prepare", {**GOOD["prepare"], "references": references}).code == -32012


def test_a_session_that_is_not_there(sidecar: Sidecar) -> None:
    error = sidecar.fails("prepare", requests.prepare("plain-talk", "gone"))
    assert error.code == -32014
    assert error.data["code"] == "SESSION_REFERENCE_READ_FAILED"
    assert error.data["cause"] == "not_found"
    assert error.data["sessionId"] == "gone"
    assert error.data["retryable"] is False


class TestEachCause:
    """`data.cause` of a failed read, and whether a retry may help.

    Reading: a generation newer than we know is not refused for its number alone, but read as well
    as we can and marked; it is `unsupported_format` where its surface can't be understood. The
    contract's table ("that our readers know") can also be read as refusing every such log.
    """

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        logs.write_log(tmp_path, "bad-row", [logs.user("secret"), b"{", b'{"type":"turn/end"}'])
        folder = logs.write_log(tmp_path, "newer").parent
        (folder / logs.log_name()).rename(folder / logs.log_name(version=99))
        hides = {"type": "user/message", "seq": 0, "time": 0, "data": {}, "surfaceOp": "fold"}
        newer = logs.encode(logs.header("newer", version=99), [hides])
        (folder / logs.log_name(version=99)).write_bytes(newer)
        logs.write_log(tmp_path, "both")
        logs.write_log(tmp_path, "both", zstd=False)
        logs.write_log(tmp_path, "twice", cwd="/a")
        logs.write_log(tmp_path, "twice", cwd="/b")
        log = logs.write_log(tmp_path, "folder")
        log.unlink()
        log.mkdir()
        return tmp_path

    @pytest.mark.parametrize(
        ("session_id", "cause"),
        [
            ("bad-row", "corrupt"),
            ("newer", "unsupported_format"),
            ("both", "conflict"),
            ("twice", "conflict"),
            ("folder", "io"),
            ("gone", "not_found"),
        ],
    )
    def test_is_named(self, root: Path, session_id: str, cause: str) -> None:
        with Sidecar(roots=[root]) as sidecar:
            error = sidecar.fails("prepare", requests.prepare(session_id))
        assert error.code == -32014
        assert (error.data["cause"], error.data["sessionId"]) == (cause, session_id)
        assert error.data["retryable"] is (cause in RETRYABLE_CAUSES)
        assert "secret" not in json.dumps([error.message, error.data])


def test_what_does_not_fit(sidecar: Sidecar) -> None:
    params = requests.prepare("no-cwd", "plain-talk", config={"maxReferenceBytes": 20})
    error = sidecar.fails("prepare", params)
    assert (error.code, error.data["retryable"]) == (-32015, False)
    assert error.data["code"] == "SESSION_REFERENCE_BUDGET_EXCEEDED"
    assert error.data["sessionId"] in ("no-cwd", "plain-talk")
    assert "hello" not in error.message


def test_too_much_in_flight_is_refused_and_may_be_tried_again(big_sidecar: Sidecar) -> None:
    """The limit is 1 024. Everything is answered once: the refused at once, the rest cancelled."""
    params = requests.prepare(BIG_ID, cancellationToken="all")
    sent = [big_sidecar.request("prepare", params) for _ in range(1024)]
    extra = [big_sidecar.request("prepare", params) for _ in range(10)]
    for request_id in extra:
        error = WireError(big_sidecar.answer(request_id)["error"])
        assert (error.code, error.data) == (-32000, {"code": "SIDECAR_BUSY", "retryable": True})
    big_sidecar.notify("$/cancel", {"token": "all"})
    for request_id in sent:
        assert big_sidecar.answer(request_id)["error"]["code"] == -32800
    assert big_sidecar.call("parseText", {"text": "x"})["text"] == "x"
    assert big_sidecar.unclaimed() == []
