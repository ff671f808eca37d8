"""Our answers, brought into the shape in which the recorded ones are compared.

The recorded answers know nothing of ids that we make, of the warning that we word, nor of the
fields that we add; what they share with ours is checked here on the way.
"""

import re
import time
import uuid
from collections.abc import Mapping
from typing import Any

from support import requests
from support.sidecar import Sidecar, WireError

UUID_4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
REFERENCE_KEYS = [
    "sessionId",
    "label",
    "capturedThroughSeq",
    "compacted",
    "originalMessages",
    "retainedMessages",
    "omittedMessages",
    "omittedBytes",
    "truncated",
    "inputIndex",
]
OPENING = "<referenced-sessions>\n"
CLOSING = "\n</referenced-sessions>"

_COMPLETE_SECONDS = 60

Answers = dict[str, Any]
"""What a host was told of the sessions, by what it asked."""


def snapshot_json(text: str) -> str:
    """The JSON between the tags of a context's text. Nothing else may hold a `<`."""
    assert text.startswith("## Referenced sessions\n")
    assert text.endswith(CLOSING)
    warning, _, rest = text.partition(OPENING)
    json_text = rest.removesuffix(CLOSING)
    assert "<" not in json_text
    for word in ("untrusted", "read-only", "background", "instructions", "permission", "tool"):
        assert word in warning.lower()
    return json_text


def context(message: Mapping[str, Any]) -> dict[str, Any]:
    """A context message of ours as `{references, json}`."""
    assert list(message) == ["id", "role", "source", "content"]
    assert UUID_4.fullmatch(message["id"])
    assert uuid.UUID(message["id"]).version == 4
    assert message["role"] == "user"
    source = message["source"]
    assert list(source) == ["kind", "form", "version", "references"]
    assert {**source, "references": []} == {
        "kind": "session-reference",
        "form": "recall",
        "version": 1,
        "references": [],
    }
    for reference in source["references"]:
        assert list(reference)[: len(REFERENCE_KEYS)] == REFERENCE_KEYS
    (block,) = message["content"]
    assert list(block) == ["type", "text"]
    assert block["type"] == "text"
    return {"references": source["references"], "json": snapshot_json(block["text"])}


def recorded_context(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The same, of a recorded `additionalContext`."""
    return {"references": recorded["source"]["references"], "json": recorded["json"]}


def prepared(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result of `prepare` as `{content, references, json}`; only content where none was made."""
    if "additionalContext" not in result:
        return {"content": result["content"]}
    return {"content": result["content"], **context(result["additionalContext"])}


def recorded_prepared(case: Mapping[str, Any]) -> dict[str, Any]:
    """The same, of a recorded answer of `prepare`, which may be an error."""
    if "error" in case:
        return recorded_error(case)
    result = case["result"]
    if "additionalContext" not in result:
        return {"content": result["content"]}
    return {"content": result["content"], **recorded_context(result["additionalContext"])}


def recorded_error(case: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded error: its stable code is all that we share."""
    return {"error": case["error"]["code"]}


def refused(error: WireError, code: int | None = None, **members: object) -> dict[str, Any]:
    """An error of ours, in the shape of a recorded one; its code and data must be as given."""
    assert code in (None, error.code)
    assert {name: error.data.get(name) for name in members} == members
    return {"error": error.data.get("code")}


def prepare_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of a recorded `prepare` or `listCandidates`, as our wire has them."""
    agent = {"id": params["agentId"]}
    if "cwd" in params:
        agent["cwd"] = params["cwd"]
    rest = {key: value for key, value in params.items() if key not in ("agentId", "cwd")}
    return {"agent": agent, **rest}


def prepare(sidecar: Sidecar, params: Mapping[str, Any]) -> dict[str, Any]:
    """Ask `prepare`; the answer or the error, in the shape of the recorded ones."""
    try:
        return prepared(sidecar.call("prepare", params))
    except WireError as error:
        return refused(error)


def everything(sidecar: Sidecar) -> Answers:
    """All that a host can see of the sessions, once everything is known of them."""
    found: Answers = {}
    for query in ("", "title", "ALPHA", "2", "secret", "nothing"):
        params = {"agent": requests.AGENT, "query": query, "limit": 1000}
        result = sidecar.call("listCandidates", params)
        give_up = time.monotonic() + _COMPLETE_SECONDS
        while result["isIncomplete"]:
            assert time.monotonic() < give_up
            result = sidecar.call("listCandidates", params)
        found[query] = result
    for candidate in found[""]["candidates"]:
        session_id = candidate["sessionId"]
        answer = sidecar.answer(sidecar.request("prepare", requests.prepare(session_id)))
        if "result" in answer:
            context = answer["result"]["additionalContext"]
            found["prepare " + session_id] = (context["source"], context["content"])
        else:
            found["prepare " + session_id] = answer["error"]["data"]
    return found
