"""A scope holds in every method: out of scope is as if it were not there."""

from pathlib import Path
from typing import Any

import pytest

from sessionref_protocol.mention import format_mention
from sessionref_protocol.methods import METHODS
from support import logs
from support.sidecar import Sidecar

IN, OUT, GONE = "in", "out", "gone"
AGENT = {"id": "me", "cwd": "/here"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    logs.write_log(tmp_path, IN, [logs.user("seen")], cwd="/here")
    logs.write_log(tmp_path, OUT, [logs.user("hidden")], cwd="/there")
    return tmp_path


def decision(session_id: str) -> dict[str, Any]:
    text = {"type": "text", "text": format_mention(session_id, "x")}
    message = {"id": "m", "role": "user", "source": {"kind": "user"}, "content": [text]}
    return {"kind": "enter", "messages": [message]}


PARAMS: dict[str, Any] = {
    "preStep": lambda id_: {"decision": decision(id_)},
    "prepare": lambda id_: {"content": [], "references": [{"sessionId": id_}]},
    "preview": lambda id_: {"references": [{"sessionId": id_}]},
    "readSnapshot": lambda id_: {"sessionId": id_},
    "listCandidates": lambda id_: {"query": id_},
}
"""Every method that tells of a session, and how it is asked for one."""

TELLS_NOTHING = {
    "initialize",
    "parseText",
    "formatMention",
    "status",
    "shutdown",
    "describeTranscript",
}
"""Requests that read no session."""


def told(sidecar: Sidecar, method: str, session_id: str, **config: Any) -> str:
    """Everything that a method answers of a session, its id made anonymous."""
    params = {"agent": AGENT, **PARAMS[method](session_id), **config}
    answer = sidecar.answer(sidecar.request(method, params))
    shown = {key: answer[key] for key in ("result", "error") if key in answer}
    uri = format_mention(session_id, "x")
    return repr(shown).replace(uri, "<mention>").replace(f"'{session_id}'", "<id>")


def test_every_request_is_either_bounded_or_tells_nothing() -> None:
    requests = {
        method.name
        for method in METHODS.values()
        if method.kind == "request" and method.direction == "host-to-sidecar"
    }
    assert requests == PARAMS.keys() | TELLS_NOTHING


SCOPES: list[dict[str, Any]] = [
    {"workspaces": "same"},
    {"workspaces": ["/here/", "/elsewhere"]},
    {"deny": [OUT]},
]


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("method", PARAMS)
def test_out_of_scope_is_as_an_id_that_nobody_has(
    root: Path, method: str, scope: dict[str, Any]
) -> None:
    bounded = {"config": {"scope": scope}}
    with Sidecar(roots=[root]) as sidecar:
        assert told(sidecar, method, OUT, **bounded) == told(sidecar, method, GONE, **bounded)
        assert told(sidecar, method, OUT) != told(sidecar, method, GONE)
        assert told(sidecar, method, IN, **bounded) != told(sidecar, method, GONE, **bounded)


@pytest.mark.parametrize("method", PARAMS)
def test_a_request_cannot_widen_what_initialize_or_flags_say(root: Path, method: str) -> None:
    wide = {"config": {"scope": {"workspaces": ["/there"], "archived": True, "deny": []}}}
    with Sidecar("--only-workspace", "same", roots=[root]) as sidecar:
        assert told(sidecar, method, OUT, **wide) == told(sidecar, method, GONE)
    with Sidecar(roots=[root]) as sidecar:
        config = {"scope": {"deny": [OUT]}}
        sidecar.call("initialize", {"protocolVersion": 1, "config": config})
        assert told(sidecar, method, OUT, **wide) == told(sidecar, method, GONE)


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        ({"workspaces": "mine"}, "config.scope.workspaces"),
        ({"workspaces": [1]}, "config.scope.workspaces[0]"),
        ({"archived": 0}, "config.scope.archived"),
        ({"deny": "x"}, "config.scope.deny"),
        ([], "config.scope"),
    ],
)
def test_a_bad_scope_is_named(root: Path, scope: Any, field: str) -> None:
    with Sidecar(roots=[root]) as sidecar:
        params = {"agent": AGENT, "config": {"scope": scope}}
        error = sidecar.fails("listCandidates", params)
        assert (error.code, error.data["field"]) == (-32010, field)
