"""`listCandidates` over the wire: what the recorded lists don't show (contract, 5)."""

from pathlib import Path

import pytest

from support import logs, requests
from support.requests import AGENT
from support.sidecar import Sidecar


def ids(sidecar: Sidecar, **params: object) -> list[str]:
    found = sidecar.call("listCandidates", {"agent": AGENT, **params})["candidates"]
    return [item["sessionId"] for item in found]


def test_total_counts_the_matches_before_the_limit(sidecar: Sidecar) -> None:
    result = sidecar.call("listCandidates", {"agent": AGENT, "query": "fork", "limit": 1})
    assert len(result["candidates"]) == 1
    assert (result["total"], result["isIncomplete"]) == (4, False)


def test_a_null_query_is_an_absent_one(sidecar: Sidecar) -> None:
    assert ids(sidecar, query=None) == ids(sidecar) == ids(sidecar, query="")


def test_exact_fields_and_what_people_see(tmp_path: Path) -> None:
    """What is shown has no control, bidirectional or zero-width character; what is sent has."""
    cwd = "/w\u202e\x1b"
    label = "a\x1b[31m\u200b\u2066]b\\"
    logs.write_log(tmp_path, "id\n", [logs.user("q"), logs.title(label)], cwd=cwd)
    with Sidecar(roots=[tmp_path]) as sidecar:
        (found,) = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        assert (found["sessionId"], found["label"], found["cwd"]) == ("id\n", label, cwd)
        assert found["createdAt"] == logs.CREATED_AT
        mention = {"sessionId": "id\n", "label": label}
        assert found["mention"] == sidecar.call("formatMention", mention)["mention"]
    for shown in (found["display"]["label"], found["display"]["cwd"]):
        assert shown.isprintable()
    assert found["display"]["label"] not in (label, "")


def test_a_session_without_cwd_has_none(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "a")
    with Sidecar(roots=[tmp_path]) as sidecar:
        (found,) = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
    assert "cwd" not in found
    assert "cwd" not in found["display"]


def test_an_unreadable_session_is_listed_under_its_id_and_hides_no_other(tmp_path: Path) -> None:
    rows = [logs.user("q"), logs.title("Good title")]
    logs.write_log(tmp_path, "good", rows, cwd="/w")
    log = logs.write_log(tmp_path, "bad", rows, cwd="/w")
    head = logs.frame([logs.line(logs.header("bad", cwd="/w"))])
    log.write_bytes(head + b"\0" * 50)
    with Sidecar(roots=[tmp_path]) as sidecar:
        found = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        assert [(item["sessionId"], item["label"]) for item in found] == [
            ("bad", "bad"),
            ("good", "Good title"),
        ]
        assert ids(sidecar, query="TITLE") == ["good"]
        assert ids(sidecar, query="BAD") == ["bad"]
        assert sidecar.fails("prepare", requests.prepare("bad")).data["cause"] == "corrupt"


def test_unknown_events_are_marked(tmp_path: Path) -> None:
    """One mark for the candidate and for the reference, where no search was needed to see it."""
    future = {"type": "future/event", "data": {}}
    harmless = {**future, "ignorable": True}
    rows = [logs.user("q"), future, harmless, future, logs.title("t")]
    logs.write_log(tmp_path, "later", rows)
    logs.write_log(tmp_path, "known", [logs.user("q"), harmless])
    with Sidecar(roots=[tmp_path]) as sidecar:
        result = sidecar.call("prepare", requests.prepare("later", "known"))
        later, known = result["additionalContext"]["source"]["references"]
        assert later["degraded"] == {"reason": "unknown_events", "count": 2}
        assert "degraded" not in known
        found = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        marks = {item["sessionId"]: item.get("degraded") for item in found}
        assert marks == {"later": {"reason": "unknown_events", "count": 2}, "known": None}


@pytest.mark.parametrize("agent", [{"id": "x"}, {"id": "x", "cwd": None}])
def test_an_agent_without_cwd_ranks_no_session_first(sidecar: Sidecar, agent: object) -> None:
    found = sidecar.call("listCandidates", {"agent": agent})["candidates"]
    assert found[0]["sessionId"] == "no-cwd"


def test_progress_is_reported_to_a_token(own_sidecar: Sidecar) -> None:
    params = {"agent": AGENT, "query": "title", "workDoneToken": "\ud83d"}
    request_id = own_sidecar.request("listCandidates", params)
    own_sidecar.settle(request_id)
    own_sidecar.call("status")
    notes = own_sidecar.unclaimed()
    assert {note["method"] for note in notes} == {"$/progress"}
    assert {note["params"]["token"] for note in notes} == {"\ud83d"}
    steps = [note["params"]["value"]["kind"] for note in notes]
    assert (steps[0], steps[-1]) == ("begin", "end")
    assert set(steps[1:-1]) <= {"report"}


def test_progress_says_how_many_sessions_were_looked_at_of_how_many(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "a", [logs.user("q")])
    with Sidecar(roots=[tmp_path]) as sidecar:
        sidecar.call("listCandidates", {"agent": AGENT, "query": "a", "workDoneToken": 1})
        values = [note["params"]["value"] for note in sidecar.unclaimed()]
    assert values[1:-1] == [{"kind": "report", "done": 1, "total": 1}]
