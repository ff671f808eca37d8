"""The dispatcher against a store whose reads hang: every request gets its one answer, promptly."""

import json
import math
import os
import threading
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from sessionref.config import Config, Limits
from sessionref.dispatcher import Dispatcher, NoAnswer
from sessionref.handlers import Handlers
from sessionref.resolver import Resolver
from sessionref.sessions.corpus import Corpus
from sessionref.sessions.model import Entry, Header, Listing, Reading, RootState, Summary
from sessionref.sessions.stop import Stop
from sessionref.sessions.workers import Workers
from sessionref.stdio import Outlet
from sessionref_protocol.connection import Connection
from sessionref_protocol.mention import format_mention
from sessionref_protocol.types import EmptyParams

BOUND = 10
"""No step of these tests may take longer, in seconds; each takes milliseconds."""


class StalledStore:
    """Its reads block a thread until somebody lets them go; its list fails as it is told."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.let_go = threading.Event()
        self.started = threading.Semaphore(0)
        self.failure: Exception | None = None

    async def list(self, *, patience: float = math.inf) -> Listing:
        if self.failure:
            raise self.failure
        return Listing(entries=(Entry(header=Header(id="b", created_at=0, version=0), store="x"),))

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        return await self._workers.run(lambda stop: self._block(session_id, stop))

    def _block(self, session_id: str, _: Stop) -> Reading:
        self.started.release()
        self.let_go.wait()
        return Reading(
            header=Header(id=session_id, created_at=0, version=0),
            nodes=(),
            captured_through_seq=None,
        )

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        return {entry.header.id: Summary() for entry in entries}

    async def roots(self) -> tuple[RootState, ...]:
        return ()


class Conversation:
    """A dispatcher between two pipes, and the host's end of them."""

    def __init__(
        self, store: StalledStore, dispatcher: Dispatcher, answers: int, abandoned: anyio.Event
    ) -> None:
        self.store = store
        self.dispatcher = dispatcher
        self.exit_code: int | None = None
        self.over = anyio.Event()
        self.abandoned = abandoned
        self._answers = answers
        self._rest = b""

    def send(self, *messages: dict[str, Any]) -> None:
        """All messages in one chunk, as a busy host writes them."""
        self.dispatcher.receive(
            b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in messages)
        )

    async def answer(self) -> dict[str, Any]:
        with anyio.fail_after(BOUND):
            while b"\n" not in self._rest:
                await anyio.wait_readable(self._answers)
                self._rest += os.read(self._answers, 65536)
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def read_has_started(self) -> None:
        with anyio.fail_after(BOUND):
            await anyio.to_thread.run_sync(self.store.started.acquire)

    async def finish(self, code: int) -> None:
        self.exit_code = code
        self.over.set()


@asynccontextmanager
async def conversation(limits: Limits | None = None) -> AsyncIterator[Conversation]:
    limits = limits or Limits()
    workers = Workers(limits.max_concurrent_reads, limits.max_abandoned_reads)
    store = StalledStore(workers)
    corpus = Corpus([store])
    handlers = Handlers(Config(roots=()), corpus, Resolver(corpus, workers), workers)
    answers, outward = os.pipe()
    outlet = Outlet(outward)
    connection = Connection(
        "line",
        line_limit=limits.max_line_bytes,
        in_flight_limit=limits.max_requests_in_flight,
    )
    abandoned = anyio.Event()
    dispatcher = Dispatcher(connection, outlet, lambda _: handlers.routes(), limits, abandoned.set)
    handlers.attach(dispatcher, outlet)
    talk = Conversation(store, dispatcher, answers, abandoned)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(dispatcher.run, talk.finish)
            await anyio.wait_all_tasks_blocked()
            try:
                yield talk
            finally:  # inside the group, which would wait for a read that hangs
                store.let_go.set()
                dispatcher.stop(0)
    finally:
        os.close(answers)
        os.close(outward)


def prepare(id_: int | str, session: str = "b", **more: Any) -> dict[str, Any]:
    params = {"agent": {"id": "a"}, "content": [], "references": [{"sessionId": session}], **more}
    return {"id": id_, "method": "prepare", "params": params}


def cancel_request(id_: int | str) -> dict[str, Any]:
    return {"method": "$/cancelRequest", "params": {"id": id_}}


