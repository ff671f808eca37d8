"""Each hostile log is answered, or refused at a limit, in bounded memory and time.

Every log is asked for in every way that reads it, of a program of its own: at most 256 MiB at any
time and 10 s of a processor for each question, and the exact answer.
"""

from pathlib import Path
from typing import Any

import pytest

from hostile import cost, table
from hostile.frames import compressed
from hostile.logs import (
    CASES,
    CORRUPT,
    CWD,
    ID,
    MIB,
    Case,
    a_window_of_128_megabytes,
    everything_as_large_as_it_may_be,
    many,
    put,
)
from support import logs, requests
from support.sidecar import Sidecar, WireError

pytestmark = cost.needs_proc

BUDGET_EXCEEDED, READ_FAILED = -32015, -32014
REFERENCES = {"agent": requests.AGENT, "references": [{"sessionId": ID}]}


class Question:
    """One case, asked in every way; what each costs is checked and put down."""

    def __init__(self, case: Case, sidecar: Sidecar, watched: cost.Watched) -> None:
        self.case = case
        self.sidecar = sidecar
        self.watched = watched

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result, or the error as an object."""
        try:
            answer = self.sidecar.call(method, params, timeout=cost.PATIENCE)
        except WireError as error:
            answer = error
        self.watched.lap().charge(self.case.row)
        return answer

    def check(self, error: WireError) -> None:
        """An error is the one that it should be, with a reason that people can use."""
        assert error.code == (BUDGET_EXCEEDED if self.case.budget else READ_FAILED)
        if self.case.refused:
            assert error.data["cause"] == CORRUPT
            assert error.data["retryable"] is False
            assert self.case.refused in error.message

    @property
    def is_answered(self) -> bool:
        return not (self.case.refused or self.case.budget)

    def list(self) -> None:
        listed = self.ask("listCandidates", {"agent": requests.AGENT, "query": ID})
        labels = [(each["label"], each.get("cwd")) for each in listed["candidates"]]
        assert labels == ([(ID, CWD)] if self.case.is_listed else [])

    def prepare(self) -> None:
        prepared = self.ask("prepare", requests.prepare(ID))
        if not self.is_answered:
            self.check(prepared)
            return
        assert messages_of(prepared) == self.case.messages

    def preview(self) -> None:
        (source,) = self.ask("preview", REFERENCES)["sources"]
        assert source["status"] == "prepared"
        assert source["stats"]["originalMessages"] == self.case.messages

    def salvage(self) -> None:
        """With salvage it is answered with what precedes the damage, or refused as without."""
        params = requests.prepare(ID, config={"salvage": True})
        prepared = self.ask("prepare", params)
        if isinstance(prepared, WireError):
            self.check(prepared)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_hostile_log_costs_no_more_than_its_bounds(case: Case, brief_path: Path) -> None:
    root = brief_path / "sessions"
    case.write(root)
    with (
        Sidecar("--log-level", "error", roots=[root]) as sidecar,
        cost.watched(sidecar.process.pid) as watched,
    ):
        sidecar.call("status")
        watched.lap()
        question = Question(case, sidecar, watched)
        if case.is_slow:
            question.prepare()
        else:
            question.list()
            question.prepare()
            question.salvage()
            if question.is_answered:
                question.preview()
        assert sidecar.stderr == b""
    if not case.is_slow:
        examine(case, root, brief_path)


def examine(case: Case, root: Path, home: Path) -> None:
    """What `doctor` tells people of it."""
    report, spent = cost.doctor(root, home)
    spent.charge(case.row)
    problems = [(each["cause"], each["reason"]) for each in report["problems"]]
    if case.refused:
        ((cause, reason),) = problems
        assert cause == CORRUPT
        assert case.refused in reason
    else:
        assert problems == []


def test_large_windows_are_read_one_after_another(brief_path: Path) -> None:
    root, ids = brief_path / "sessions", "abc"
    for session_id in ids:
        a_window_of_128_megabytes(root, session_id)
    with (
        Sidecar("--log-level", "error", roots=[root]) as sidecar,
        cost.watched(sidecar.process.pid) as watched,
    ):
        requested = [sidecar.request("prepare", requests.prepare(each)) for each in ids]
        for request in requested:
            assert messages_of(sidecar.settle(request, timeout=cost.PATIENCE)) == 1
        watched.lap().charge(table.WINDOWS)


def test_what_was_read_before_leaves_room_for_what_is_read_next(brief_path: Path) -> None:
    root = brief_path / "sessions"
    put(root, compressed(many(60, logs.user("a" * MIB))), session_id="before")
    everything_as_large_as_it_may_be(root, "largest")
    with (
        Sidecar("--log-level", "error", roots=[root]) as sidecar,
        cost.watched(sidecar.process.pid) as watched,
    ):
        for session_id, messages in (("before", 60), ("largest", 32)) * 2:
            params = requests.prepare(session_id)
            prepared = sidecar.call("prepare", params, timeout=cost.PATIENCE)
            assert messages_of(prepared) == messages
            watched.lap().charge(table.AFTER)


def messages_of(prepared: Any) -> int:
    """How many messages the one source has that was prepared."""
    (reference,) = prepared["additionalContext"]["source"]["references"]
    count: int = reference["originalMessages"]
    return count
