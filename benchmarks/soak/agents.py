"""What the agents of a soak ask, each in its turn, and what is right to answer.

An agent lives for some hundred requests, and another one takes its place. Knows no processes.
"""

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from sessionref_protocol.mention import format_mention

_LIFE: Final = 300
"""Requests."""

_TOKENS: Final = 0.5
_DEADLINES: Final = 0.1
_SHORTEST_MS: Final = 1
_LONGEST_MS: Final = 2_000

_FOLDERS: Final = tuple(f"/work/app-{number}" for number in range(30))
_QUERIES: Final = ("", "", "ing", "test", "live", "fix login", "no such thing")
_POLICIES: Final = (
    "native",
    "never-block",
    {"placement": "after", "onFailure": "skip"},
)

READ_FAILED: Final = -32014
_PASSING: Final = frozenset({"changed", "host"})
"""Why a session may not be had just now: its log was replaced twice, the host failed."""

Judge = Callable[[Any], bool]
"""Whether a result is right."""


@dataclass(slots=True)
class Asked:
    """A request under way."""

    method: str
    at: float
    """When it was sent, in seconds."""
    is_right: Judge
    error: int | None = None
    """The only code that it can be answered with."""
    token: str | None = None
    progress: str | None = None
    may_be_late: bool = False
    is_cancelled: bool = False

    def complaint(self, answer: Any) -> str | None:
        """What is wrong with the answer, in words."""
        if "result" in answer:
            if self.error is None and self.is_right(answer["result"]):
                return None
            return f"a wrong result of {self.method}: {_short(answer['result'])}"
        error = answer["error"]
        code, cause = error["code"], error.get("data", {}).get("cause")
        if (
            code == self.error
            or (code == -32800 and self.is_cancelled)
            or (code == -32802 and self.may_be_late)
            or (code == READ_FAILED and cause in _PASSING)
        ):
            return None
        return f"a wrong error of {self.method}: {_short(error)}"


