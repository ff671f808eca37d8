"""The dispatcher against a small model: whatever is sent in whatever order, one answer to each.

Requests, cancels by id and by token, ids that are in flight, superseded requests, deadlines, reads
that end, fail or break, a host that stops reading, and every way to close, in random order, several
of them before the event loop gets a turn. The loop's clock stands still until the test moves it.
The handlers are the real ones; the sessions are read by a store that waits for the test.
"""

import asyncio
import json
import math
from collections.abc import Callable
from itertools import groupby
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from sessionref.config import Config, Limits
from sessionref.dispatcher import Dispatcher, Route
from sessionref.handlers import Handlers
from sessionref.resolver import Resolver
from sessionref.sessions.corpus import Corpus
from sessionref.sessions.model import ReadError
from sessionref.sessions.workers import Workers
from sessionref_protocol.connection import Connection
from sessionref_protocol.types import EmptyParams
from support.dispatching import (
    BUSY,
    CANCELLED,
    FAULT,
    LOST,
    RESULT,
    TIMED_OUT,
    Asked,
    Ending,
    HeldStore,
    Id,
    Message,
    Outlet,
    Question,
    StillLoop,
)

IN_FLIGHT = 4
QUEUED_BYTES = 1_000
LIMITS = Limits(max_requests_in_flight=IN_FLIGHT, max_queued_output_bytes=QUEUED_BYTES)
ASKED_SECONDS = 5
ALL = 60
"""So many turns of the loop that nothing is left that could still happen by itself."""

ids: st.SearchStrategy[Id] = st.sampled_from([1, "1", 2, "", 2**70])
tokens = st.sampled_from([7, 7, "7"])
lanes = st.sampled_from(["editor", "editor", "other"])
deadlines = st.sampled_from([None, None, 5, 40])


