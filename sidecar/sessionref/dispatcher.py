"""Pumps one connection: a task and a cancel scope for each request, and one answer to each.

The rules it keeps (contract, section 6): a request is registered the moment its line is read;
cancels are applied inline, never queued behind work; plain handlers are answered on the spot,
the others run in a cancel scope of their own; nothing that a handler does can leave a request
without its one answer. It knows no session and no file; handlers know no ids.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import anyio
import anyio.abc
import msgspec

from sessionref_protocol.codec import error_object
from sessionref_protocol.connection import Connection, Received, Refusal
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.framing import Mode
from sessionref_protocol.messages import Id, Notification, Request, Response
from sessionref_protocol.methods import METHODS, decode_params
from sessionref_protocol.types import (
    CancelParams,
    CancelRequestParams,
    ErrorObject,
    ProgressParams,
    Token,
)

from .config import Limits
from .stdio import Outlet

_log: Final = logging.getLogger(__name__)

_SETTLE_SECONDS: Final = 1.0
"""How long cancelled requests get to come back before the process leaves without them."""
_FLUSH_SECONDS: Final = 2.0
"""How long a host that told us to stop gets to take its last answers."""


_ENDED: Final = {
    kind: error_object(RpcError(kind, reason))
    for kind, reason in (
        (ErrorKind.CANCELLED, "The request was cancelled."),
        (ErrorKind.TIMED_OUT, "The sidecar is shutting down."),
    )
}
"""Why a request was cancelled, as the peer is told."""


class NoAnswer(Exception):  # noqa: N818 - it is what is missing
    """The peer did not answer a request of ours. The text is for people."""


class Call:
    """What a handler may know of the request that it answers, besides the params."""

    __slots__ = ("_report", "received_at")

    def __init__(self, received_at: float, report: Callable[[ProgressParams], None]) -> None:
        self.received_at = received_at
        """On the event loop's clock, in seconds: deadlines count from here."""
        self._report = report

    def report(self, progress: ProgressParams) -> None:
        """Tell the host how far the request is."""
        self._report(progress)


Answer = msgspec.Struct | msgspec.Raw | None
Plain = Callable[[Any, Call], Answer]
"""A handler that cannot block: it is answered where the line is read."""
Awaited = Callable[[Any, Call], Awaitable[Answer]]
"""A handler that waits: it runs as a task."""


Heeded = Callable[[Any, Call], None]
"""What is done about a notification, where it is read."""
Read = Callable[[msgspec.Raw | None], Any]
"""Makes params of their JSON the moment they come in. Raises `RpcError`."""


class Route(NamedTuple):
    """How one method's params are read, and what then: exactly one of the next three is set."""

    read: Read
    plain: Plain | None = None
    awaited: Awaited | None = None
    heeded: Heeded | None = None
    lane: Callable[[Any], Hashable] | None = None
    """A request cancels those before it that are in the same lane: nobody wants them any more."""


Routes = Callable[[Mode], Mapping[str, Route]]
"""The routes by method name, made once the framing of the peer is known."""


class _Running:
    """One request in flight that has a task, or is about to have one."""

    __slots__ = ("call", "ending", "handle", "id", "lane", "params", "scope", "token")

    def __init__(self, id_: Id, handle: Awaited, params: Any, call: Call, lane: Hashable) -> None:
        self.id = id_
        self.handle = handle
        self.params = params
        self.call = call
        self.lane = lane
        self.token: Token | None = getattr(params, "cancellation_token", None)
        self.scope: anyio.CancelScope | None = None
        """Of its task, once that has begun."""
        self.ending: ErrorKind | None = None
        """Set once it is cancelled."""

    def cancel(self, ending: ErrorKind) -> None:
        if self.ending is None:
            self.ending = ending
            if self.scope is not None:
                self.scope.cancel()


