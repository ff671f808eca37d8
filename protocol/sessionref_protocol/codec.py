"""A frame's bytes to a message, and a message to a frame's bytes.

Knows the envelope of JSON-RPC 2.0 and the table of errors; knows no method, no ids in flight and
no framing. A frame that is wrong has one error, and the id to answer it with if that is known.
Source of the rules: the contract, section 6, rules 3 and 6.
"""

from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from .ecmascript import TooDeep, decode, decode_any, depth, encode, encode_compact
from .errors import ErrorKind, RpcError
from .messages import Id, Message, Notification, Request, Response, ResponseError
from .types import QUOTING, ErrorInfo, ErrorObject

MAX_NESTING: Final = 768
"""Deeper params are refused. Above the 512 levels that are promised for what we look at, with room
for all that stands around it; below what any interpreter's stack takes, so that a request that was
taken can't turn out too deep later."""


class BadFrame(Exception):  # noqa: N818 - the frame is bad, and it is what is raised
    """A frame that is no message. `error` is what to answer, with `id`, None where it has none.

    `answers` is the request of ours that the frame seems to answer. It may be set although `id` is
    not: what claims to be a response is refused without its id, since to the peer an answer with
    that id would be the answer to a request of its own.
    """

    def __init__(self, error: RpcError, id_: Id | None = None, answers: Id | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.id = id_
        self.answers = answers


_ABSENT: Final = Raw()
_VERBATIM: Final = (Raw, *QUOTING)
"""What may have white space between its tokens, which has to go."""
_OPENING: Final = ord("{")
_NULL: Final = ord("n")


class _NoObjectError(Exception):
    """Params that are not what they must be."""


class _Envelope(msgspec.Struct):
    """Any message, before it is known which."""

    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = _ABSENT
    result: Raw = _ABSENT
    error: Raw = _ABSENT


class _Error(msgspec.Struct):
    code: int
    message: str
    data: Raw = _ABSENT


def decode_frame(payload: bytes, max_nesting: int = MAX_NESTING) -> Message:
    """The message that `payload`, without its framing, holds. Raises `BadFrame` and nothing else.

    Params that are no object are refused; those of a notification count as absent, since nobody
    waits to be told.
    """
    try:
        envelope = _decode_envelope(payload)
    except TooDeep:
        raise _too_deep() from None
    except msgspec.DecodeError as error:
        raise BadFrame(RpcError(ErrorKind.PARSE, f"No valid JSON: {error}.")) from None
    if envelope.method is UNSET:
        return _response(envelope)
    if len(envelope.params) > 2 * max_nesting and _nests_deeper(envelope.params, max_nesting):
        raise _too_deep()
    id_ = envelope.id
    if id_ is None:
        raise _bad_envelope(_BAD_ID)
    if envelope.result is not _ABSENT or envelope.error is not _ABSENT:
        raise _bad_envelope(_BAD_KIND, id_)
    try:
        params = _members(envelope.params)
    except _NoObjectError:
        if id_ is UNSET:
            return Notification(envelope.method)
        refusal = RpcError(ErrorKind.INVALID_PARAMS, "`params` must be an object.", field="params")
        raise BadFrame(refusal, id_) from None
    if id_ is UNSET:
        return Notification(envelope.method, params)
    return Request(id_, envelope.method, params)


def _decode_envelope(payload: bytes) -> _Envelope:
    try:
        return decode(payload, _Envelope)
    except msgspec.ValidationError:
        return _examine_envelope(payload)


def _examine_envelope(payload: bytes) -> _Envelope:
    """An envelope with a member of a wrong type, or one that only a repetition set right."""
    text = decode(payload, Raw)  # a wrong type may hide that it is no JSON further on
    try:
        parts = decode(text, dict[str, Raw])
    except msgspec.ValidationError:
        raise _bad_envelope("A message is one JSON object; there are no batches.") from None
    looked_at = {
        name: decode_any(parts[name]) for name in ("jsonrpc", "id", "method") if name in parts
    }
    is_response = "method" not in parts and ("result" in parts or "error" in parts)
    id_, method = looked_at.get("id", UNSET), looked_at.get("method", UNSET)
    if isinstance(id_, bool) or not isinstance(id_, int | str | None | UnsetType):
        raise _bad_envelope(_BAD_ID)
    if not isinstance(method, str | UnsetType):
        raise _bad_envelope("`method` must be a string.", id_)
    if looked_at.get("jsonrpc") != "2.0":
        raise _bad_envelope('`jsonrpc` must be "2.0".', id_, is_response=is_response)
    others = {name: parts.get(name, _ABSENT) for name in ("params", "result", "error")}
    return _Envelope("2.0", id_, method, **others)


_BAD_ID: Final = "`id` must be a string or an integer."
_BAD_KIND: Final = "A message has exactly one of `method`, `result` and `error`."


def _bad_envelope(
    reason: str, id_: Id | UnsetType | None = None, *, is_response: bool = False
) -> BadFrame:
    error = RpcError(ErrorKind.INVALID_REQUEST, reason)
    known = None if id_ is UNSET else id_
    return BadFrame(error, answers=known) if is_response else BadFrame(error, known)


def _too_deep() -> BadFrame:
    return BadFrame(RpcError(ErrorKind.PARSE, "The JSON is nested too deep."))


def _nests_deeper(params: Raw, limit: int) -> bool:
    text = bytes(params)  # the cheap bounds first: this is on the path of every request
    return text.count(b"[") + text.count(b"{") > limit and depth(text) > limit


def _members(params: Raw) -> Raw | None:
    """An object that has members; None for null, `{}` and absent params, which are alike.

    Raises `_NoObjectError` for anything else.
    """
    if params is _ABSENT:
        return None
    text = memoryview(params)
    if text[0] == _OPENING:
        is_empty = text[1] in b"} \t\n\r" and not bytes(params)[1:-1].strip()
        return None if is_empty else params
    if text[0] == _NULL:
        return None
    raise _NoObjectError


def _response(envelope: _Envelope) -> Response:
    id_ = envelope.id
    if envelope.result is _ABSENT and envelope.error is _ABSENT:
        bad = _bad_envelope(_BAD_KIND, id_)
        raise BadFrame(bad.error, bad.id, answers=bad.id)
    if id_ is UNSET:
        raise _bad_envelope("A response has an `id`.")
    if envelope.error is _ABSENT:
        return Response(id_, result=envelope.result)
    if envelope.result is not _ABSENT:
        raise _bad_envelope(_BAD_KIND, id_, is_response=True)
    try:
        error = decode(envelope.error, _Error)
    except msgspec.DecodeError:
        reason = "`error` must have an integer `code` and a string `message`."
        raise _bad_envelope(reason, id_, is_response=True) from None
    details = None if error.data is _ABSENT else error.data
    return Response(id_, error=ResponseError(error.code, error.message, details))


class _Outgoing(msgspec.Struct, omit_defaults=True, kw_only=True):
    """Any message of ours: `jsonrpc` and `id` first, whatever follows."""

    jsonrpc: Literal["2.0"]
    id: Id | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: object = UNSET
    result: object = UNSET
    error: object = UNSET


def encode_request(id_: Id, method: str, params: object) -> bytes:
    """The payload of a request. Params that are None are left out."""
    return encode(
        _Outgoing(jsonrpc="2.0", id=id_, method=method, params=UNSET if params is None else params)
    )


def encode_notification(method: str, params: object) -> bytes:
    """The payload of a notification. Params that are None are left out."""
    return encode(
        _Outgoing(jsonrpc="2.0", method=method, params=UNSET if params is None else params)
    )


def encode_result(id_: Id, result: object) -> bytes:
    """The payload of the response that gives a request its result; None is null."""
    write = encode if isinstance(result, _VERBATIM) else encode_compact
    return write(_Outgoing(jsonrpc="2.0", id=id_, result=result))


def encode_error(id_: Id | None, error: RpcError | ErrorObject) -> bytes:
    """The payload of the response that refuses a request, or (id None) something that is none."""
    shown = error_object(error) if isinstance(error, RpcError) else error
    return encode_compact(_Outgoing(jsonrpc="2.0", id=id_, error=shown))


def encode_message(message: Message) -> bytes:
    """The payload of any message."""
    match message:
        case Request():
            return encode_request(message.id, message.method, message.params)
        case Notification():
            return encode_notification(message.method, message.params)
        case Response(error=None):
            return encode(_Outgoing(jsonrpc="2.0", id=message.id, result=message.result))
        case Response():
            return encode(_Outgoing(jsonrpc="2.0", id=message.id, error=message.error))


def error_object(error: RpcError) -> ErrorObject:
    """A failure as the wire shows it, in a response or inside a result."""
    return ErrorObject(
        code=error.code,
        message=error.message,
        data=ErrorInfo(
            retryable=error.retryable,
            code=error.spec.name,
            cause=error.cause,
            field=error.field,
            session_id=error.session_id,
            message_index=error.message_index,
            input_index=error.input_index,
            start=error.start,
            end=error.end,
        ),
    )