@pytest.mark.asyncio
async def test_a_stalled_read_that_is_cancelled_is_answered_while_it_still_hangs() -> None:
    async with conversation() as talk:
        talk.send(prepare(1))
        await talk.read_has_started()
        talk.send(cancel_request(1))
        answer = await talk.answer()
        assert answer["id"] == 1
        assert answer["error"]["code"] == -32800
        assert answer["error"]["data"] == {
            "code": "SESSION_REFERENCE_CANCELLED",
            "retryable": False,
        }
        assert not talk.store.let_go.is_set()
        talk.send({"id": 2, "method": "status"})
        assert (await talk.answer())["result"]["abandonedReads"] == 1


@pytest.mark.asyncio
async def test_a_cancel_in_the_same_chunk_overtakes_nothing() -> None:
    async with conversation() as talk:
        talk.send(prepare(1), cancel_request(1), prepare(2), cancel_request(2))
        answers = [await talk.answer(), await talk.answer()]
        assert [(each["id"], each["error"]["code"]) for each in answers] == [
            (1, -32800),
            (2, -32800),
        ]


@pytest.mark.asyncio
async def test_of_a_burst_in_which_each_cancels_the_one_before_only_the_last_begins() -> None:
    async with conversation() as talk:
        talk.send(prepare(1), cancel_request(1), prepare(2), cancel_request(2), prepare(3))
        answers = [await talk.answer(), await talk.answer()]
        assert [(each["id"], each["error"]["code"]) for each in answers] == [
            (1, -32800),
            (2, -32800),
        ]
        await talk.read_has_started()
        talk.store.let_go.set()
        assert (await talk.answer())["id"] == 3
        assert not talk.store.started.acquire(blocking=False)


@pytest.mark.asyncio
async def test_a_shutdown_waits_for_nothing_that_came_with_it() -> None:
    async with conversation() as talk:
        talk.send(prepare(1), {"id": 2, "method": "shutdown"})
        first, second = await talk.answer(), await talk.answer()
        assert (first["id"], "error" in first) == (1, True)
        assert (second["id"], second["result"]) == (2, None)
        assert not talk.store.started.acquire(blocking=False)


@pytest.mark.asyncio
async def test_a_cancel_reaches_its_request_before_the_next_message_is_looked_at() -> None:
    async with conversation() as talk:
        talk.send(prepare(1))
        await talk.read_has_started()
        talk.send(cancel_request(1))
        talk.store.let_go.set()
        assert (await talk.answer())["error"]["code"] == -32800


@pytest.mark.asyncio
async def test_a_token_cancels_every_request_that_carries_it_and_compares_by_type() -> None:
    async with conversation() as talk:
        talk.send(
            prepare("text", cancellationToken="7"),
            prepare("number", cancellationToken=7),
            prepare("again", cancellationToken=7),
            {"method": "$/cancel", "params": {"token": 7}},
        )
        answered = {(await talk.answer())["id"], (await talk.answer())["id"]}
        assert answered == {"number", "again"}
        talk.send(cancel_request("text"))
        assert (await talk.answer())["id"] == "text"


@pytest.mark.asyncio
async def test_a_deadline_passes_while_a_read_hangs() -> None:
    async with conversation() as talk:
        talk.send(prepare(1, deadlineMs=1))
        answer = await talk.answer()
        assert answer["error"]["code"] == -32802
        assert answer["error"]["data"]["retryable"] is True


@pytest.mark.asyncio
async def test_a_deadline_is_a_failure_of_its_message_where_the_policy_lets_it_pass() -> None:
    message = {
        "id": "m",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": f"see {format_mention('b')}"}],
    }
    async with conversation() as talk:
        talk.send(
            {
                "id": 1,
                "method": "preStep",
                "params": {
                    "agent": {"id": "a"},
                    "policy": "never-block",
                    "deadlineMs": 1,
                    "decision": {"kind": "enter", "messages": [message]},
                },
            }
        )
        result = (await talk.answer())["result"]
        assert result["decision"]["messages"] == [message]
        (outcome,) = result["outcomes"]
        assert outcome["status"] == "failed"
        assert outcome["error"]["code"] == -32802


def skipping_step(**more: Any) -> dict[str, Any]:
    message = {
        "id": "m",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": f"see {format_mention('b')}"}],
    }
    params = {
        "agent": {"id": "a"},
        "policy": {"placement": "after", "onFailure": "skip"},
        "decision": {"kind": "enter", "messages": [message]},
        **more,
    }
    return {"id": 1, "method": "preStep", "params": params}


