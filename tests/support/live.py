"""The host's side of live sessions: what it is asked, and the shapes that it answers with.

A test plays the host itself, one step at a time: nothing is answered that the test does not
answer, so a host that hangs is simply one that is not told to go on.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from support import answers, logs, requests
from support.sidecar import Sidecar, WireError, encode

INITIALIZE = {"protocolVersion": 1, "capabilities": {"liveSessions": True}}
READ = "host/readLiveSession"
LIST = "host/listLiveSessions"


def header(session_id: str, **more: Any) -> dict[str, Any]:
    """The header of a live session in the format of the rows that `logs` makes."""
    return {"id": session_id, "createdAt": logs.CREATED_AT, "version": 0, **more}


def said(*texts: str, first: int = 0, step: int = 1) -> list[dict[str, Any]]:
    """Messages of a person, their seqs from `first` on; a `step` above 1 leaves gaps."""
    return [
        {"seq": first + step * at, "time": logs.CREATED_AT, **logs.user(text)}
        for at, text in enumerate(texts)
    ]


def page(head: Any, events: Any, **more: Any) -> dict[str, Any]:
    """An answer to `host/readLiveSession`; `nextSeq` where there is more."""
    return {"header": head, "events": events, **more}


class Snapshot(NamedTuple):
    """What a `prepare` of one session came to."""

    texts: list[str]
    through: int | None
    """Its `capturedThroughSeq`."""
    session: dict[str, Any]
    """The object that is quoted."""
    reference: dict[str, Any]


def snapshot(result: Mapping[str, Any]) -> Snapshot:
    """The one snapshot of a result of `prepare`."""
    made = answers.prepared(result)
    (session,), (reference,) = json.loads(made["json"]), made["references"]
    assert session["capturedThroughSeq"] == reference["capturedThroughSeq"]
    texts = [item["text"] for item in session["conversation"]]
    return Snapshot(texts, session["capturedThroughSeq"], session, reference)


class Host:
    """A host that declared live sessions, and the sidecar that it spawned."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.sidecar = sidecar
        sidecar.call("initialize", INITIALIZE)

    # what the host wants

    def prepare(self, session_id: str, **more: Any) -> int | str:
        """Ask for a snapshot; the request's id."""
        return self.sidecar.request("prepare", requests.prepare(session_id, **more))

    def list(self, **more: Any) -> int | str:
        """Ask for candidates; the request's id."""
        return self.sidecar.request("listCandidates", {"agent": requests.AGENT, **more})

    def push(self, sessions: Sequence[Any] | None) -> None:
        """Tell what the live sessions are now."""
        self.sidecar.notify("sessions/changed", {"sessions": sessions})

    def cancel(self, request_id: object) -> None:
        self.sidecar.notify("$/cancelRequest", {"id": request_id})

    def snapshot(self, request_id: object) -> Snapshot:
        """The snapshot that answers a `prepare`."""
        return snapshot(self.sidecar.settle(request_id))

    def candidates(self, request_id: object) -> dict[str, dict[str, Any]]:
        """The candidates that answer a `listCandidates` which left nothing out, by id."""
        result = self.sidecar.settle(request_id)
        assert result["isIncomplete"] is False
        return by_id(result)

    def failure(self, request_id: object) -> WireError:
        """The error that answers a request."""
        answer = self.sidecar.answer(request_id)
        assert "error" in answer, answer
        return WireError(answer["error"])

    # what the sidecar wants

    def asked_to_read(self, session_id: str, after: int | None = None) -> object:
        """The sidecar asks for a page of this session; the question's id."""
        question = self.sidecar.asked(READ)
        expected = {"sessionId": session_id}
        if after is not None:
            expected = {**expected, "afterSeq": after}
        assert question["params"] == expected
        return question["id"]

    def asked_to_list(self) -> object:
        """The sidecar asks which sessions are live; the question's id."""
        question = self.sidecar.asked(LIST)
        assert question.get("params", {}) == {}
        return question["id"]

    def withdrawn(self) -> object:
        """The sidecar cancels a question of its own; that question's id."""
        notification = self.sidecar.asked("$/cancelRequest")
        assert list(notification["params"]) == ["id"]
        assert "id" not in notification
        return notification["params"]["id"]

    def answer(self, question_id: object, result: object) -> None:
        self.sidecar.respond(question_id, result)

    def refuse(self, question_id: object, error: object) -> None:
        """Answer a question with an error."""
        self.sidecar.send_raw(encode({"jsonrpc": "2.0", "id": question_id, "error": error}))

    def is_asked_nothing(self) -> bool:
        """Whether everything that the sidecar wants so far was heard by the test."""
        self.sidecar.call("status")  # what was sent before has had its turn when this is answered
        return self.sidecar.unclaimed() == []

    # both, for tests of something else

    def read(self, session_id: str, *pages: object) -> int | str:
        """Ask for a snapshot and answer what is asked for it, a page a question."""
        request_id = self.prepare(session_id)
        for each in pages:
            question = self.sidecar.asked(READ)
            assert question["params"]["sessionId"] == session_id
            self.answer(question["id"], each)
        return request_id

    def listed(self, *headers: object, **more: Any) -> dict[str, dict[str, Any]]:
        """Ask for candidates and say that these are the live sessions."""
        request_id = self.list(**more)
        self.answer(self.asked_to_list(), {"sessions": headers})
        return self.candidates(request_id)


def by_id(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The candidates of a result, which has each id once."""
    found = {candidate["sessionId"]: candidate for candidate in result["candidates"]}
    assert len(found) == len(result["candidates"])
    return found
