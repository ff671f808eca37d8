"""A host with very many agents that keeps the program busy, and does not forgive.

Every request must be answered once, and rightly; nothing may hang, and nothing may grow. One loop
does everything, in the order in which lines come from the program. What is asked is `agents`'
concern, what is referred to that of `sessions`, what may grow that of `vitals`.
"""

import heapq
import itertools
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from benchmarks.measure import PROGRAM, Peer, environment
from benchmarks.soak.agents import Agent, Asked
from benchmarks.soak.sessions import Live, Logs
from benchmarks.soak.vitals import Vitals, growth, vitals

AGENTS: Final = 100
IN_FLIGHT: Final = 1_000

_WARM_UP: Final = 0.3
"""The share of the time in which everything may grow."""
_LONGEST_WARM_UP: Final = 60.0

_WRITE_SECONDS: Final = 0.02
_LOOK_SECONDS: Final = 0.5
_SILENCE_SECONDS: Final = 60.0
"""Twice what the program waits for its host. After that it hangs."""

_CANCELS: Final = 0.1
_TOKEN_CANCELS: Final = 0.002
_CANCELS_OF_NOTHING: Final = 0.01
_FAILURES: Final = 0.01
"""How often the host answers with an error."""
_SLOWNESS: Final = 0.02
_SLOWEST: Final = 200
"""How often the host lets some more lines of the program pass before it answers, and how many."""
_PUSHES: Final = 0.005

_MOST_COMPLAINTS: Final = 20


