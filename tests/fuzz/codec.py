"""The codec, held against Python's own JSON and the rules of the envelope, written out again.

An input is the payload of a frame.
"""

import json
from typing import Any, NamedTuple, NoReturn

from fuzz.target import Target
from sessionref_protocol import codec
from sessionref_protocol.codec import MAX_NESTING, BadFrame
from sessionref_protocol.messages import Message, Notification, Request, Response

PARSE, INVALID, PARAMS = -32700, -32600, -32602
ABSENT: Any = object()
SURE_NESTING = 600
"""Whether more than that is followed outside of params depends on the interpreter."""


class Number(str):
    """A number as it is spelled."""


class Refused(NamedTuple):
    code: int
    id: object = None
    answers: object = None


class Told(NamedTuple):
    """A message: members that are there, values with keys in order and numbers as spelled."""

    kind: str
    members: dict[str, Any]


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def value_of(text: bytes) -> Any:
    """A JSON text; objects are tuples of pairs. Raises `ValueError` and `RecursionError`."""
    return json.loads(
        text.decode(),
        object_pairs_hook=tuple,
        parse_int=Number,
        parse_float=Number,
        parse_constant=_refuse,
    )


def depth_of(value: Any) -> int:
    inner = 0
    if isinstance(value, tuple):
        inner = max((depth_of(each) for _, each in value), default=0)
    elif isinstance(value, list):
        inner = max(map(depth_of, value), default=0)
    else:
        return 0
    return inner + 1


def is_integer(value: Any) -> bool:
    return isinstance(value, Number) and not set(value) & set(".eE")


def by_value(value: Any) -> Any:
    """The one spelling of an integer; anything else as it is."""
    return Number(int(value)) if is_integer(value) else value


def is_id(value: Any) -> bool:
    return is_integer(value) or (isinstance(value, str) and not isinstance(value, Number))


def is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number)


def expected(payload: bytes) -> Told | Refused:
    """What a payload is. Raises `RecursionError` where that is beyond this reader."""
    try:
        value = value_of(payload)
    except ValueError:
        return Refused(PARSE)
    if not isinstance(value, tuple):
        return Refused(INVALID)
    members = dict(value)
    id_, method = by_value(members.get("id", ABSENT)), members.get("method", ABSENT)
    result, error = members.get("result", ABSENT), members.get("error", ABSENT)
    known = None if id_ is ABSENT else id_
    is_answer = method is ABSENT and (result is not ABSENT or error is not ABSENT)
    if id_ is not ABSENT and id_ is not None and not is_id(id_):
        return Refused(INVALID)
    if method is not ABSENT and not is_text(method):
        return Refused(INVALID, known)
    if not is_text(members.get("jsonrpc")) or members["jsonrpc"] != "2.0":
        return Refused(INVALID, None, known) if is_answer else Refused(INVALID, known)
    if method is not ABSENT:
        return _expected_call(id_, method, members)
    if not is_answer:
        return Refused(INVALID, known, known)
    if id_ is ABSENT:
        return Refused(INVALID)
    if error is ABSENT:
        return Told("response", {"id": id_, "result": result})
    if result is not ABSENT or not _is_error(error):
        return Refused(INVALID, None, known)
    details = dict(error)
    kept = {name: details[name] for name in ("code", "message", "data") if name in details}
    kept["code"] = by_value(kept["code"])
    return Told("response", {"id": id_, "error": kept})


def _expected_call(id_: Any, method: str, members: dict[str, Any]) -> Told | Refused:
    params = members.get("params", ABSENT)
    if params is not ABSENT and depth_of(params) > MAX_NESTING:
        return Refused(PARSE)
    if id_ is None:
        return Refused(INVALID)
    if "result" in members or "error" in members:
        return Refused(INVALID, None if id_ is ABSENT else id_)
    is_object = isinstance(params, tuple)
    some = {"params": params} if is_object and params else {}
    if id_ is ABSENT:
        return Told("notification", {"method": method, **some})
    if not is_object and params is not ABSENT and params is not None:
        return Refused(PARAMS, id_)
    return Told("request", {"id": id_, "method": method, **some})


def _is_error(error: Any) -> bool:
    if not isinstance(error, tuple):
        return False
    details = dict(error)
    return is_integer(details.get("code")) and is_text(details.get("message"))


def found(payload: bytes) -> Told | Refused:
    try:
        return told(codec.decode_frame(payload))
    except BadFrame as bad:
        code = bad.error.code
        codec.encode_error(bad.id, bad.error).decode()
        return Refused(code, _spelled(bad.id), _spelled(bad.answers))


def told(message: Message) -> Told:
    match message:
        case Request():
            return Told("request", {"id": _spelled(message.id), **_called(message)})
        case Notification():
            return Told("notification", _called(message))
        case Response(error=None):
            assert message.result is not None
            result = value_of(bytes(message.result))
            return Told("response", {"id": _spelled(message.id), "result": result})
        case Response(error=error):
            assert error is not None
            details = {"code": Number(error.code), "message": error.message}
            if error.data is not None:
                details["data"] = value_of(bytes(error.data))
            return Told("response", {"id": _spelled(message.id), "error": details})


def _called(message: Request | Notification) -> dict[str, Any]:
    some = {} if message.params is None else {"params": value_of(bytes(message.params))}
    return {"method": message.method, **some}


def _spelled(id_: int | str | None) -> object:
    return Number(id_) if isinstance(id_, int) else id_


def check(data: bytes) -> None:
    try:
        wanted = expected(data)
        sure = data.count(b"[") + data.count(b"{") <= SURE_NESTING
    except RecursionError:
        wanted, sure = Refused(PARSE), False
    ours = found(data)
    assert ours == wanted or not sure
    if not isinstance(ours, Told):
        return
    spelled = codec.encode_message(codec.decode_frame(data))
    assert not {b"\n", b"\xe2\x80\xa8", b"\xe2\x80\xa9"} & {
        spelled[at : at + size] for size in (1, 3) for at in range(len(spelled))
    }
    assert found(spelled) == ours
    assert codec.encode_message(codec.decode_frame(spelled)) == spelled


TARGET = Target(
    "codec",
    check,
    (
        *(
            b'"jsonrpc":"2.0"',
            b'"id":1',
            b'"id":"a"',
            b'"id":null',
            b'"method":"x"',
            b'"params":{}',
        ),
        *(b'"result":', b'"error":{"code":1,"message":"m"}', b'"data":', b"{}", b"[]", b"null"),
        *(
            b"true",
            b"1.0",
            b"1e400",
            b"NaN",
            b"-0",
            b"\\ud83d",
            b"\\ude00",
            b"\\uffff",
            b"\xef\xbf\xbf",
        ),
        *(b"\xe2\x80\xa8", b"\xef\xbb\xbf", b'\\"', b"\\\\"),
    ),
)
