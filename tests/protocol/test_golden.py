"""Golden frames: each file is one frame that we read and write, checked both ways."""

from pathlib import Path

import pytest
from msgspec import Raw

from sessionref_protocol import codec
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.framing import LineFraming
from sessionref_protocol.messages import (
    Id,
    Message,
    Notification,
    Request,
    Response,
    ResponseError,
)

FOLDER = Path(__file__).parents[1] / "golden"

MESSAGES: dict[str, Message] = {
    "a-request-keeps-the-spelling-of-its-params": Request(
        1, "prepare", Raw(rb'{"b":1.0,"a":[1e400,12345678901234567890123],"s":"\u0061\/"}')
    ),
    "a-request-may-have-no-params": Request(0, "status"),
    "a-request-may-have-any-string-for-an-id": Request("\ud83d\x00é\u2028", "status"),
    "a-request-may-have-an-integer-of-any-size-for-an-id": Request(
        -123456789012345678901234567890, "status"
    ),
    "a-lone-surrogate-stays-what-it-is": Request(1, "parseText", Raw(rb'{"text":"\ud83d"}')),
    "a-notification-has-no-id": Notification("$/cancelRequest", Raw(b'{"id":"1"}')),
    "a-notification-may-have-no-params": Notification("exit"),
    "a-result-may-be-null": Response(1, result=Raw(b"null")),
    "a-result-is-not-looked-into": Response("a", result=Raw(rb'[{"text":"\udc00"},1.50]')),
    "an-error-may-carry-anything": Response(1, error=ResponseError(-1, "no", Raw(b"[1.0]"))),
    "an-error-may-have-no-data-and-no-id": Response(None, error=ResponseError(-32700, "no")),
}

ERRORS: dict[str, tuple[Id | None, RpcError]] = {
    "a-cancelled-request-is-not-to-be-retried": (1, RpcError(ErrorKind.CANCELLED, "Cancelled.")),
    "a-passed-deadline-may-be-retried": (1, RpcError(ErrorKind.TIMED_OUT, "Too late.")),
    "a-changed-source-is-named-and-may-be-retried": (
        1,
        RpcError(
            ErrorKind.READ_FAILED,
            "It changed.",
            cause="changed",
            session_id="\ud83d",
            message_index=0,
            input_index=2,
        ),
    ),
    "a-corrupt-source-is-not-to-be-retried": (
        1,
        RpcError(ErrorKind.READ_FAILED, "Corrupt.", cause="corrupt"),
    ),
    "a-malformed-mention-says-where-it-stands": (
        1,
        RpcError(ErrorKind.INVALID_REFERENCE, "Malformed.", start=0, end=15),
    ),
    "bad-params-name-the-field-and-have-no-name-of-their-own": (
        1,
        RpcError(ErrorKind.INVALID_PARAMS, "Bad.", field="agent.id"),
    ),
    "what-can-not-be-read-is-refused-without-an-id": (None, RpcError(ErrorKind.PARSE, "No JSON.")),
    "a-busy-sidecar-says-so": ("b", RpcError(ErrorKind.BUSY, "Busy.")),
}


def payload_of(name: str) -> bytes:
    framing = LineFraming(limit=10_000)
    content = (FOLDER / f"{name}.json").read_bytes()
    (payload,) = framing.feed(content)
    assert isinstance(payload, bytes)
    assert LineFraming.frame(payload) == content
    return payload


@pytest.mark.parametrize("name", MESSAGES)
def test_a_golden_message_is_read_and_written(name: str) -> None:
    payload = payload_of(name)
    assert codec.decode_frame(payload) == MESSAGES[name]
    assert codec.encode_message(MESSAGES[name]) == payload


@pytest.mark.parametrize("name", ERRORS)
def test_a_golden_error_is_written_and_read(name: str) -> None:
    payload = payload_of(name)
    id_, error = ERRORS[name]
    assert codec.encode_error(id_, error) == payload
    response = codec.decode_frame(payload)
    assert isinstance(response, Response)
    assert response.id == id_
    assert response.error is not None
    assert (response.error.code, response.error.message) == (error.code, error.message)
    assert codec.encode_message(response) == payload


def test_no_golden_frame_is_unused() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {
        f"{name}.json" for name in (*MESSAGES, *ERRORS)
    }