@pytest.mark.asyncio
async def test_a_deadline_leaves_a_reference_out_where_the_policy_skips_it() -> None:
    async with conversation() as talk:
        talk.send(skipping_step(deadlineMs=1))
        result = (await talk.answer())["result"]
        (message,) = result["decision"]["messages"]
        assert message["content"] == [{"type": "text", "text": "see @b"}]
        (outcome,) = result["outcomes"]
        assert (outcome["status"], outcome["error"]["code"]) == ("failed", -32802)
        assert outcome["references"][0]["error"]["data"]["inputIndex"] == 0


@pytest.mark.asyncio
async def test_a_cancel_ends_a_request_also_where_the_policy_skips() -> None:
    async with conversation() as talk:
        talk.send(skipping_step())
        await talk.read_has_started()
        talk.send(cancel_request(1))
        assert (await talk.answer())["error"]["code"] == -32800


@pytest.mark.asyncio
async def test_a_preview_tells_of_a_deadline_as_prepare_would() -> None:
    async with conversation() as talk:
        params = {"agent": {"id": "a"}, "text": format_mention("b"), "deadlineMs": 1}
        talk.send({"id": 1, "method": "preview", "params": params}, prepare(2, deadlineMs=1))
        answers = {answer["id"]: answer for answer in (await talk.answer(), await talk.answer())}
        assert answers[1]["result"]["errors"] == [answers[2]["error"]]
        params = {"agent": {"id": "a"}, "sessionId": "b", "deadlineMs": 1}
        talk.send({"id": 3, "method": "readSnapshot", "params": params})
        assert (await talk.answer())["error"]["code"] == -32802


@pytest.mark.asyncio
async def test_shutdown_ends_what_hangs_and_is_answered_after_it() -> None:
    async with conversation() as talk:
        talk.send(prepare(1))
        await talk.read_has_started()
        talk.send({"id": 2, "method": "shutdown"})
        first, second = await talk.answer(), await talk.answer()
        assert (first["id"], first["error"]["code"]) == (1, -32802)
        assert second == {"jsonrpc": "2.0", "id": 2, "result": None}
        talk.send({"method": "exit"})
        with anyio.fail_after(BOUND):
            await talk.over.wait()
        assert talk.exit_code == 0


@pytest.mark.asyncio
async def test_the_end_of_input_waits_for_what_is_in_flight() -> None:
    async with conversation() as talk:
        talk.send(prepare(1))
        await talk.read_has_started()
        talk.dispatcher.receive_end()
        await anyio.wait_all_tasks_blocked()
        assert talk.exit_code is None
        talk.store.let_go.set()
        assert "result" in await talk.answer()
        with anyio.fail_after(BOUND):
            await talk.over.wait()
        assert talk.exit_code == 0


@pytest.mark.asyncio
async def test_the_end_of_input_does_not_wait_for_ever() -> None:
    async with conversation(Limits(eof_drain_seconds=0)) as talk:
        talk.send(prepare(1))
        await talk.read_has_started()
        talk.dispatcher.receive_end()
        assert (await talk.answer())["error"]["code"] == -32802
        with anyio.fail_after(BOUND):
            await talk.over.wait()
        assert not talk.store.let_go.is_set()


@pytest.mark.asyncio
async def test_a_signal_ends_it_with_a_read_still_pending() -> None:
    async with conversation() as talk:
        talk.send(prepare(1))
        await talk.read_has_started()
        talk.dispatcher.stop(130)
        assert (await talk.answer())["error"]["code"] == -32802
        with anyio.fail_after(BOUND):
            await talk.over.wait()
        assert talk.exit_code == 130


@pytest.mark.asyncio
async def test_what_does_not_come_back_when_it_is_cancelled_is_answered_all_the_same() -> None:
    come_back = anyio.Event()

    async def stubborn(session_id: str, *, salvage: bool = False) -> Reading:
        with anyio.CancelScope(shield=True):
            await come_back.wait()
        raise AssertionError

    async with conversation() as talk:
        talk.store.read = stubborn  # type: ignore[method-assign]
        talk.send(prepare(1))
        await anyio.wait_all_tasks_blocked()
        talk.send({"id": 2, "method": "shutdown"})
        talk.dispatcher.stop(0)
        first, second = await talk.answer(), await talk.answer()
        assert (first["id"], first["error"]["code"]) == (1, -32802)
        assert second == {"jsonrpc": "2.0", "id": 2, "result": None}
        with anyio.fail_after(BOUND):
            await talk.over.wait()
        come_back.set()
        await anyio.wait_all_tasks_blocked()
        assert talk.dispatcher.in_flight == 0


