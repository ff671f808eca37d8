"""One conversation's state, sans-IO: bytes in, messages out; answers in, frames out.

Owns the ids in flight both ways and the lifecycle. It promises that every request that it returns
can be answered exactly once, and that what must be refused comes with its answer ready to write.
It starts nothing, waits for nothing and knows no method's params. Source of the rules: the
contract, section 6, rules 1, 4 and 5, and the table of methods.
"""

import enum
import logging
from typing import Final, Literal

import msgspec

from . import codec
from .errors import ErrorKind, RpcError
from .framing import Frame, Framing, Mode, Oversized
from .messages import Id, Message, Notification, Request, Response, ResponseError
from .types import ErrorObject

_log: Final = logging.getLogger(__name__)


class Refusal(msgspec.Struct, frozen=True):
    """Something that the peer sent is answered already: write this frame."""

    frame: bytes


Received = Request | Notification | Response | Refusal


class _Phase(enum.Enum):
    """How far a conversation is, as far as it decides which requests are in time."""

    FRESH = enum.auto()
    """No request was accepted yet."""
    OPEN = enum.auto()
    SHUT_DOWN = enum.auto()
    """`shutdown` was accepted."""


class Connection:
    """Our end of a conversation. Not thread-safe: one owner feeds it and asks it.

    `serving` is False on the host's side, where requests come in without `initialize`.
    """

    def __init__(
        self,
        mode: Literal["auto"] | Mode = "auto",
        *,
        line_limit: int,
        in_flight_limit: int,
        nesting_limit: int = codec.MAX_NESTING,
        serving: bool = True,
    ) -> None:
        self._framing = Framing(mode, line_limit)
        self._in_flight_limit = in_flight_limit
        self._nesting_limit = nesting_limit
        self._serving = serving
        self._phase = _Phase.FRESH
        self._theirs: set[Id] = set()
        """Requests of the peer that have no answer yet."""
        self._ours: set[Id] = set()
        """Requests of ours whose answer somebody waits for."""
        self._calls = 0
        self._initialize_id: Id | None = None

    @property
    def mode(self) -> Mode | None:
        """The framing in use, None as long as the peer has not shown one."""
        return self._framing.mode

    @property
    def in_flight(self) -> int:
        """How many requests of the peer have no answer yet."""
        return len(self._theirs)

    @property
    def shutdown_received(self) -> bool:
        """Whether `shutdown` was accepted: every further request is refused."""
        return self._phase is _Phase.SHUT_DOWN

    # What comes in

    def feed(self, chunk: bytes) -> list[Received]:
        """What these bytes complete, in order. Every `Request` in it counts as in flight."""
        return self._receive(self._framing.feed(chunk))

    def feed_eof(self) -> list[Received]:
        """What the end of the input completes: a last line without its end."""
        return self._receive(self._framing.end())

    def _receive(self, frames: list[Frame]) -> list[Received]:
        received: list[Received] = []
        for frame in frames:
            if isinstance(frame, bytes):
                try:
                    message = codec.decode_frame(frame, self._nesting_limit)
                except codec.BadFrame as bad:
                    received += self._refusals_of_bad(bad)
                    continue
                admitted = self._admit(message)
                if admitted is not None:
                    received.append(admitted)
            elif isinstance(frame, Oversized):
                reason = f"A frame has more than {frame.limit} bytes."
                received.append(self._refuse(None, reason))
            else:
                received.append(self._refuse(None, f"{frame.reason}."))
        return received

    def _admit(self, message: Message) -> Received | None:
        """What becomes of a message that is well-formed; None drops it."""
        match message:
            case Request():
                refusal = self._refusal_of(message)
                if refusal is None:
                    self._theirs.add(message.id)
                return refusal or message
            case Notification():
                return None if self._is_early(message.method, "exit") else message
            case Response(id=id_):
                if id_ is None or id_ not in self._ours:
                    return None
                self._ours.discard(id_)
                return message

    def _refusal_of(self, request: Request) -> Refusal | None:
        """Why this request can't be taken; None, and the lifecycle goes on, if it can."""
        if request.id in self._theirs:
            return self._refuse(request.id, "A request with this id is in flight.")
        if self._phase is _Phase.SHUT_DOWN:
            return self._refuse(request.id, "The conversation was shut down.")
        if self._is_early(request.method, "initialize"):
            return self._refuse(request.id, "The first request must be `initialize`.")
        if request.method == "initialize":
            if self._phase is not _Phase.FRESH:
                return self._refuse(request.id, "`initialize` comes first, and once.")
            self._initialize_id = request.id
        if len(self._theirs) >= self._in_flight_limit and request.method != "shutdown":
            return self._refusal(
                request.id, RpcError(ErrorKind.BUSY, "Too many requests are in flight.")
            )
        self._phase = _Phase.SHUT_DOWN if request.method == "shutdown" else _Phase.OPEN
        return None

    def _refusals_of_bad(self, bad: codec.BadFrame) -> list[Received]:
        """The answer to a malformed frame; what is wrong with its id or its time comes first.

        Whoever waits for the response that it may be need not wait any longer.
        """
        received: list[Received] = [self._refusal_of_bad(bad)]
        if bad.answers is not None and bad.answers in self._ours:
            self._ours.discard(bad.answers)
            error = ResponseError(bad.error.code, "The response was malformed.")
            received.append(Response(bad.answers, error=error))
        return received

    def _refusal_of_bad(self, bad: codec.BadFrame) -> Refusal:
        if bad.error.kind is ErrorKind.INVALID_PARAMS:
            if bad.id in self._theirs:
                return self._refuse(bad.id, "A request with this id is in flight.")
            if self._phase is _Phase.SHUT_DOWN:
                return self._refuse(bad.id, "The conversation was shut down.")
        return self._refusal(bad.id, bad.error)

    def _is_early(self, method: str, allowed: str) -> bool:
        """Language servers hear nothing but `allowed` before they are initialized."""
        return (
            self._serving
            and self._phase is _Phase.FRESH
            and self.mode == "content-length"
            and method != allowed
        )

    def _refuse(self, id_: Id | None, reason: str) -> Refusal:
        return self._refusal(id_, RpcError(ErrorKind.INVALID_REQUEST, reason))

    def _refusal(self, id_: Id | None, error: RpcError) -> Refusal:
        return Refusal(self._framing.frame(codec.encode_error(id_, error)))

    # What goes out

    def settle(self, id_: Id, result: object) -> bytes | None:
        """The frame that answers a request of the peer; None if it was answered before.

        A result that can't be encoded is our fault: it is logged, and the request fails.
        """
        if id_ not in self._theirs:
            return None
        try:
            payload = codec.encode_result(id_, result)
        except Exception:
            _log.exception("A result could not be encoded")
            return self.fail(
                id_, RpcError(ErrorKind.INTERNAL, "The result could not be written as JSON.")
            )
        self._close(id_)
        return self._framing.frame(payload)

    def fail(self, id_: Id, error: RpcError | ErrorObject) -> bytes | None:
        """The frame that answers a request of the peer; None if it was answered before."""
        if id_ not in self._theirs:
            return None
        if self._close(id_) and self._phase is _Phase.OPEN and not self._theirs:
            self._phase = _Phase.FRESH  # nothing was agreed on, so it may be tried again
        return self._framing.frame(codec.encode_error(id_, error))

    def _close(self, id_: Id) -> bool:
        """A request has its answer. Says whether it was `initialize`."""
        self._theirs.discard(id_)
        was_initialize = id_ == self._initialize_id
        if was_initialize:
            self._initialize_id = None
        return was_initialize

    def call(self, method: str, params: object) -> tuple[Id, bytes]:
        """A request of ours: its id, and the frame to write. Its response will be returned."""
        id_ = self._calls + 1
        payload = codec.encode_request(id_, method, params)
        self._calls = id_
        self._ours.add(id_)
        return id_, self._framing.frame(payload)

    def forget(self, id_: Id) -> None:
        """Nobody waits for the response to this request of ours any more."""
        self._ours.discard(id_)

    def notify(self, method: str, params: object) -> bytes:
        """The frame of a notification."""
        return self._framing.frame(codec.encode_notification(method, params))
