"""The dispatcher against a small model: whatever is sent in whatever order, one answer to each.

Requests, cancels by id and by token, ids that are in flight, superseded requests, deadlines, reads
that end, fail or break, a host that stops reading, and every way to close, in random order, several
of them before the event loop gets a turn. The loop's clock stands still until the test moves it.
The handlers are the real ones; the sessions are read by a store that waits for the test.
"""

import asyncio
import json
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from sessionref.config import Config, Limits
from sessionref.dispatcher import Dispatcher, NoAnswer, Route
from sessionref.handlers import Handlers
from sessionref.resolver import Resolver
from sessionref.sessions.corpus import Corpus
from sessionref.sessions.model import Entry, Header, Listing, ReadError, Reading, RootState, Summary
from sessionref.sessions.workers import Workers
from sessionref_protocol.connection import Connection
from sessionref_protocol.types import EmptyParams

IN_FLIGHT = 4
QUEUED_BYTES = 1_000
LIMITS = Limits(max_requests_in_flight=IN_FLIGHT, max_queued_output_bytes=QUEUED_BYTES)
ASKED_SECONDS = 5
ALL = 60
"""So many turns of the loop that nothing is left that could still happen by itself."""

RESULT, LOST, FAULT = "result", -32014, -32603
CANCELLED, TIMED_OUT = -32800, -32802

Id = int | str
Ending = str | int
"""How a request ends: a result, or the code of an error."""

ids: st.SearchStrategy[Id] = st.sampled_from([1, "1", 2, "a", -1, "", 2**70])
tokens = st.sampled_from([None, 7, "7"])
lanes = st.sampled_from([None, None, "editor", "other"])
deadlines = st.sampled_from([None, None, 5, 40])


class StillLoop(asyncio.SelectorEventLoop):
    """Its time passes when the test says so."""

    now = 1000.0

    def time(self) -> float:
        return self.now