class Agent:
    """One of those who ask."""

    _names: Final = itertools.count()

    def __init__(self, random: Random, sessions: Sequence[str]) -> None:
        """`sessions`: the ids of those that can be had."""
        self._random = random
        self._sessions = sessions
        self._left = 0
        self._agent: dict[str, str] = {}
        self._tokens = itertools.count()
        self._asks = [
            (20, self._list),
            (20, self._parse),
            (15, self._prepare),
            (15, self._pre_step),
            (10, self._preview),
            (8, self._read),
            (5, self._format),
            (3, self._status),
            (2, self._itself),
            (1, self._unknown),
            (1, self._malformed),
        ]
        self._weights = [weight for weight, _ in self._asks]

    def ask(self, now: float) -> tuple[dict[str, Any], Asked]:
        """The method and params of its next request, and what is to be expected."""
        if not self._left:
            self._left = _LIFE
            name = f"agent-{next(self._names)}"
            self._agent = {"id": name, "cwd": self._random.choice(_FOLDERS)}
        self._left -= 1
        ((_, make),) = self._random.choices(self._asks, self._weights)
        method, params, is_right, error = make()
        asked = Asked(method, now, is_right, error)
        if method != "status" and "text" not in params and self._random.random() < _TOKENS:
            asked.token = f"{self._agent['id']}/{next(self._tokens) // 5}"
            params["cancellationToken"] = asked.token
        if "agent" in params and self._random.random() < _DEADLINES:
            asked.may_be_late = True
            params["deadlineMs"] = self._random.randint(_SHORTEST_MS, _LONGEST_MS)
        if method == "listCandidates" and self._random.random() < _TOKENS:
            asked.progress = f"{self._agent['id']}-{self._left}"
            params["workDoneToken"] = asked.progress
        return {"method": method, "params": params}, asked

    def _some(self) -> list[str]:
        return self._random.sample(self._sessions, self._random.randint(1, 3))

    def _list(self) -> "_Question":
        limit = self._random.choice((5, 50))
        params = {"agent": self._agent, "query": self._random.choice(_QUERIES), "limit": limit}
        own = self._agent["id"]

        def is_right(result: Any) -> bool:
            ids = [each["sessionId"] for each in result["candidates"]]
            return (
                len(ids) == len(set(ids)) == min(limit, result["total"])
                and own not in ids
                and all(each["mention"].startswith("@[") for each in result["candidates"])
            )

        return "listCandidates", params, is_right, None

    def _parse(self) -> "_Question":
        ids = self._some()
        mentions = [format_mention(each, f"label {each}") for each in ids]
        text = "words 中文 " * self._random.randrange(50)
        expected = text + " ".join(f"@label {each}" for each in ids)

        def is_right(result: Any) -> bool:
            found = [each["sessionId"] for each in result["references"]]
            return bool(result["text"] == expected and found == ids)

        return "parseText", {"text": text + " ".join(mentions)}, is_right, None

    def _format(self) -> "_Question":
        (session_id, *_) = self._some()
        mention = format_mention(session_id, "x")

        def is_right(result: Any) -> bool:
            return bool(result["mention"] == mention)

        return "formatMention", {"sessionId": session_id, "label": "x"}, is_right, None

    def _prepare(self) -> "_Question":
        ids = self._some()

        def is_right(result: Any) -> bool:
            return _are_quoted(result["additionalContext"], ids)

        params = {"agent": self._agent, "content": [], "references": _references(ids)}
        return "prepare", params, is_right, None

    def _pre_step(self) -> "_Question":
        ids = self._some()
        text = " ".join(format_mention(each, each) for each in ids)
        message = {
            "id": "m",
            "role": "user",
            "source": {"kind": "user"},
            "content": [_text(text)],
        }
        decision = {"kind": "enter", "messages": [message]}
        params = {
            "agent": self._agent,
            "decision": decision,
            "policy": self._random.choice(_POLICIES),
        }

        readable = {**message, "content": [_text(" ".join(f"@{each}" for each in ids))]}

        def is_right(result: Any) -> bool:
            (outcome,) = result["outcomes"]
            told = result["decision"]["messages"]
            if outcome["status"] == "failed":
                return told in ([message], [readable])
            context = next(each for each in told if each["id"] == outcome.get("contextId"))
            prepared = [
                each["sessionId"]
                for each in outcome["references"]
                if each["status"] in ("prepared", "empty")
            ]
            return len(told) == 2 and _are_quoted(context, prepared)

        return "preStep", params, is_right, None

    def _preview(self) -> "_Question":
        ids = self._some()

        def is_right(result: Any) -> bool:
            return [each["sessionId"] for each in result["sources"]] == ids

        return "preview", {"agent": self._agent, "references": _references(ids)}, is_right, None

    def _read(self) -> "_Question":
        (session_id, *_) = self._some()

        def is_right(result: Any) -> bool:
            return result["sessionId"] == session_id and len(result["items"]) <= 20

        params = {"agent": self._agent, "sessionId": session_id, "limit": 20}
        return "readSnapshot", params, is_right, None

    def _status(self) -> "_Question":
        return "status", {}, lambda result: result["requestsInFlight"] > 0, None

    def _itself(self) -> "_Question":
        references = _references([self._agent["id"]])
        params = {"agent": self._agent, "content": [], "references": references}
        return "prepare", params, _never, -32012

    def _unknown(self) -> "_Question":
        return "noSuchMethod", {}, _never, -32601

    def _malformed(self) -> "_Question":
        return "prepare", {"agent": self._agent, "content": 5, "references": {}}, _never, -32602


_Question = tuple[str, dict[str, Any], Judge, int | None]


def _never(_: Any) -> bool:
    return False


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _references(ids: Sequence[str]) -> list[dict[str, str]]:
    return [{"sessionId": each} for each in ids]


def _are_quoted(context: Any, ids: Sequence[str]) -> bool:
    """Whether a context message quotes these sessions, in this order, and nothing breaks out."""
    (block,) = context["content"]
    quoted = block["text"].split("<referenced-sessions>\n")[1].split("\n</referenced-sessions>")[0]
    sessions = json.loads(quoted)
    told = [each["sessionId"] for each in context["source"]["references"]]
    return told == [each["sessionId"] for each in sessions] == list(ids) and "<" not in quoted


def _short(value: Any) -> str:
    return json.dumps(value)[:300]