class Dispatcher:
    """One conversation with one peer, from its first byte to its end."""

    def __init__(
        self,
        connection: Connection,
        outlet: Outlet,
        routes: Routes,
        limits: Limits,
        abandon: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._outlet = outlet
        self._make_routes = routes
        self._routes: Mapping[str, Route] | None = None
        self._limits = limits
        self._abandon = abandon
        self._running: dict[Id, _Running] = {}
        self._beginning: list[_Running] = []
        """Requests that begin when all that came with them has been read: of a burst of
        keystrokes, each of which cancels the one before, only the last one does."""
        self._clock = asyncio.get_running_loop().time
        self._answers: dict[Id, asyncio.Future[msgspec.Raw]] = {}
        """What the peer still has to answer, by our request's id."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._input_over = asyncio.Event()
        self._drain = anyio.CancelScope()
        self._exit_code: int | None = None
        self._shutdown_id: Id | None = None
        self._tasks: anyio.abc.TaskGroup

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer."""
        return self._connection.in_flight

    # What we ask of the peer

    async def ask(self, method: str, params: object, seconds: float) -> msgspec.Raw:
        """The peer's answer to a request of ours.

        Raises `NoAnswer` where it is an error, takes longer than `seconds`, or can't come any
        more. Whoever is cancelled while waiting has the request at the peer cancelled, too.
        """
        if self._input_over.is_set():
            raise NoAnswer("the host has ended the conversation")
        id_, frame = self._connection.call(method, params)
        answer = self._answers[id_] = asyncio.get_running_loop().create_future()
        self._write(frame)
        try:
            with anyio.fail_after(seconds):
                told: msgspec.Raw = await answer
                return told
        except TimeoutError:
            raise NoAnswer(f"the host did not answer in {seconds:g} seconds") from None
        finally:
            del self._answers[id_]
            if not answer.done() or answer.cancelled():
                self._connection.forget(id_)
                self._write(self._connection.notify("$/cancelRequest", CancelRequestParams(id=id_)))

    def _hear(self, response: Response) -> None:
        answer = None if response.id is None else self._answers.get(response.id)
        if answer is None or answer.done():
            return
        if response.error is not None:
            answer.set_exception(NoAnswer(f"the host answered with error {response.error.code}"))
        else:
            answer.set_result(msgspec.Raw(b"null") if response.result is None else response.result)

    # What comes in

    def receive(self, chunk: bytes) -> None:
        """Take bytes of the peer: everything in them is registered before this returns."""
        self._take_all(self._connection.feed(chunk))

    def receive_end(self) -> None:
        """The peer has said everything: finish what is in flight, then end with 0."""
        self._take_all(self._connection.feed_eof())
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(NoAnswer("the host ended the conversation"))
        self._input_over.set()

    def stop(self, code: int) -> None:
        """Cancel what is in flight, answer it, and end with this exit code."""
        if self._exit_code is None:
            self._exit_code = code
            self._drain.cancel()
            self._input_over.set()

    def _take_all(self, messages: Sequence[Received]) -> None:
        for received in messages:
            self._take(received)
        if self._beginning:
            self._begin_all()

    def _begin_all(self) -> None:
        """Begin what came in together, but for what was cancelled in the same breath."""
        beginning, self._beginning = self._beginning, []
        refused: list[bytes] = []
        for running in beginning:
            if running.ending is None:
                running.scope = anyio.CancelScope()
                self._tasks.start_soon(self._serve, running, running.scope)
            else:
                del self._running[running.id]
                refused.append(self._connection.fail(running.id, _ENDED[running.ending]) or b"")
        if refused:
            self._write(b"".join(refused))
            self._notice_quiet()

    def _take(self, received: Received) -> None:
        match received:
            case Request():
                self._begin(received)
            case Notification():
                self._heed(received)
            case Refusal():
                self._write(received.frame)
            case Response():
                self._hear(received)

    def _begin(self, request: Request) -> None:
        try:
            if request.method == "shutdown":
                self._shut_down(request.id)
                return
            if self._is_choked():
                raise RpcError(ErrorKind.BUSY, "Too many answers are waiting to be read.")
            route = self._route(request.method)
            if route is None or route.heeded is not None:
                name = f"{request.method[:80]!a}"
                raise RpcError(ErrorKind.METHOD_NOT_FOUND, f"There is no method {name}.")
            params = route.read(request.params)
            call = Call(self._clock(), self._report)
            if route.plain is not None:
                self._settle(request.id, route.plain(params, call))
                return
            assert route.awaited is not None
            lane = None if route.lane is None else route.lane(params)
            if lane is not None:
                self._clear(lane)
            running = _Running(request.id, route.awaited, params, call, lane)
            self._running[request.id] = running
            self._idle.clear()
            self._beginning.append(running)
        except RpcError as error:
            self._fail(request.id, error)
        except Exception:
            self._fail(request.id, _fault(request.method))

    def _route(self, name: str) -> Route | None:
        if self._routes is None:
            mode = self._connection.mode
            assert mode is not None  # something was read
            self._routes = self._make_routes(mode)
        return self._routes.get(name)

    def _clear(self, lane: Hashable) -> None:
        for running in self._running.values():
            if running.lane == lane:
                running.cancel(ErrorKind.CANCELLED)

    async def _serve(self, running: _Running, scope: anyio.CancelScope) -> None:
        error: RpcError | ErrorObject | None = None
        result: Answer = None
        try:
            with scope:
                result = await running.handle(running.params, running.call)
        except RpcError as failure:
            error = failure
        except Exception:
            error = _fault(type(running.params).__name__)
        if running.ending is not None:
            error = _ENDED[running.ending]
        del self._running[running.id]
        if error is None:
            self._settle(running.id, result)
        else:
            self._fail(running.id, error)
        self._notice_quiet()

    def _heed(self, notification: Notification) -> None:
        name, params = notification.method, notification.params
        try:
            match name:
                case "$/cancelRequest" | "$/cancel":
                    self._cancel(decode_params(METHODS[name], params))
                case "exit":
                    self.stop(0 if self._connection.shutdown_received else 1)
                case _ if (route := self._route(name)) is not None and route.heeded is not None:
                    route.heeded(route.read(params), Call(self._clock(), self._report))
        except RpcError:
            return  # a notification has no answer, not even a refusal
        except Exception:
            _fault(name)

    def _cancel(self, params: msgspec.Struct) -> None:
        match params:
            case CancelRequestParams():
                if running := self._running.get(params.id):
                    running.cancel(ErrorKind.CANCELLED)
            case CancelParams():
                self._cancel_token(params.token)

    def _cancel_token(self, token: Token) -> None:
        for running in self._running.values():
            if running.token == token and type(running.token) is type(token):
                running.cancel(ErrorKind.CANCELLED)

    # What goes out

    def _settle(self, id_: Id, result: Answer) -> None:
        if self._is_choked():
            self._fail(id_, RpcError(ErrorKind.BUSY, "Too many answers are waiting to be read."))
        elif frame := self._connection.settle(id_, result):
            self._write(frame)

    def _fail(self, id_: Id, error: RpcError | ErrorObject) -> None:
        if frame := self._connection.fail(id_, error):
            self._write(frame)

    def _is_choked(self) -> bool:
        """The host does not read what it is answered."""
        return self._outlet.queued > self._limits.max_queued_output_bytes

    def _report(self, progress: ProgressParams) -> None:
        self.notify("$/progress", progress)

    def notify(self, method: str, params: object) -> None:
        """Tell the peer something, unless it has not taken what it was told before."""
        if not self._is_choked():
            self._write(self._connection.notify(method, params))

    def _write(self, frame: bytes) -> None:
        self._outlet.write(frame)
        if self._outlet.queued > 2 * self._limits.max_queued_output_bytes:
            _log.error("The host sends requests without ever reading an answer. Leaving.")
            self._abandon()

    # How it ends

    def _shut_down(self, id_: Id) -> None:
        self._shutdown_id = id_
        self._cancel_all()
        self._notice_quiet()

    def _notice_quiet(self) -> None:
        """Nothing runs any more: a shutdown can be answered, a drain is over."""
        if self._running:
            return
        self._answer_shutdown()
        self._idle.set()

    def _answer_shutdown(self) -> None:
        if self._shutdown_id is not None and (
            frame := self._connection.settle(self._shutdown_id, None)
        ):
            self._write(frame)

    def _cancel_all(self) -> None:
        for running in self._running.values():
            running.cancel(ErrorKind.TIMED_OUT)

    async def _settle_all(self) -> None:
        """Cancelled requests get a moment to come back, and their answers in any case."""
        with anyio.move_on_after(_SETTLE_SECONDS):
            await self._idle.wait()
        for id_, running in self._running.items():
            self._fail(id_, _ENDED[running.ending or ErrorKind.TIMED_OUT])
        self._answer_shutdown()

    async def run(self, finish: Callable[[int], Awaitable[None]]) -> None:
        """Serve until the input ends or somebody says stop, then call `finish` with the exit code.

        `finish` is called while tasks may still hang on something that can't be interrupted, so
        a process leaves in it; a test that returns from it gets its tasks cancelled.
        """
        async with anyio.create_task_group() as self._tasks:
            await self._input_over.wait()
            self._drain.deadline = anyio.current_time() + self._limits.eof_drain_seconds
            with self._drain:
                await self._idle.wait()
            self._cancel_all()
            await self._settle_all()
            stopped = self._exit_code is not None
            patience = _FLUSH_SECONDS if stopped else self._limits.eof_drain_seconds
            with anyio.move_on_after(patience):
                await self._outlet.flush()
            await finish(self._exit_code or 0)
            self._tasks.cancel_scope.cancel()


def _fault(what: str) -> RpcError:
    """Our own failure: its traceback goes to the log, never to the peer."""
    _log.exception("Internal error while answering %s", what)
    return RpcError(ErrorKind.INTERNAL, "Internal error; the sidecar's log has the details.")