class Conversation(RuleBasedStateMachine):
    """Each rule says what happens next. It does when the loop is run, before any task goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = StillLoop()
        self.runner = asyncio.Runner(loop_factory=lambda: self.loop)
        self.outlet = Outlet()
        self.exit_codes: list[int] = []
        self.left_open: list[Id] = []
        """What had no answer when the process would have been left."""
        self.upcoming: list[Any] = []
        """What happens next: messages, of which those in a row come in together, and callables."""
        self.runner.run(self.begin())
        self.rounds = self.lasts = 0
        # The model
        self.in_flight: dict[Id, Asked] = {}
        self.asked = 0
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

    @initialize(rounds=st.integers(0, 8))
    def last(self, rounds: int) -> None:
        """Nothing ends the conversation before the loop was run so often."""
        self.lasts = rounds

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
        self.take_answers()
        self.left_open += self.in_flight

    # What the host sends

    is_open = precondition(lambda self: not self.is_ending)
    may_end = precondition(lambda self: not self.is_ending and self.rounds >= self.lasts)

    @is_open
    @rule(id_=ids, lane=lanes, deadline=deadlines)
    def ask_in_a_lane(self, id_: Id, lane: str, deadline: int | None) -> None:
        """A request that nobody waits for once there is another one in its lane."""
        self.ask(id_, None, deadline, lane)

    @is_open
    @rule(id_=ids, token=st.none() | tokens, deadline=deadlines)
    def ask(self, id_: Id, token: Any, deadline: int | None, lane: str | None = None) -> None:
        """A request that takes until its session is let go."""
        self.asked += 1
        session = f"session {self.asked}"
        params: dict[str, Any] = {
            "agent": {"id": lane or "agent"},
            "content": [],
            "references": [{"sessionId": session}],
        }
        params |= {} if token is None else {"cancellationToken": token}
        params |= {} if deadline is None else {"deadlineMs": deadline}

        def taken() -> Ending | None:
            if self.is_choked:
                return BUSY
            for each in self.in_flight.values():
                if lane is not None and each.lane == lane:
                    each.cancel(CANCELLED)
            until = math.inf if deadline is None else self.loop.now + deadline / 1000
            self.in_flight[id_] = Asked(session, token, lane, until)
            self.sessions.append(session)
            return None

        self.request(id_, "prepare" if lane is None else "keystroke", params, taken)

    @is_open
    @rule(id_=ids, method=st.sampled_from(["parseText", "no/such", "$/cancel"]), good=st.booleans())
    def ask_at_once(self, id_: Id, method: str, good: bool) -> None:
        """A request that is answered where it is taken."""
        ending: Ending = -32601 if method != "parseText" else RESULT if good else -32602
        params = {"text": "x" if good else 5}
        self.request(id_, method, params, lambda: BUSY if self.is_choked else ending)

    @may_end
    @rule(id_=ids)
    def shut_down(self, id_: Id) -> None:
        def taken() -> Ending | None:
            for asked in self.in_flight.values():
                asked.cancel(TIMED_OUT)
            self.shutdown = id_ if self.in_flight else None
            return None if self.in_flight else RESULT

        self.request(id_, "shutdown", None, taken)

    @is_open
    @rule(id_=ids)
    def cancel(self, id_: Id) -> None:
        def taken() -> None:
            if id_ in self.in_flight:
                self.in_flight[id_].cancel(CANCELLED)

        self.say({"method": "$/cancelRequest", "params": {"id": id_}}, taken)

    @is_open
    @rule(id_=ids, turns=st.integers(0, 12))
    def cancel_late(self, id_: Id, turns: int) -> None:
        """The host cancels what is about to be answered."""
        self.let_go(0, RESULT)
        self.run(turns)
        self.cancel(id_)

    @is_open
    @rule(token=tokens)
    def cancel_token(self, token: Any) -> None:
        def taken() -> None:
            for asked in self.in_flight.values():
                if (asked.token, type(asked.token)) == (token, type(token)):
                    asked.cancel(CANCELLED)

        self.say({"method": "$/cancel", "params": {"token": token}}, taken)

    @precondition(lambda self: self.questions and not self.is_ending)
    @rule(id_=st.integers(1, 3), good=st.booleans())
    def reply(self, id_: int, good: bool) -> None:
        """The host answers a question of ours, or what it takes for one."""

        def taken() -> None:
            for question in self.questions:
                if question.id == id_ and not question.is_answered and not question.task.done():
                    question.is_answered = True
                    question.endings.add("answered" if good else "refused")

        outcome = {"result": {}} if good else {"error": {"code": 1, "message": "no"}}
        self.say({"id": id_, **outcome}, taken)

    @may_end
    @rule()
    def exit(self) -> None:
        self.is_ending = True
        self.say({"method": "exit"}, lambda: self.stop(0 if self.is_shut_down else 1))

    @rule()
    def cut(self) -> None:
        """What follows comes in another chunk."""
        self.upcoming.append(lambda: None)

    def request(
        self, id_: Id, method: str, params: Any, taken: Callable[[], Ending | None]
    ) -> None:
        """`taken`: how it ends at once, unless it is refused before."""
        self.say({"id": id_, "method": method, "params": params}, taken)

    def say(self, message: dict[str, Any], taken: Callable[[], Ending | None]) -> None:
        self.upcoming.append(Message({"jsonrpc": "2.0", **message}, taken))

    def deliver(self, messages: list[Message]) -> None:
        """Messages come in, in one chunk: each is admitted, then each is taken, then all begin."""
        self.take_answers()
        chunk = b"".join(json.dumps(each.content).encode() + b"\n" for each in messages)
        expected = self.admitted(messages)
        self.dispatcher.receive(chunk)
        for id_, asked in list(self.in_flight.items()):
            if asked.is_cancelled and not asked.is_begun:
                expected += [(id_, ending) for ending in asked.endings]
                del self.in_flight[id_]
            asked.is_begun = True
        if self.shutdown is not None and not self.in_flight:
            expected.append((self.shutdown, RESULT))
            self.shutdown = None
        assert [self.told(message) for message in self.heard()] == expected

    def admitted(self, messages: list[Message]) -> list[tuple[Id, Ending]]:
        """What the model says is answered at once."""
        taken = set(self.in_flight) | (set() if self.shutdown is None else {self.shutdown})
        refusals: list[Ending | None] = []
        for content, _ in messages:
            refused: Ending | None = None
            if "id" in content and "method" in content:
                id_, is_shutdown = content["id"], content["method"] == "shutdown"
                if id_ in taken or self.is_shut_down:
                    refused = -32600
                elif len(taken) >= IN_FLIGHT and not is_shutdown:
                    refused = BUSY
                else:
                    taken.add(id_)
                    self.is_shut_down = is_shutdown
            refusals.append(refused)
        endings = [
            each.taken() if refused is None else refused
            for each, refused in zip(messages, refusals, strict=True)
        ]
        answers = zip(messages, endings, strict=True)
        return [(each.content["id"], ending) for each, ending in answers if ending is not None]

    def heard(self) -> list[dict[str, Any]]:
        """What the host was told since the last time."""
        frames, self.outlet.frames = self.outlet.frames, []
        return [json.loads(line) for line in b"".join(frames).splitlines()]

    @property
    def is_choked(self) -> bool:
        return self.outlet.queued > QUEUED_BYTES

    # What else happens

    @rule(place=st.integers(0, 3), how=st.sampled_from([RESULT, RESULT, LOST, FAULT]))
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

    @rule(milliseconds=st.sampled_from([1, 10, 6_000, 31_000, 31_000]))
    def time_passes(self, milliseconds: int) -> None:
        def happen() -> None:
            self.loop.now += milliseconds / 1000
            for asked in self.in_flight.values():
                if asked.deadline <= self.loop.now:
                    asked.may_end(TIMED_OUT)
            for question in self.questions:
                if question.until <= self.loop.now:
                    question.endings.add("timed out")
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
            question = Question(self.loop.create_task(wondering))
            question.task.add_done_callback(lambda task: task.cancelled() or task.exception())
            self.questions.append(question)
            if self.drains_until is not None:
                question.endings.add("over")

        self.upcoming.append(happen)

    # How it ends

    @may_end
    @rule(waits=st.booleans())
    def end_of_input(self, waits: bool) -> None:
        """With `waits` the time is over that what is in flight gets then."""

        def happen() -> None:
            self.drains_until = math.inf
            self.say_no(begun=True)
            self.dispatcher.receive_end()

        self.is_ending = True
        self.upcoming.append(happen)
        if waits:
            self.come_to_rest()
            self.time_passes(31_000)

    @may_end
    @rule(code=st.sampled_from([0, 130]), turns=st.integers(0, 9))
    def suspended_at_the_end(self, code: int, turns: int) -> None:
        """Time is up before tasks had the turns of the loop that they need to come back."""
        self.signal(code)
        self.run(turns)
        self.time_passes(6_000)

    @may_end
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
            is_open = not (question.is_answered or question.task.done())
            if question.id is None or (begun and is_open):
                question.endings.add("over")

    # Running

    @rule()
    def come_to_rest(self) -> None:
        self.run(ALL)

    @rule(turns=st.sampled_from([0, 1, 2, 3, 5]))
    def run(self, turns: int) -> None:
        """All that is upcoming happens, with no task in between; then so many turns of the loop."""

        async def happen() -> None:
            self.take_answers()
            upcoming, self.upcoming = self.upcoming, []
            for is_message, some in groupby(upcoming, lambda each: isinstance(each, Message)):
                if is_message:
                    self.deliver(list(some))
                else:
                    for each in some:
                        each()
            if self.drains_until == math.inf:  # its time counts from when a task can see it
                self.drains_until = self.loop.now + LIMITS.eof_drain_seconds
            for _ in range(turns):
                await asyncio.sleep(0)
                self.take_answers()

        self.rounds += 1
        self.runner.run(happen())
        if turns == ALL:
            self.check_that_nothing_is_left()

    def take_answers(self) -> None:
        for message in self.heard():
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
                endings = endings - {RESULT} | {BUSY}
            assert ending in endings

    def take_question(self, message: dict[str, Any]) -> None:
        if message["method"] == "host/listLiveSessions":
            question = next(each for each in self.questions if each.id is None)
            question.id = message["id"]
            question.until = self.loop.now + ASKED_SECONDS
        else:
            assert message["method"] == "$/cancelRequest"
            (withdrawn,) = (q for q in self.questions if q.id == message["params"]["id"])
            assert "timed out" in withdrawn.endings
            assert not withdrawn.is_withdrawn
            withdrawn.is_withdrawn = True

    @staticmethod
    def told(message: dict[str, Any]) -> tuple[Id, Ending]:
        return message["id"], RESULT if "result" in message else message["error"]["code"]

    def check_that_nothing_is_left(self) -> None:
        assert [each for each in self.in_flight.values() if each.endings] == []
        assert self.shutdown is None or self.in_flight
        for question in self.questions:
            assert question.task.done() == bool(question.endings)
            if question.task.done():
                assert question.endings & question.told()
        assert self.dispatcher.in_flight == len(self.in_flight) + (self.shutdown is not None)
        is_over = self.drains_until is not None and not self.in_flight
        assert len(self.exit_codes) == is_over
        assert self.left_open == []
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


Conversation.TestCase.settings = settings(
    max_examples=500,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestConversation = Conversation.TestCase
