"""A frame is a message, or it is refused with the right code and the right id."""

import json

import msgspec
import pytest
from ecmascript_texts import damaged, json_texts, object_texts, strings
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sessionref_protocol import codec
from sessionref_protocol.codec import BadFrame
from sessionref_protocol.errors import ErrorKind
from sessionref_protocol.messages import Id, Message, Notification, Request, Response
from sessionref_protocol.methods import METHODS
from sessionref_protocol.types import QUOTING

PARSE, INVALID, PARAMS = ErrorKind.PARSE, ErrorKind.INVALID_REQUEST, ErrorKind.INVALID_PARAMS


def refused(payload: bytes) -> BadFrame:
    with pytest.raises(BadFrame) as caught:
        codec.decode_frame(payload)
    return caught.value


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[1,",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"x"}x',
        b'{"jsonrpc":"2.0","id":1,"method":"x",}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":-Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\n"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","unknown":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","unknown":"\xed\xa0\xbd","a":"\\ud83d"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xc0\xaf"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","par\xffams":{}}',
        b'{"jsonrpc":"2.0","id":null,"method":7,"params":[01]}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"x"}',
        b'{"jsonrpc":"2.0","id":1,"method":"x"}{"jsonrpc":"2.0","id":2,"method":"x"}',
    ],
)
def test_what_is_no_utf8_or_no_json_has_no_id(payload: bytes) -> None:
    bad = refused(payload)
    assert (bad.error.kind, bad.id, bad.answers) == (PARSE, None, None)


@pytest.mark.parametrize(
    ("payload", "id_"),
    [
        (b"1", None),
        (b'"text"', None),
        (b"null", None),
        (b"[]", None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', None),
        (b"{}", None),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":1e2,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}', None),
        (b'{"id":1,"method":"x"}', 1),
        (b'{"jsonrpc":"1.0","id":"a","method":"x"}', "a"),
        (b'{"jsonrpc":2.0,"id":1,"method":"x"}', 1),
        (b'{"jsonrpc":null,"id":1,"method":"x"}', 1),
        (b'{"jsonrpc":"2.0","id":1}', 1),
        (b'{"jsonrpc":"2.0","id":1,"params":{}}', 1),
        (b'{"jsonrpc":"2.0","id":"\\ud83d","method":7}', "\ud83d"),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', 1),
        (b'{"jsonrpc":"2.0","method":7}', None),
        (b'{"method":"x"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","result":1}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","error":{"code":1,"message":""}}', 1),
        (b'{"jsonrpc":"2.0","method":"x","result":1}', None),
    ],
)
def test_a_bad_envelope_keeps_an_id_that_is_one(payload: bytes, id_: Id | None) -> None:
    bad = refused(payload)
    assert (bad.error.kind, bad.id) == (INVALID, id_)
    assert type(bad.id) is type(id_)


@pytest.mark.parametrize(
    ("payload", "answers"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}', 1),
        (b'{"jsonrpc":"1.0","id":1,"result":1}', 1),
        (b'{"jsonrpc":"2.0","id":"a","error":7}', "a"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}', 1),
        (b'{"jsonrpc":"2.0","id":1,"error":null}', 1),
        (b'{"jsonrpc":"2.0","id":1.5,"result":1}', None),
        (b'{"jsonrpc":"2.0","result":1}', None),
    ],
)
def test_a_bad_response_is_refused_without_its_id_which_names_a_request_of_ours(
    payload: bytes, answers: Id | None
) -> None:
    bad = refused(payload)
    assert (bad.error.kind, bad.id, bad.answers) == (INVALID, None, answers)


def test_a_message_that_is_neither_keeps_its_id_and_may_have_meant_ours() -> None:
    bad = refused(b'{"jsonrpc":"2.0","id":3}')
    assert (bad.id, bad.answers) == (3, 3)


def test_a_batch_too_deep_is_too_deep_first() -> None:
    assert refused(b"[" * 100_000).error.kind is PARSE


@pytest.mark.parametrize("params", [b"", b'"params":null,', b'"params":{},', b'"params": { \n} ,'])
def test_no_params_are_alike(params: bytes) -> None:
    assert codec.decode_frame(b"{" + params + b'"jsonrpc":"2.0","id":1,"method":"x"}') == Request(
        1, "x"
    )
    assert codec.decode_frame(b"{" + params + b'"jsonrpc":"2.0","method":"x"}') == Notification("x")