@pytest.mark.asyncio
async def test_our_own_fault_is_answered_without_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with conversation() as talk:
        talk.store.failure = ZeroDivisionError("secret of the transcript")
        talk.send({"id": 1, "method": "listCandidates", "params": {"agent": {"id": "a"}}})
        answer = await talk.answer()
        assert answer["error"]["code"] == -32603
        assert "secret" not in json.dumps(answer)
        assert "ZeroDivisionError" in caplog.text


@pytest.mark.asyncio
async def test_reads_that_hang_are_bounded_and_others_are_then_refused() -> None:
    limits = Limits(max_concurrent_reads=2, max_abandoned_reads=2)
    async with conversation(limits) as talk:
        for id_ in range(3):
            talk.send(prepare(id_))
            await talk.read_has_started()
            talk.send(cancel_request(id_))
            assert (await talk.answer())["error"]["code"] == -32800
        talk.send(prepare("refused"))
        answer = await talk.answer()
        assert answer["error"]["data"]["cause"] == "io"
        assert answer["error"]["data"]["retryable"] is True
        talk.store.let_go.set()


@pytest.mark.asyncio
async def test_a_host_that_does_not_answer_in_time_is_no_longer_asked() -> None:
    async with conversation() as talk:
        with pytest.raises(NoAnswer):
            await talk.dispatcher.ask("host/listLiveSessions", EmptyParams(), 0.01)
        question, withdrawal = await talk.answer(), await talk.answer()
        assert question["method"] == "host/listLiveSessions"
        assert withdrawal["method"] == "$/cancelRequest"
        assert withdrawal["params"] == {"id": question["id"]}
        talk.send({"id": question["id"], "result": {"sessions": []}}, {"id": 2, "method": "status"})
        assert (await talk.answer())["id"] == 2


CHOKING = Limits(max_queued_output_bytes=50_000)
"""Less than what `long_answer` leaves in the queue of a pipe that nobody reads."""


def long_answer(id_: int) -> dict[str, Any]:
    return {"id": id_, "method": "parseText", "params": {"text": "x" * 140_000}}


@pytest.mark.asyncio
async def test_a_request_is_refused_unread_while_too_much_waits_to_be_read() -> None:
    async with conversation(CHOKING) as talk:
        talk.send(long_answer(1), prepare(2))
        assert "result" in await talk.answer()
        assert (await talk.answer())["error"]["code"] == -32000
        assert not talk.store.started.acquire(blocking=False)
        talk.send({"id": 3, "method": "status"})
        assert "result" in await talk.answer()


@pytest.mark.asyncio
async def test_a_result_is_not_added_to_too_much_that_waits_to_be_read() -> None:
    async with conversation(CHOKING) as talk:
        talk.send(prepare(1))
        await talk.read_has_started()
        talk.send(long_answer(2))
        talk.store.let_go.set()
        with anyio.fail_after(BOUND):
            while talk.dispatcher.in_flight:
                await anyio.lowlevel.checkpoint()
        first, second = await talk.answer(), await talk.answer()
        assert (first["id"], "result" in first) == (2, True)
        assert (second["id"], second["error"]["code"]) == (1, -32000)


@pytest.mark.asyncio
async def test_a_host_that_asks_on_and_on_and_reads_nothing_is_left() -> None:
    async with conversation(Limits(max_queued_output_bytes=100_000)) as talk:
        talk.send(long_answer(0))
        assert not talk.abandoned.is_set()
        talk.send(*({"id": id_, "method": "status"} for id_ in range(1, 1500)))
        assert talk.abandoned.is_set()
        for _ in range(1500):
            await talk.answer()


def test_every_request_that_a_host_may_send_has_a_handler() -> None:
    from sessionref_protocol.methods import METHODS

    workers = Workers(1, 1)
    corpus = Corpus([])
    routes = Handlers(Config(roots=()), corpus, Resolver(corpus, workers), workers).routes()
    requests = {
        method.name
        for method in METHODS.values()
        if method.kind == "request" and method.direction == "host-to-sidecar"
    }
    assert requests - routes.keys() == {"shutdown"}  # the dispatcher's own
    assert routes.keys() - requests == {"sessions/changed"}
