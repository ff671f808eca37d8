"""What we ask of the host: its live sessions, over the connection that it opened.

The only place that knows both the wire and the seam of the live store; it decides nothing about
sessions. Whatever the host does wrong is a `ReadError` with cause `host`. Source: the contract,
section 6 (`host/listLiveSessions`, `host/readLiveSession`).
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from sessionref_protocol import ecmascript, types

from .dispatcher import Dispatcher, NoAnswer
from .sessions.live import Page
from .sessions.model import ReadError

T = TypeVar("T")

_PAGE: Final[Any] = types.ReadLiveSessionResult | None


class WireHost:
    """The host at the other end of a dispatcher."""

    def __init__(self, dispatcher: Dispatcher, seconds: float) -> None:
        self._dispatcher = dispatcher
        self._seconds = seconds

    async def sessions(self) -> Sequence[bytes]:
        """The headers of its live sessions, each a JSON text."""
        answer = await self._ask(
            "host/listLiveSessions", types.EmptyParams(), types.ListLiveSessionsResult
        )
        return [bytes(header) for header in answer.sessions]

    async def page(self, session_id: str, after_seq: int | None) -> Page | None:
        """Some events of a live session; None where the host has none of that id."""
        params = types.ReadLiveSessionParams(session_id=session_id, after_seq=after_seq)
        answer = await self._ask("host/readLiveSession", params, _PAGE)
        if answer is None:
            return None
        assert isinstance(answer, types.ReadLiveSessionResult)
        events = [bytes(event) for event in answer.events]
        return Page(bytes(answer.header), events, answer.next_seq)

    async def _ask(self, method: str, params: msgspec.Struct, result: type[T]) -> T:
        try:
            answer = await self._dispatcher.ask(method, params, self._seconds)
            return ecmascript.decode(answer, result)
        except NoAnswer as error:
            raise ReadError("host", str(error)) from None
        except msgspec.DecodeError as error:
            raise ReadError("host", f"the host's answer has another shape: {error}") from None
