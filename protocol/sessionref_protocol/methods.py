"""METHODS: every method once, with its direction, its types and what it is for.

The dispatcher asks this table how to read params; the schemas, the documentation and a test that
every request has a handler are made from it. Nothing here knows how an answer is made.
"""

import re
from typing import Final, Literal, NamedTuple

import msgspec

from . import ecmascript, types
from .display import excerpt
from .errors import ErrorKind, RpcError


class Method(NamedTuple):
    """One row: what travels which way, and why."""

    name: str
    direction: Literal["host-to-sidecar", "sidecar-to-host", "either"]
    kind: Literal["request", "notification"]
    params: type[msgspec.Struct]
    result: type[msgspec.Struct] | None
    """None for a notification, and for a request whose result is null."""
    doc: str


def _request(
    name: str, params: type[msgspec.Struct], result: type[msgspec.Struct] | None, doc: str
) -> Method:
    return Method(name, "host-to-sidecar", "request", params, result, doc)


_ALL: Final = (
    _request(
        "initialize",
        types.InitializeParams,
        types.InitializeResult,
        "Agree on the protocol version and set ceilings. Optional on the line framing.",
    ),
    _request(
        "preStep",
        types.PreStepParams,
        types.PreStepResult,
        "Rewrite the mentions of the next step's messages and insert the snapshots.",
    ),
    _request(
        "listCandidates",
        types.ListCandidatesParams,
        types.ListCandidatesResult,
        "List the sessions that could be referred to, best first.",
    ),
    _request(
        "prepare",
        types.PrepareParams,
        types.PrepareResult,
        "Read the referenced sessions and make one context message of them.",
    ),
    _request(
        "preview",
        types.PreviewParams,
        types.PreviewResult,
        "Say what `prepare` would keep, drop and answer, without a message or a word of a session.",
    ),
    _request(
        "readSnapshot",
        types.ReadSnapshotParams,
        types.ReadSnapshotResult,
        "Read what could be quoted of one session, in pages, to show it to people.",
    ),
    _request(
        "describeTranscript",
        types.DescribeTranscriptParams,
        types.DescribeTranscriptResult,
        "Tell which message each recall belongs to, and one line to show for each source.",
    ),
    _request(
        "parseText",
        types.ParseTextParams,
        types.ParseTextResult,
        "Find the mentions in a text and make it readable.",
    ),
    _request(
        "formatMention",
        types.FormatMentionParams,
        types.FormatMentionResult,
        "Write the mention of a session.",
    ),
    _request(
        "status",
        types.EmptyParams,
        types.StatusResult,
        "Say how the process and its roots are.",
    ),
    _request(
        "shutdown",
        types.EmptyParams,
        None,
        "Settle what is in flight and refuse every later request.",
    ),
    Method(
        "exit",
        "host-to-sidecar",
        "notification",
        types.EmptyParams,
        None,
        "End the process: with 0 after a shutdown, else with 1.",
    ),
    Method(
        "$/cancelRequest",
        "either",
        "notification",
        types.CancelRequestParams,
        None,
        "Cancel one request by its id.",
    ),
    Method(
        "$/cancel",
        "host-to-sidecar",
        "notification",
        types.CancelParams,
        None,
        "Cancel every request in flight that carries this `cancellationToken`.",
    ),
    Method(
        "sessions/changed",
        "host-to-sidecar",
        "notification",
        types.SessionsChangedParams,
        None,
        "Tell what the live sessions are now, so that nothing is asked until the next time.",
    ),
    Method(
        "host/listLiveSessions",
        "sidecar-to-host",
        "request",
        types.EmptyParams,
        types.ListLiveSessionsResult,
        "Ask for the sessions in memory, of a host that declared `liveSessions`.",
    ),
    Method(
        "host/readLiveSession",
        "sidecar-to-host",
        "request",
        types.ReadLiveSessionParams,
        types.ReadLiveSessionResult,
        "Ask for a page of one; null where the host has no such session, then the disk is asked.",
    ),
    Method(
        "$/progress",
        "sidecar-to-host",
        "notification",
        types.ProgressParams,
        None,
        "Say how far a request with a `workDoneToken` is.",
    ),
)

METHODS: Final[dict[str, Method]] = {method.name: method for method in _ALL}


_QUOTED_CHARACTERS: Final = 120
"""How much of what the peer sent an error quotes at most, made safe to show."""

_PLACE = re.compile(r" - at `(?P<place>[^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(?P<field>[^`]*)`")


def decode_params(method: Method, params: msgspec.Raw | None) -> msgspec.Struct:
    """The typed params of a request.

    Raises `RpcError`: -32010 for a bad value in `config`, the candidate error for a bad `limit`,
    else -32602; `data.field` names the place, as a path such as `agent.id`.
    """
    try:
        decoded: msgspec.Struct = ecmascript.decode(
            b"{}" if params is None else params, method.params
        )
        return decoded
    except msgspec.ValidationError as error:
        raise _refusal(str(error)) from None
    except msgspec.DecodeError as error:
        raise RpcError(ErrorKind.PARSE, f"The params are not readable JSON: {error}.") from None


def _refusal(message: str) -> RpcError:
    place = _PLACE.search(message)
    path = place["place"].removeprefix("$").removeprefix(".") if place else ""
    problem = message[: place.start()] if place else message
    if missing := _MISSING.match(message):
        path = f"{path}.{missing['field']}" if path else missing["field"]
        problem = "missing"
    top = re.match(r"\w*", path)
    match top[0] if top else "":
        case "config":
            kind = ErrorKind.INVALID_CONFIG
        case "limit":
            kind = ErrorKind.INVALID_LIMIT
        case _:
            kind = ErrorKind.INVALID_PARAMS
    shown = excerpt(problem, _QUOTED_CHARACTERS)
    return RpcError(kind, f"Bad `{path or 'params'}`: {shown}.", field=path or None)
