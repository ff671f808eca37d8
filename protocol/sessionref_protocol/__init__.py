"""The wire of sessionref, sans-IO: bytes in, values out. A host in Python can build on it.

`Connection` is one end of a conversation; what it gives and takes are the messages, the errors
and the mentions named here. Params and results are in `types`, the methods in `methods`. This
package imports msgspec and the standard library only, and knows nothing of sessions on disk.
"""

from .connection import Connection, Received, Refusal
from .errors import Cause, ErrorKind, RpcError
from .mention import (
    MalformedMention,
    Mention,
    Parsed,
    decode_uri,
    encode_uri,
    format_mention,
    parse,
)
from .messages import Id, Message, Notification, Request, Response, ResponseError

__all__ = [
    "Cause",
    "Connection",
    "ErrorKind",
    "Id",
    "MalformedMention",
    "Mention",
    "Message",
    "Notification",
    "Parsed",
    "Received",
    "Refusal",
    "Request",
    "Response",
    "ResponseError",
    "RpcError",
    "decode_uri",
    "encode_uri",
    "format_mention",
    "parse",
]
