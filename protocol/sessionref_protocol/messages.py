"""What travels on the wire, as values: a closed union of three messages.

`Raw` members are JSON text that nobody has looked into yet; whoever knows its type decodes it.
Nothing here knows bytes, framing or methods. Source of the rule: JSON-RPC 2.0; the contract,
section 6.
"""

import msgspec

Id = int | str
"""Compared by type and value: 1 is not "1". Null, floats and booleans are no ids."""


class Request(msgspec.Struct, frozen=True):
    """Asks for exactly one response. `params` is an object that has members, or None."""

    id: Id
    method: str
    params: msgspec.Raw | None = None


class Notification(msgspec.Struct, frozen=True):
    """Asks for nothing and is never answered. `params` as in `Request`."""

    method: str
    params: msgspec.Raw | None = None


class ResponseError(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request failed, as the peer says it."""

    code: int
    message: str
    data: msgspec.Raw | None = None


class Response(msgspec.Struct, frozen=True):
    """Answers a request: exactly one of `result` and `error` is set; a null result is `Raw` too.

    `id` is None where the peer could not tell what it refuses.
    """

    id: Id | None
    result: msgspec.Raw | None = None
    error: ResponseError | None = None


Message = Request | Notification | Response