class HeldStore:
    """Its reads end when and how the test says."""

    def __init__(self) -> None:
        self.held: dict[str, asyncio.Future[None]] = {}

    async def list(self, *, patience: float = math.inf) -> Listing:
        return Listing(entries=())

    async def read(self, session_id: str, *, salvage: bool = False) -> Reading:
        await self.held.setdefault(session_id, asyncio.get_running_loop().create_future())
        header = Header(id=session_id, created_at=0, version=0)
        return Reading(header=header, nodes=(), captured_through_seq=None)

    async def entry(self, session_id: str) -> Entry:
        raise ReadError("not_found", "there is no such session")

    async def summaries(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        return {}

    def known(self, entries: Collection[Entry]) -> Mapping[str, Summary]:
        return {}

    async def roots(self) -> tuple[RootState, ...]:
        return ()


class Outlet:
    """What the peer would read, if it did."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.queued = 0

    def write(self, frame: bytes) -> None:
        self.frames.append(frame)

    async def flush(self) -> None:
        return


class Asked:
    """A request in flight, as the model knows it."""

    def __init__(self, session: str, token: Any, lane: str | None, deadline: float) -> None:
        self.session = session
        self.token = token
        self.lane = lane
        self.deadline = deadline
        self.endings: set[Ending] = set()
        """In which ways it may end now; none as long as nothing ends it."""
        self.is_cancelled = False

    def may_end(self, ending: Ending) -> None:
        if not self.is_cancelled:
            self.endings.add(ending)

    def cancel(self, ending: Ending) -> None:
        """The first cancel decides, whatever else has happened."""
        if not self.is_cancelled:
            self.is_cancelled = True
            self.endings = {ending}


class Question:
    """Something that we asked of the host, as the model knows it."""

    def __init__(self, task: "asyncio.Task[msgspec.Raw]", until: float) -> None:
        self.task = task
        self.until = until
        self.id: Id | None = None
        """Known once it was written."""
        self.endings: set[bool] = set()
        """Whether it may be answered well by now, or in vain."""


class Conversation(RuleBasedStateMachine):
    """Each rule says what happens next. It does when the loop is run, before any task goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = StillLoop()
        self.runner = asyncio.Runner(loop_factory=lambda: self.loop)
        self.outlet = Outlet()
        self.exit_codes: list[int] = []
        self.upcoming: list[Callable[[], None]] = []
        self.runner.run(self.begin())
        # The model
        self.in_flight: dict[Id, Asked] = {}
        self.sessions: list[str] = []
        self.shutdown: Id | None = None
        """The one that is not answered yet."""
        self.is_shut_down = False
        self.questions: list[Question] = []
        self.is_ending = False
        """Something upcoming ends the conversation, or has."""
        self.drains_until: float | None = None
        """How long what is in flight may go on, once the host has said everything."""
        self.stopped = False
        self.codes = {0}
        """The exit codes that it may end with."""

    async def begin(self) -> None:
        workers = Workers(1, 1)
        self.store = HeldStore()
        corpus = Corpus([self.store])
        handlers = Handlers(Config(roots=()), corpus, Resolver(corpus, workers), workers)
        prepare = handlers.routes()["prepare"]
        keystroke = Route(prepare.read, awaited=prepare.awaited, lane=lambda each: each.agent.id)
        routes = {**handlers.routes(), "keystroke": keystroke}
        connection = Connection("line", line_limit=10_000, in_flight_limit=IN_FLIGHT)
        outlet: Any = self.outlet
        self.dispatcher = Dispatcher(connection, outlet, lambda _: routes, LIMITS, self.abandon)
        handlers.attach(self.dispatcher, outlet)
        self.running = asyncio.create_task(self.dispatcher.run(self.finish))
        await asyncio.sleep(0)

    def abandon(self) -> None:
        raise AssertionError("the host was left, though it took what it was told")

    async def finish(self, code: int) -> None:
        self.exit_codes.append(code)

    # What the host sends

    is_open = precondition(lambda self: not self.is_ending)

    @is_open
    @rule(id_=ids, token=tokens, lane=lanes, deadline=deadlines)
    def ask(self, id_: Id, token: Any, lane: str | None, deadline: int | None) -> None:
        """A request that takes until its session is let go."""
        session = f"session {len(self.sessions)}"
        self.sessions.append(session)
        method = "prepare" if lane is None else "keystroke"
        params: dict[str, Any] = {
            "agent": {"id": lane or "agent"},
            "content": [],
            "references": [{"sessionId": session}],
        }
        params |= {} if token is None else {"cancellationToken": token}
        params |= {} if deadline is None else {"deadlineMs": deadline}

        def happen() -> None:
            refused = self.refusal_of(id_, method)
            if refused is None:
                for each in self.in_flight.values():
                    if lane is not None and each.lane == lane:
                        each.cancel(CANCELLED)
                until = math.inf if deadline is None else self.loop.now + deadline / 1000
                self.in_flight[id_] = Asked(session, token, lane, until)
            self.send(id_, method, params, refused)

        self.upcoming.append(happen)

    @is_open
    @rule(id_=ids, method=st.sampled_from(["parseText", "no/such", "$/cancel"]), good=st.booleans())
    def ask_at_once(self, id_: Id, method: str, good: bool) -> None:
        """A request that is answered where it is read."""
        ending: Ending = -32601 if method != "parseText" else RESULT if good else -32602

        def happen() -> None:
            refused = self.refusal_of(id_, method)
            params = {"text": "x" if good else 5}
            self.send(id_, method, params, ending if refused is None else refused)

        self.upcoming.append(happen)

    @is_open
    @rule(id_=ids)
    def shut_down(self, id_: Id) -> None:
        def happen() -> None:
            ending = self.refusal_of(id_, "shutdown")
            if ending is None:
                self.is_shut_down = True
                for asked in self.in_flight.values():
                    asked.cancel(TIMED_OUT)
                if self.in_flight:
                    self.shutdown = id_
                else:
                    ending = RESULT
            self.send(id_, "shutdown", None, ending)

        self.upcoming.append(happen)

    @is_open
    @rule(id_=ids)
    def cancel(self, id_: Id) -> None:
        def happen() -> None:
            if id_ in self.in_flight:
                self.in_flight[id_].cancel(CANCELLED)
            self.write({"method": "$/cancelRequest", "params": {"id": id_}})

        self.upcoming.append(happen)

    @is_open
    @rule(token=tokens)
    def cancel_token(self, token: Any) -> None:
        def happen() -> None:
            for asked in self.in_flight.values():
                if token is not None and (asked.token, type(asked.token)) == (token, type(token)):
                    asked.cancel(CANCELLED)
            self.write({"method": "$/cancel", "params": {"token": token}})

        self.upcoming.append(happen)

    @is_open
    @rule(id_=st.integers(1, 5), good=st.booleans())
    def reply(self, id_: int, good: bool) -> None:
        """The host answers a question of ours, or what it takes for one."""

        def happen() -> None:
            for question in self.questions:
                if question.id == id_ and not question.endings:
                    question.endings.add(good)
            outcome = {"result": {}} if good else {"error": {"code": 1, "message": "no"}}
            self.write({"id": id_, **outcome})

        self.upcoming.append(happen)

    def refusal_of(self, id_: Id, method: str) -> Ending | None:
        """How a request is refused, whatever it asks; None if it is not."""
        if id_ in self.in_flight or id_ == self.shutdown or self.is_shut_down:
            return -32600
        if method == "shutdown":
            return None
        return -32000 if len(self.in_flight) >= IN_FLIGHT or self.is_choked else None

    @property
    def is_choked(self) -> bool:
        return self.outlet.queued > QUEUED_BYTES

    def send(self, id_: Id, method: str, params: Any, ending: Ending | None) -> None:
        """Send a request of which is known how it ends, if that is at once."""
        self.write({"id": id_, "method": method, "params": params})
        told = [self.told(json.loads(frame)) for frame in self.outlet.frames]
        assert told == ([] if ending is None else [(id_, ending)])
        self.outlet.frames.clear()

    def write(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        half = len(line) // 2
        self.dispatcher.receive(line[:half])
        self.dispatcher.receive(line[half:])

    # What else happens

    @rule(place=st.integers(0, 9), how=st.sampled_from([RESULT, RESULT, LOST, FAULT]))
    def let_go(self, place: int, how: Ending) -> None:
        """The read of one of the latest sessions ends."""

        def happen() -> None:
            for session in self.sessions[-1 - place :][:1]:
                held = self.store.held.setdefault(session, self.loop.create_future())
                if held.done():
                    return
                if how == RESULT:
                    held.set_result(None)
                else:
                    lost = ReadError("io", "it is gone")
                    held.set_exception(lost if how == LOST else ZeroDivisionError())
                    held.exception()  # it may be that nobody waits for it
                for asked in self.in_flight.values():
                    if asked.session == session:
                        asked.may_end(how)

        self.upcoming.append(happen)

    @rule(milliseconds=st.sampled_from([1, 10, 100, 6_000, 31_000]))
    def time_passes(self, milliseconds: int) -> None:
        def happen() -> None:
            self.loop.now += milliseconds / 1000
            for asked in self.in_flight.values():
                if asked.deadline <= self.loop.now:
                    asked.may_end(TIMED_OUT)
            for question in self.questions:
                if question.until <= self.loop.now:
                    question.endings.add(False)
            if self.drains_until is not None and self.drains_until <= self.loop.now:
                self.give_up()

        self.upcoming.append(happen)

    @rule(queued=st.sampled_from([0, 0, QUEUED_BYTES + 1]))
    def the_host_reads_or_does_not(self, queued: int) -> None:
        def happen() -> None:
            self.outlet.queued = queued

        self.upcoming.append(happen)

    @rule()
    def wonder(self) -> None:
        """We ask the host something."""

        def happen() -> None:
            wondering = self.dispatcher.ask("host/listLiveSessions", EmptyParams(), ASKED_SECONDS)
            question = Question(self.loop.create_task(wondering), self.loop.now + ASKED_SECONDS)
            question.task.add_done_callback(lambda task: task.cancelled() or task.exception())
            self.questions.append(question)
            if self.drains_until is not None:
                question.endings.add(False)

        self.upcoming.append(happen)

    # How it ends

    @is_open
    @rule()
    def end_of_input(self) -> None:
        def happen() -> None:
            self.drains_until = self.loop.now + LIMITS.eof_drain_seconds
            self.say_no(begun=True)
            self.dispatcher.receive_end()

        self.is_ending = True
        self.upcoming.append(happen)

    @is_open
    @rule()
    def exit(self) -> None:
        def happen() -> None:
            self.stop(0 if self.is_shut_down else 1)
            self.write({"method": "exit"})

        self.is_ending = True
        self.upcoming.append(happen)

    @rule(code=st.sampled_from([0, 130]))
    def signal(self, code: int) -> None:
        def happen() -> None:
            self.stop(code)
            self.dispatcher.stop(code)

        self.is_ending = True
        self.upcoming.append(happen)

    def stop(self, code: int) -> None:
        if not self.stopped:
            self.stopped = True
            may_have_ended = self.drains_until is not None and not self.in_flight
            self.codes = {code} | (self.codes if may_have_ended else set())
        self.drains_until = self.loop.now
        self.give_up()
        self.say_no(begun=False)

    def give_up(self) -> None:
        for asked in self.in_flight.values():
            asked.may_end(TIMED_OUT)

    def say_no(self, *, begun: bool) -> None:
        """Questions have no answer any more: those that were not put yet, or all."""
        for question in self.questions:
            if question.id is None or (begun and not question.endings):
                question.endings.add(False)

    # Running

    @rule(turns=st.sampled_from([0, 1, 2, 3, 5, ALL, ALL, ALL]))
    def run(self, turns: int) -> None:
        """All that is upcoming happens, with no task in between; then so many turns of the loop."""

        async def happen() -> None:
            upcoming, self.upcoming = self.upcoming, []
            for each in upcoming:
                self.take_answers()
                each()
            for _ in range(turns):
                await asyncio.sleep(0)
                self.take_answers()

        self.runner.run(happen())
        if turns == ALL:
            self.check_that_nothing_is_left()

    def take_answers(self) -> None:
        for frame in self.outlet.frames:
            message = json.loads(frame)
            if "method" in message:
                self.take_question(message)
                continue
            id_, ending = self.told(message)
            if id_ == self.shutdown and not self.in_flight:
                assert ending == RESULT
                self.shutdown = None
                continue
            endings = self.in_flight.pop(id_).endings  # to what is in flight, and once
            if self.is_choked and RESULT in endings:
                endings |= {-32000}
            assert ending in endings
        self.outlet.frames.clear()

    def take_question(self, message: dict[str, Any]) -> None:
        if message["method"] == "host/listLiveSessions":
            next(each for each in self.questions if each.id is None).id = message["id"]
        else:
            assert message["method"] == "$/cancelRequest"
            (withdrawn,) = (q for q in self.questions if q.id == message["params"]["id"])
            assert False in withdrawn.endings

    @staticmethod
    def told(message: dict[str, Any]) -> tuple[Id, Ending]:
        return message["id"], RESULT if "result" in message else message["error"]["code"]

    def check_that_nothing_is_left(self) -> None:
        assert [each for each in self.in_flight.values() if each.endings] == []
        assert self.shutdown is None or self.in_flight
        for question in self.questions:
            assert question.task.done() == bool(question.endings)
            if question.task.done():
                error = question.task.exception()
                assert error is None or isinstance(error, NoAnswer)
                assert (error is None) in question.endings
        assert self.dispatcher.in_flight == len(self.in_flight) + (self.shutdown is not None)
        is_over = self.drains_until is not None and not self.in_flight
        assert len(self.exit_codes) == is_over
        assert self.codes.issuperset(self.exit_codes)
        assert self.running.done() == is_over

    def teardown(self) -> None:
        with self.runner:
            self.signal(0)
            self.run(ALL)
            assert self.in_flight == {}
            self.running.result()
            for question in self.questions:
                question.task.cancel()


Conversation.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestConversation = Conversation.TestCase
