"""Which sessions are live: what the host lists or pushes, beside what is on disk, and what follows
for a list of candidates and for a read. The reading itself is in `test_wire_live`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import logs, requests
from support.live import INITIALIZE, READ, Host, by_id, header, page, said
from support.sidecar import Sidecar, encode

BOTH = "both"
"""On disk, and known to the host, which is ahead."""
STORED = "stored"
"""On disk only."""
LIVE = "live-one"
"""Known to the host only."""

CWD = "/work/shop"
PATIENT = {"deadlineMs": 3000}
"""Long enough for a busy machine, short enough for a test."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    logs.write_log(tmp_path, BOTH, [logs.user("x"), logs.title("As stored")], cwd=CWD)
    logs.write_log(tmp_path, STORED, [logs.user("stored"), logs.title("Stored")], cwd=CWD)
    return tmp_path


@pytest.fixture
def host(root: Path) -> Iterator[Host]:
    """A host whose sidecar is asked nothing more, and asks nothing more, at the end of a test."""
    with Sidecar(roots=[root]) as sidecar:
        spawned = Host(sidecar)
        yield spawned
        assert spawned.is_asked_nothing()


def labels(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {session_id: candidate["label"] for session_id, candidate in found.items()}


STORED_LABELS = {BOTH: "As stored", STORED: "Stored"}


class TestTheList:
    def test_where_a_session_is_and_whether_it_runs(self, host: Host) -> None:
        found = host.listed(
            header(BOTH, cwd=CWD, title="As it is now", running=True),
            header(LIVE, cwd=CWD, title="Live", running=False),
        )
        assert labels(found) == {BOTH: "As it is now", LIVE: "Live", STORED: "Stored"}
        where = {
            session_id: (each["live"], each["persisted"], each.get("running"))
            for session_id, each in found.items()
        }
        assert where == {
            BOTH: (True, True, True),
            LIVE: (True, False, False),
            STORED: (False, True, None),
        }

    def test_what_the_header_says_is_what_the_candidate_says(self, host: Host) -> None:
        told = {"cwd": CWD, "origin": "subagent", "parentSession": "p", "delegationDepth": 2}
        head = header(LIVE, createdAt=5, version=3, agentPreset="ptc", title="T", **told)
        found = host.listed(head)[LIVE]
        expected = {**told, "createdAt": 5, "formatVersion": 3, "agentPreset": "ptc"}
        assert {name: found[name] for name in expected} == expected
        assert found["mention"].startswith("@[T](dsh-session:")

    @pytest.mark.parametrize("running", [None, 0, 1, "true", [], {}])
    def test_a_member_of_a_wrong_type_counts_as_absent(self, host: Host, running: object) -> None:
        odd = {"running": running, "cwd": 5, "origin": [], "delegationDepth": -1, "version": "4"}
        found = host.listed(header(LIVE, title="T", **odd))[LIVE]
        assert not {"running", "cwd", "origin", "delegationDepth"} & found.keys()
        assert (found["live"], found["formatVersion"]) == (True, 4)

    def test_what_is_no_header_is_no_session_and_hides_no_other(self, host: Host) -> None:
        bad: list[object] = [None, 5, "x", [], {}, {"id": "a"}, {"createdAt": 1}]
        bad += [header("b", createdAt=-1), header("c", createdAt="1"), header(7)]
        found = host.listed(*bad[:5], header(LIVE, title="T"), *bad[5:])
        assert found.keys() == {BOTH, STORED, LIVE}

    def test_live_sessions_are_ranked_counted_and_cut_like_others(self, host: Host) -> None:
        created = logs.CREATED_AT
        headers = [
            header("elsewhere", cwd="/x", title="e", createdAt=created + 9),
            header("newer", cwd=CWD, title="n", createdAt=created + 1),
            header("nowhere", title="w", createdAt=created + 8),
            header(requests.AGENT["id"], cwd=CWD, title="the agent's own"),
        ]
        agent = {**requests.AGENT, "cwd": CWD}
        order = ["newer", BOTH, STORED, "nowhere", "elsewhere"]
        assert list(host.listed(*headers, agent=agent)) == order
        request_id = host.list(agent=agent, limit=2)
        host.answer(host.asked_to_list(), {"sessions": headers})
        result = host.sidecar.settle(request_id)
        assert list(by_id(result)) == order[:2]
        assert result["total"] == 5

    def test_filters_and_queries_go_by_what_the_host_says(self, host: Host) -> None:
        head = header(BOTH, cwd=CWD, title="Of now", origin="subagent")
        assert host.listed(head, query="stored").keys() == {STORED}
        assert host.listed(head, query="OF NOW").keys() == {BOTH}
        assert host.listed(head, include={"subagents": False}).keys() == {STORED}

    def test_lone_surrogates(self, host: Host) -> None:
        found = host.listed(header("\ud83d", title="\udc00 half", cwd="/\ud800"))["\ud83d"]
        assert (found["label"], found["cwd"]) == ("\udc00 half", "/\ud800")

    def test_a_list_of_none(self, host: Host) -> None:
        assert labels(host.listed()) == STORED_LABELS


class TestTitles:
    def test_a_title_that_the_header_has_is_not_looked_for(self, host: Host) -> None:
        assert host.listed(header(LIVE, title=""))[LIVE]["label"] == ""

    @pytest.mark.parametrize("odd", [{}, {"title": None}, {"title": 47}])
    def test_else_it_is_that_of_the_events(self, host: Host, odd: dict[str, Any]) -> None:
        head = header(LIVE, **odd)
        request_id = host.list()
        host.answer(host.asked_to_list(), {"sessions": [head]})
        rows = logs.numbered([logs.title("One"), logs.user("x"), logs.title("Two")])
        host.answer(host.asked_to_read(LIVE), page(head, rows[:2], nextSeq=2))
        host.answer(host.asked_to_read(LIVE, after=1), page(head, rows[2:]))
        assert host.candidates(request_id)[LIVE]["label"] == "Two"

    def test_a_query_finds_the_title_of_the_events(self, host: Host) -> None:
        head = header(LIVE)
        request_id = host.list(query="needle")
        host.answer(host.asked_to_list(), {"sessions": [head]})
        told = page(head, logs.numbered([logs.title("A needle")]))
        host.answer(host.asked_to_read(LIVE), told)
        assert labels(host.candidates(request_id)) == {LIVE: "A needle"}

    @pytest.mark.parametrize("told", [5, None, page(header("other"), [])])
    def test_a_session_that_can_not_be_read_has_its_id(self, host: Host, told: object) -> None:
        request_id = host.list()
        host.answer(host.asked_to_list(), {"sessions": [header(LIVE), header("b", title="B")]})
        host.answer(host.asked_to_read(LIVE), told)
        assert labels(host.candidates(request_id)) == {**STORED_LABELS, LIVE: LIVE, "b": "B"}

    def test_at_most_eight_are_looked_for_at_one_time(self, host: Host) -> None:
        ids = [f"live-{number}" for number in range(10)]
        request_id = host.list()
        host.answer(host.asked_to_list(), {"sessions": [header(each) for each in ids]})
        questions = [host.sidecar.asked(READ) for _ in range(8)]
        assert host.is_asked_nothing()
        for _ in range(10):
            question = questions.pop() if questions else host.sidecar.asked(READ)
            session_id = question["params"]["sessionId"]
            rows = logs.numbered([logs.title(session_id.upper())])
            host.answer(question["id"], page(header(session_id), rows))
        found = host.candidates(request_id)
        assert {found[each]["label"] for each in ids} == {each.upper() for each in ids}

    def test_a_title_that_does_not_come_holds_up_no_list(self, host: Host) -> None:
        request_id = host.list(**PATIENT)
        host.answer(host.asked_to_list(), {"sessions": [header(LIVE), header("b", title="B")]})
        question_id = host.asked_to_read(LIVE)
        found = by_id(host.sidecar.settle(request_id))
        assert labels(found) == {**STORED_LABELS, LIVE: LIVE, "b": "B"}
        assert host.withdrawn() == question_id

    def test_those_that_come_are_shown_all_the_same(self, host: Host) -> None:
        request_id = host.list(**PATIENT)
        host.answer(host.asked_to_list(), {"sessions": [header("a"), header(LIVE)]})
        host.answer(
            host.asked_to_read("a"), page(header("a"), logs.numbered([logs.title("In time")]))
        )
        question_id = host.asked_to_read(LIVE)
        found = by_id(host.sidecar.settle(request_id))
        assert labels(found) == {**STORED_LABELS, LIVE: LIVE, "a": "In time"}
        assert host.withdrawn() == question_id


class TestHeadersThatContradictTheLog:
    ODD = (header(BOTH, cwd="/elsewhere"), header(BOTH), header(BOTH, cwd=CWD, createdAt=1))

    @pytest.mark.parametrize("head", ODD, ids=["another cwd", "no cwd", "created anew"])
    def test_are_a_conflict_for_that_session(self, host: Host, head: dict[str, Any]) -> None:
        other = header(LIVE, title="Fine")
        found = host.listed(head, other)
        assert labels(found) == {BOTH: BOTH, STORED: "Stored", LIVE: "Fine"}
        error = host.failure(host.read(BOTH, page(head, said("live"))))
        assert error.code == -32014
        assert error.data == {
            "code": "SESSION_REFERENCE_READ_FAILED",
            "retryable": False,
            "cause": "conflict",
            "sessionId": BOTH,
            "inputIndex": 0,
        }
        assert host.snapshot(host.read(LIVE, page(other, said("fine")))).texts == ["fine"]
        assert host.snapshot(host.read(STORED, None)).texts == ["stored"]

    def test_no_more_once_the_host_says_what_the_log_says(self, host: Host) -> None:
        host.listed(self.ODD[0])
        right = header(BOTH, cwd=CWD, title="Right")
        assert host.snapshot(host.read(BOTH, page(right, said("live")))).texts == ["live"]
        assert host.listed(right)[BOTH]["label"] == "Right"

    def test_no_more_once_the_host_has_no_such_session(self, host: Host) -> None:
        host.listed(self.ODD[0])
        assert host.snapshot(host.read(BOTH, None)).texts == ["x"]

    def test_another_format_is_no_contradiction(self, host: Host) -> None:
        """A host may hold in a newer format what the disk still has in an older one."""
        head = header(BOTH, cwd=CWD, version=4, title="T", agentPreset="p", delegationDepth=1)
        assert host.listed(head)[BOTH]["label"] == "T"
        found = host.snapshot(host.read(BOTH, page(head, said("live"))))
        assert (found.texts, found.reference["capturedFormatVersion"]) == (["live"], 4)


class TestAHostThatFailsToList:
    def test_past_a_deadline_what_is_persisted_is_answered(self, host: Host) -> None:
        request_id = host.list(**PATIENT)
        question_id = host.asked_to_list()
        result = host.sidecar.settle(request_id)
        assert (result["isIncomplete"], result["total"]) == (True, 2)
        assert labels(by_id(result)) == STORED_LABELS
        assert host.withdrawn() == question_id
        host.answer(question_id, {"sessions": [header(LIVE, title="Late")]})
        assert host.is_asked_nothing()
        assert LIVE not in host.listed()

    def test_a_query_is_answered_like_that_too(self, host: Host) -> None:
        request_id = host.list(query="as stored", **PATIENT)
        question_id = host.asked_to_list()
        result = host.sidecar.settle(request_id)
        assert (result["isIncomplete"], list(by_id(result))) == (True, [BOTH])
        assert host.withdrawn() == question_id

    def test_it_is_not_waited_for_after_a_cancel(self, host: Host) -> None:
        request_id = host.list()
        question_id = host.asked_to_list()
        host.cancel(request_id)
        assert host.failure(request_id).code == -32800
        assert host.withdrawn() == question_id

    def test_nor_for_a_title_after_a_cancel(self, host: Host) -> None:
        request_id = host.list()
        host.answer(host.asked_to_list(), {"sessions": [header(LIVE)]})
        question_id = host.asked_to_read(LIVE)
        host.cancel(request_id)
        assert host.failure(request_id).code == -32800
        assert host.withdrawn() == question_id

    @pytest.mark.parametrize(
        "result", [None, 5, [], {}, {"sessions": None}, {"sessions": {}}, {"sessions": "[]"}]
    )
    def test_nonsense(self, host: Host, result: object) -> None:
        request_id = host.list()
        host.answer(host.asked_to_list(), result)
        answer = host.sidecar.settle(request_id)
        assert answer["isIncomplete"] is True
        assert labels(by_id(answer)) == STORED_LABELS

    def test_an_error(self, host: Host) -> None:
        request_id = host.list()
        host.refuse(host.asked_to_list(), {"code": -32601, "message": "no such method"})
        answer = host.sidecar.settle(request_id)
        assert answer["isIncomplete"] is True
        assert labels(by_id(answer)) == STORED_LABELS

    def test_the_end_of_the_input(self, root: Path) -> None:
        with Sidecar(roots=[root]) as sidecar:
            host = Host(sidecar)
            request_id = host.list()
            host.asked_to_list()
            sidecar.close_stdin()
            answer = sidecar.settle(request_id)
            assert answer["isIncomplete"] is True
            assert labels(by_id(answer)) == STORED_LABELS
            assert sidecar.wait() == 0
            assert sidecar.unclaimed() == []


class TestPushes:
    def test_what_was_pushed_is_not_asked_for(self, host: Host) -> None:
        host.push([header(LIVE, title="Pushed", running=True)])
        for _ in range(2):
            found = host.candidates(host.list())
            assert labels(found) == {**STORED_LABELS, LIVE: "Pushed"}
            assert found[LIVE]["running"] is True

    def test_a_session_that_is_not_live_is_read_from_disk_at_once(self, host: Host) -> None:
        host.push([header(LIVE)])
        assert host.snapshot(host.prepare(STORED)).texts == ["stored"]
        error = host.failure(host.prepare("nowhere"))
        assert error.data["cause"] == "not_found"

    def test_one_that_is_live_is_read_from_the_host(self, host: Host) -> None:
        head = header(BOTH, cwd=CWD)
        host.push([head])
        assert host.snapshot(host.read(BOTH, page(head, said("live")))).texts == ["live"]

    def test_one_that_is_gone_after_all_is_read_from_disk(self, host: Host) -> None:
        host.push([header(BOTH, cwd=CWD)])
        assert host.snapshot(host.read(BOTH, None)).texts == ["x"]

    def test_a_push_is_trusted_until_the_next(self, host: Host) -> None:
        host.push([header(LIVE, title="One")])
        assert labels(host.candidates(host.list()))[LIVE] == "One"
        host.push([header(LIVE, title="Two"), header("b", title="B")])
        assert labels(host.candidates(host.list())) == {**STORED_LABELS, LIVE: "Two", "b": "B"}
        host.push([])
        assert labels(host.candidates(host.list())) == STORED_LABELS

    @pytest.mark.parametrize("params", [None, {}, {"sessions": None}])
    def test_a_push_without_sessions_has_them_asked_for_once(
        self, host: Host, params: object
    ) -> None:
        host.push([header(LIVE, title="One")])
        host.sidecar.notify("sessions/changed", params)
        assert labels(host.listed(header("b", title="B"))) == {**STORED_LABELS, "b": "B"}
        assert labels(host.candidates(host.list())) == {**STORED_LABELS, "b": "B"}
        assert host.snapshot(host.prepare(STORED)).texts == ["stored"]
        host.sidecar.notify("sessions/changed", params)
        assert labels(host.listed()) == STORED_LABELS

    def test_a_host_that_never_pushes_is_asked_each_time(self, host: Host) -> None:
        assert LIVE in host.listed(header(LIVE, title="One"))
        assert LIVE not in host.listed()

    def test_a_list_that_failed_is_asked_for_again(self, host: Host) -> None:
        host.push(None)
        request_id = host.list()
        host.answer(host.asked_to_list(), 5)
        assert host.sidecar.settle(request_id)["isIncomplete"] is True
        assert LIVE in host.listed(header(LIVE, title="One"))

    def test_a_push_that_overtakes_a_list_is_the_newer_one(self, host: Host) -> None:
        host.push(None)
        request_id = host.list()
        question_id = host.asked_to_list()
        host.push([header(LIVE, title="Newer")])
        host.answer(question_id, {"sessions": [header("b", title="Older")]})
        expected = {**STORED_LABELS, LIVE: "Newer"}
        assert labels(host.candidates(request_id)) == expected
        assert labels(host.candidates(host.list())) == expected

    def test_a_list_from_before_a_change_is_not_kept(self, host: Host) -> None:
        host.push(None)
        request_id = host.list()
        question_id = host.asked_to_list()
        host.push(None)
        host.answer(question_id, {"sessions": [header("b", title="Older")]})
        assert "b" in host.candidates(request_id)
        assert "b" not in host.listed(header(LIVE, title="Newer"))

    @pytest.mark.parametrize("sessions", [5, {}, "x"])
    def test_a_malformed_push_changes_nothing(self, host: Host, sessions: Any) -> None:
        host.push([header(LIVE, title="One")])
        host.push(sessions)
        assert LIVE in host.candidates(host.list())

    def test_what_is_no_header_hides_no_other(self, host: Host) -> None:
        host.push([None, 5, {"id": "a"}, header(LIVE, title="One")])
        assert host.candidates(host.list()).keys() == {BOTH, STORED, LIVE}

    def test_a_page_that_contradicts_what_was_pushed(self, host: Host) -> None:
        host.push([header(LIVE, cwd=CWD)])
        error = host.failure(host.read(LIVE, page(header(LIVE), said("live"))))
        assert (error.code, error.data["cause"]) == (-32014, "conflict")

    def test_lone_surrogates(self, host: Host) -> None:
        head = header("\ud83d", title="\udc00")
        host.push([head])
        assert labels(host.candidates(host.list()))["\ud83d"] == "\udc00"
        assert host.snapshot(host.read("\ud83d", page(head, said("live")))).texts == ["live"]

    def test_a_push_in_one_write_with_initialize_and_a_request(self, root: Path) -> None:
        """A host that waits for no answer is understood all the same."""
        request = {"method": "initialize", "params": INITIALIZE}
        pushed = {"sessions": [header(LIVE, title="Pushed")]}
        list_request = {"method": "listCandidates", "params": {"agent": requests.AGENT}}
        messages = [
            {"jsonrpc": "2.0", "id": "i", **request},
            {"jsonrpc": "2.0", "method": "sessions/changed", "params": pushed},
            {"jsonrpc": "2.0", "id": "l", **list_request},
        ]
        with Sidecar(roots=[root]) as sidecar:
            sidecar.send_raw(b"".join(map(encode, messages)))
            assert sidecar.settle("i")["protocolVersion"] == 1
            result = sidecar.settle("l")
            assert result["isIncomplete"] is False
            assert labels(by_id(result)) == {**STORED_LABELS, LIVE: "Pushed"}
            assert sidecar.unclaimed() == []
