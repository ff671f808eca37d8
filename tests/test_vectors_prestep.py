"""The recorded pre-steps. There each message is given its role on the way in; here the host
sends it."""

from collections.abc import Mapping
from typing import Any

import pytest

from support.answers import context, recorded_context, recorded_error, refused
from support.roots import SessionRoots, SidecarAt
from support.sidecar import Sidecar, WireError
from support.vectors import load
from support.verdicts import judge


def recorded(case: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in case:
        return recorded_error(case)
    result = case["result"]
    if "messages" not in result:
        return dict(result)
    messages = [
        item["message"] if "message" in item else recorded_context(item["additionalContext"])
        for item in result["messages"]
    ]
    return {"kind": result["kind"], "messages": messages}


def ours(sidecar: Sidecar, params: Mapping[str, Any]) -> dict[str, Any]:
    decision: dict[str, Any] = {"kind": "reject"}
    if not params.get("reject"):
        messages = [{"role": "user", **message} for message in params["messages"]]
        decision = {"kind": "enter", "messages": messages}
    agent = {"id": params["agentId"], "cwd": params["cwd"]}
    config = {"config": params["config"]} if "config" in params else {}
    try:
        result = sidecar.call("preStep", {"agent": agent, "decision": decision, **config})
    except WireError as error:
        return refused(error)
    answer = result["decision"]
    if "messages" not in answer:
        assert result["outcomes"] == []
        return dict(answer)
    messages = [
        context(message) if message["source"]["kind"] == "session-reference" else message
        for message in answer["messages"]
    ]
    contexts = [message for message in messages if "json" in message]
    assert [outcome["status"] for outcome in result["outcomes"]] == ["prepared"] * len(contexts)
    return {**answer, "messages": messages}


@pytest.mark.parametrize("case", load("prestep")["cases"], ids=lambda case: case["name"])
def test_prestep(case: dict[str, Any], session_roots: SessionRoots, sidecar_at: SidecarAt) -> None:
    sidecar = sidecar_at(session_roots(case["root"]))
    judge("prestep", case["name"], recorded(case), ours(sidecar, case["params"]))