class Soak:
    """One run."""

    def __init__(
        self, folder: Path, seed: int, seconds: float, program: Sequence[str] = (str(PROGRAM),)
    ) -> None:
        """`folder`: for all that is written; `seconds`: how long something new is asked."""
        self._seconds = seconds
        self._warm_up = min(seconds * _WARM_UP, _LONGEST_WARM_UP)
        self._random = Random(seed)
        self._logs = Logs(folder / "corpus", Random(seed))
        self._live = Live(Random(seed))
        sessions = [*self._logs.ids, *self._live.ids]
        self._agents = [Agent(self._random, sessions) for _ in range(AGENTS)]
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[Agent, Asked]] = {}
        self._late: list[tuple[int, int, bytes]] = []
        """Answers of the host: after which line of the program they are due, and its question."""
        self._heard = 0
        self._log = folder / "log"
        command = [*program, "--root", str(self._logs.root), "--log-file", str(self._log)]
        self._peer = Peer(command, environment(folder / "cache"))
        self._began = time.monotonic()
        self._is_over = False
        self.complaints: list[str] = []
        self.taken: dict[str, array[float]] = defaultdict(lambda: array("d"))
        """Seconds to the answers, by method, after the warm-up."""
        self.answers = 0
        self.errors: Counter[str] = Counter()
        self.vitals: list[Vitals] = []

    def run(self) -> None:
        """Keep it busy, then end it."""
        with self._peer:
            hello = {"protocolVersion": 1, "capabilities": {"liveSessions": True}}
            first = {"id": 0, "method": "initialize", "params": hello}
            assert "result" in msgspec.json.decode(self._peer.ask(_line(first)))
            quiet = vitals(self._peer.process_id, self._now)
            try:
                self._say([self._ask(agent) for agent in self._everybody()])
                self._serve()
            except TimeoutError as error:
                self._complain(str(error))
            else:
                self._end(quiet)
        if self._peer.exit_code != 0:
            self._complain(f"it ended with {self._peer.exit_code}")
        if self._log.exists() and "ERROR" in (told := self._log.read_text()):
            self._complain(f"it tells of errors of its own: {told[:1000]}")

    def growth(self) -> list[str]:
        """What went on growing after the warm-up."""
        return growth([each for each in self.vitals if each.at <= self._seconds], self._warm_up)

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _everybody(self) -> Iterator[Agent]:
        return itertools.islice(itertools.cycle(self._agents), IN_FLIGHT)

    def _serve(self) -> None:
        written = looked = heard = self._now
        while self._waiting and len(self.complaints) < _MOST_COMPLAINTS:
            lines = self._peer.lines(_WRITE_SECONDS)
            now = self._now
            self._is_over = now >= self._seconds
            if lines:
                heard = now
            elif now - heard > _SILENCE_SECONDS:
                raise TimeoutError(f"{len(self._waiting)} requests were not answered")
            messages = list(map(msgspec.json.decode, lines))
            self._heard += len(lines)
            for hear in (self._answer, self._settle):  # nobody waits longer than for us to read
                self._say([each for message in messages for each in hear(message)])
            while written < now and not self._is_over:
                written += _WRITE_SECONDS
                self._logs.write()
                self._live.go_on()
            if looked < now:
                looked += _LOOK_SECONDS
                self.vitals.append(vitals(self._peer.process_id, now))

    # What the host says

    def _say(self, lines: Iterable[bytes]) -> None:
        """Raises `TimeoutError`: whoever has much to say must be able to, whatever he hears."""
        self._peer.send_within(_SILENCE_SECONDS, b"".join(lines))

    def _ask(self, agent: Agent) -> bytes:
        request, asked = agent.ask(self._now)
        request_id = next(self._ids)
        self._waiting[request_id] = agent, asked
        return _line({"id": request_id, **request})

    def _cancel(self) -> Iterator[bytes]:
        random = self._random
        if self._waiting and random.random() < _CANCELS:
            request_id = random.choice(list(self._waiting))
            self._waiting[request_id][1].is_cancelled = True
            yield _line({"method": "$/cancelRequest", "params": {"id": request_id}})
        if self._waiting and random.random() < _TOKEN_CANCELS:
            token = self._waiting[random.choice(list(self._waiting))][1].token
            if token is not None:
                for _, asked in self._waiting.values():
                    asked.is_cancelled |= asked.token == token
                yield _line({"method": "$/cancel", "params": {"token": token}})
        if random.random() < _CANCELS_OF_NOTHING:
            nobody = random.choice((0, -1, "1", 10**9))
            yield _line({"method": "$/cancelRequest", "params": {"id": nobody}})

    def _push(self) -> Iterator[bytes]:
        if self._random.random() < _PUSHES:
            sessions = self._live.headers() if self._random.random() < 0.5 else None
            yield _line({"method": "sessions/changed", "params": {"sessions": sessions}})

    # What it hears

    def _settle(self, message: Any) -> Iterator[bytes]:
        """An answer to one of the agents, which asks something else."""
        if "method" in message:
            return
        waiting = self._waiting.pop(message["id"], None)
        if waiting is None:
            self._complain(f"an answer that nobody waits for: {message}")
            return
        agent, asked = waiting
        self._judge(asked, message)
        if not self._is_over:
            yield self._ask(agent)
            yield from self._cancel()
            yield from self._push()

    def _answer(self, message: Any) -> Iterator[bytes]:
        """What the program asks, or says; and what it asked before and is to be told by now."""
        match message.get("method"):
            case "$/cancelRequest":
                self._withdraw(message["params"]["id"])
            case "$/progress":
                self._check_progress(message["params"]["token"])
            case "host/listLiveSessions" | "host/readLiveSession":
                yield from self._tell(message["id"], message["method"], message.get("params"))
        while self._late and (self._late[0][0] <= self._heard or self._is_over):
            yield heapq.heappop(self._late)[-1]

    def _withdraw(self, question: int) -> None:
        """The program does not want to be told any more; nor is it, if it was not."""
        self._late = [each for each in self._late if each[1] != question]
        heapq.heapify(self._late)

    def _check_progress(self, token: str) -> None:
        if all(asked.progress != token for _, asked in self._waiting.values()):
            self._complain(f"progress of nothing that is under way: {token}")

    def _tell(self, question: int, method: str, params: Any) -> Iterator[bytes]:
        """What the host answers, if it does so at once."""
        if self._random.random() < _FAILURES:
            told = {"error": {"code": -1, "message": "not now"}}
        elif method == "host/listLiveSessions":
            told = {"result": {"sessions": self._live.headers()}}
        else:
            told = {"result": self._live.page(params["sessionId"], params.get("afterSeq"))}
        line = _line({"id": question, **told})
        if self._random.random() < _SLOWNESS:
            due = self._heard + self._random.randint(1, _SLOWEST)
            heapq.heappush(self._late, (due, question, line))
        else:
            yield line

    def _judge(self, asked: Asked, answer: Any) -> None:
        self.answers += 1
        if asked.at >= self._warm_up:
            self.taken[asked.method].append(self._now - asked.at)
        if "error" in answer:
            data = answer["error"].get("data", {})
            self.errors[f"{answer['error']['code']} {data.get('cause', '')}".strip()] += 1
        try:
            complaint = asked.complaint(answer)
        except (KeyError, IndexError, TypeError, ValueError, StopIteration) as error:
            complaint = f"an answer to {asked.method} of no shape: {error!r}"
        if complaint is not None:
            self._complain(complaint)

    def _complain(self, complaint: str) -> None:
        if len(self.complaints) < _MOST_COMPLAINTS:
            self.complaints.append(complaint)

    # The end

    def _end(self, quiet: Vitals) -> None:
        """When all is answered, nothing of it is held; and it ends as it should."""
        if self._waiting:
            return  # there were complaints enough
        status = msgspec.json.decode(self._peer.ask(_line({"id": 0, "method": "status"})))
        while status.get("id") != 0:
            status = msgspec.json.decode(self._peer.answer())
        if status["result"]["requestsInFlight"]:
            self._complain("requests are in flight although all are answered")
        at_last = vitals(self._peer.process_id, self._now)
        if at_last.descriptors > quiet.descriptors + _KEPT_DESCRIPTORS:
            self._complain(
                f"{at_last.descriptors} descriptors are open, {quiet.descriptors} at first"
            )
        self._peer.send(_line({"id": 0, "method": "shutdown"}) + _line({"method": "exit"}))


_KEPT_DESCRIPTORS: Final = 4
"""The index: the database, its log, and what they share."""


def _line(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"
