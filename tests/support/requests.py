"""Params of common requests, and the lines of raw ones."""

from typing import Any

AGENT = {"id": "agent-under-test"}
BIG_ID = "big"
"""The session whose reading takes a while, in the root of the `big_root` fixture."""


def prepare(*session_ids: str, **more: Any) -> dict[str, Any]:
    """Params of a `prepare` of some sessions."""
    references = [{"sessionId": session_id} for session_id in session_ids]
    return {"agent": AGENT, "content": [], "references": references, **more}


def person(text: str, **more: Any) -> dict[str, Any]:
    """A direct message."""
    return {
        "id": "m1",
        "role": "user",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": text}],
        **more,
    }


def pre_step(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Params of a `preStep` that enters with some messages."""
    decision = {"kind": "enter", "messages": list(messages)}
    return {"agent": AGENT, "decision": decision, **more}


def line(method: str, params: str | None = None, request_id: str | None = "1") -> bytes:
    """A request as text: params and id are JSON as it is to be sent; no id makes a notification."""
    members = ['"jsonrpc":"2.0"']
    if request_id is not None:
        members.append(f'"id":{request_id}')
    members.append(f'"method":"{method}"')
    if params is not None:
        members.append(f'"params":{params}')
    return ("{" + ",".join(members) + "}\n").encode()