@pytest.mark.parametrize("params", [b"[]", b"[1]", b"1", b'"x"', b"true", b"false", b"-1"])
def test_params_that_are_no_object_are_refused_with_the_id(params: bytes) -> None:
    bad = refused(b'{"jsonrpc":"2.0","id":"i","method":"x","params":' + params + b"}")
    assert (bad.error.kind, bad.id) == (PARAMS, "i")
    heard = codec.decode_frame(b'{"jsonrpc":"2.0","method":"x","params":' + params + b"}")
    assert heard == Notification("x")


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b'{"jsonrpc":"2.0","id":null,"id":2,"method":7,"method":"x"}', Request(2, "x")),
        (b'{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"method":"x"}', Request(1, "x")),
        (b'{"jsonrpc":"2\\u002e0","i\\u0064":1,"method":"\\u0078"}', Request(1, "x")),
        (b' {"method":"x","unknown":[{}],"id":1,"jsonrpc":"2.0"}\r', Request(1, "x")),
        (b'{"jsonrpc":"2.0","id":null,"result":1}', Response(None, result=Raw(b"1"))),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"\\ud83d","params":{"a" : "\\uD83D"}}',
            Request(1, "\ud83d", Raw(b'{"a" : "\\uD83D"}')),
        ),
    ],
)
def test_odd_frames_that_are_messages_all_the_same(payload: bytes, message: Message) -> None:
    assert codec.decode_frame(payload) == message


def nested(levels: int) -> bytes:
    opening = b'{"":' * (levels - 1)
    params = opening + b"[]" + b"}" * (levels - 1)
    return b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + params + b"}"


def test_nesting_is_taken_up_to_a_fixed_depth_and_refused_beyond() -> None:
    assert isinstance(codec.decode_frame(nested(512)), Request)
    assert isinstance(codec.decode_frame(nested(codec.MAX_NESTING)), Request)
    for levels in (codec.MAX_NESTING + 1, 5_000, 1_000_000):
        bad = refused(nested(levels))
        assert (bad.error.kind, bad.id) == (PARSE, None)
    many = (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[' + b'[{"[":"]"}],' * 2000 + b"1]}}"
    )
    assert isinstance(codec.decode_frame(many), Request)


ids = st.one_of(st.integers(), strings)
members = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"])
spelled = st.one_of(
    json_texts.map(bytes.decode),
    st.sampled_from(['"2.0"', "1", '"a"', "null", "[]", "{}", '{"code":1,"message":"m"}']),
)
envelopes = st.lists(st.tuples(members, spelled), max_size=7).map(
    lambda pairs: ("{" + ",".join(f'"{k}":{v}' for k, v in pairs) + "}").encode()
)


@given(st.one_of(json_texts, object_texts, envelopes, damaged(envelopes), st.binary()))
def test_anything_is_a_message_or_a_bad_frame(payload: bytes) -> None:
    try:
        message = codec.decode_frame(payload)
    except BadFrame as bad:
        answer = json.loads(codec.encode_error(bad.id, bad.error))
        assert answer["error"]["code"] in (-32700, -32600, -32602)
    else:
        assert codec.decode_frame(codec.encode_message(message)) is not None


@given(ids, strings, st.one_of(st.none(), object_texts))
def test_requests_and_notifications_come_back(id_: Id, method: str, params: bytes | None) -> None:
    raw = None if params is None else Raw(params)
    payload = codec.encode_message(Request(id_, method, raw))
    assert b"\n" not in payload
    back = codec.decode_frame(payload)
    assert isinstance(back, Request)
    assert (back.id, back.method) == (id_, method)
    assert type(back.id) is type(id_)
    wanted = {} if params is None else json.loads(params)
    assert (json.loads(bytes(back.params)) if back.params is not None else {}) == wanted
    heard = codec.decode_frame(codec.encode_message(Notification(method, raw)))
    assert heard == Notification(method, back.params)


@given(ids, json_texts)
def test_results_come_back(id_: Id, text: bytes) -> None:
    payload = codec.encode_result(id_, Raw(text))
    back = codec.decode_frame(payload)
    assert isinstance(back, Response)
    assert back.id == id_
    assert back.result is not None
    assert json.loads(bytes(back.result)) == json.loads(text)
    assert codec.encode_message(back) == payload


def test_every_result_that_may_hold_text_of_the_host_is_made_compact() -> None:
    quoting = {
        method.result
        for method in METHODS.values()
        if method.direction != "sidecar-to-host" and holds_raw(method.result)
    }
    assert quoting == set(QUOTING)


def holds_raw(type_: object) -> bool:
    """Whether a value of the type may hold JSON that was not looked into."""
    match type_:
        case msgspec.inspect.RawType():
            return True
        case msgspec.inspect.Metadata(type=inner):
            return holds_raw(inner)
        case msgspec.inspect.UnionType(types=types):
            return any(map(holds_raw, types))
        case msgspec.inspect.ListType(item_type=item):
            return holds_raw(item)
        case msgspec.inspect.DictType(value_type=value):
            return holds_raw(value)
        case msgspec.inspect.StructType(fields=fields):
            return any(holds_raw(field.type) for field in fields)
        case type():
            return holds_raw(msgspec.inspect.type_info(type_))
    return False
