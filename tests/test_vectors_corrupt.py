"""One damaged root a case, each asked of a sidecar of its own.

`list` is what a candidate list says of the headers; `candidates` and `search` are lists for an
agent in `/w`, the latter with the query `title`; `prepare` is of the victim, `prepareHealthy` of
its undamaged sibling. The recorded `titles`, `surface` and `recovered` say nothing more of us.

Recorded errors have only a stable code, so the cause that we owe for each refusal is stated here.
Readings: a header that does not name its own path is not listed, since its id can't be believed;
its folder's id is `corrupt`, while an id of which no folder has the name is `not_found`. A version
that is not the file name's is a format that we do not support.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.answers import prepared, recorded_prepared, refused
from support.roots import SessionRoots
from support.sidecar import Sidecar, WireError
from support.vectors import load
from support.verdicts import judge

CASES = load("corrupt")["cases"]
SHARED = ("sessionId", "label", "cwd", "createdAt")
AGENT = {"id": "agent-under-test", "cwd": "/w"}

CAUSES = {
    "root absent": "not_found",
    "id too long for a path component": "not_found",
    "duplicate id in two project dirs": "conflict",
    "header version 1": "unsupported_format",
    "unescaped directory spelling": "not_found",
    "lowercase escape spelling": "not_found",
}
"""The cause of a refusal where it is not plain damage."""


def rows(candidates: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{key: item[key] for key in SHARED if key in item} for item in candidates]


def headers(found: Iterable[tuple[str, str | None, int]]) -> list[list[object]]:
    return [list(header) for header in sorted(found)]


def recorded(case: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for name in ("candidates", "search"):
        failed = "error" in case[name]
        answer[name] = case[name]["error"] if failed else case[name]["result"]["candidates"]
    answer["list"] = case["list"].get("error") or headers(
        (found["header"]["id"], found["header"].get("cwd"), found["header"]["createdAt"])
        for found in case["list"]["result"]["sessions"]
    )
    for name in ("prepare", "prepareHealthy"):
        answer[name] = recorded_prepared(case[name])
        answer[name].pop("content", None)
    return answer


def ask(root: Path, session_id: str) -> dict[str, Any]:
    """What a fresh sidecar answers of one root. Errors keep their cause for now."""
    with Sidecar(roots=[root]) as sidecar:
        # Everything is in flight before anything is awaited.
        listed = sidecar.request("listCandidates", {"agent": AGENT, "limit": 1000})
        search = sidecar.request("listCandidates", {"agent": AGENT, "query": "title"})
        attempts = {
            name: sidecar.request(
                "prepare", {"agent": AGENT, "content": [], "references": [{"sessionId": wanted}]}
            )
            for name, wanted in {"prepare": session_id, "prepareHealthy": "healthy"}.items()
        }
        candidates = rows(sidecar.settle(listed)["candidates"])
        answer: dict[str, Any] = {
            "list": headers(
                (item["sessionId"], item.get("cwd"), item["createdAt"]) for item in candidates
            ),
            "candidates": candidates,
            "search": rows(sidecar.settle(search)["candidates"]),
        }
        for name, request_id in attempts.items():
            try:
                answer[name] = prepared(sidecar.settle(request_id))
                answer[name].pop("content")
            except WireError as error:
                wanted = session_id if name == "prepare" else "healthy"
                answer[name] = refused(error, -32014, sessionId=wanted)
                answer[name]["cause"] = error.data["cause"]
    return answer


@pytest.fixture(scope="module")
def answers(session_roots: SessionRoots) -> dict[str, dict[str, Any]]:
    """Our answers by case, with a few sidecars at work at a time."""
    base = session_roots("corrupt").parent
    with ThreadPoolExecutor(4) as pool:
        asked = pool.map(lambda case: ask(base / case["root"], case["sessionId"]), CASES)
        return {case["name"]: answer for case, answer in zip(CASES, asked, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["name"]))
def test_corrupt(case: dict[str, Any], answers: dict[str, dict[str, Any]]) -> None:
    ours = answers[case["name"]]
    ids = [item["sessionId"] for item in ours["candidates"]]
    assert len(ids) == len(set(ids))
    cause = ours["prepare"].pop("cause", None)
    if cause is not None:
        assert cause == CAUSES.get(case["name"], "corrupt")
    if case["name"] == "root absent":
        assert ours["prepareHealthy"].pop("cause") == "not_found"
    judge("corrupt", case["name"], recorded(case), ours)


def refusal(root: Path, session_id: str) -> WireError:
    """How a root that lists nothing refuses one session."""
    params = {"agent": AGENT, "content": [], "references": [{"sessionId": session_id}]}
    with Sidecar(roots=[root]) as sidecar:
        listed = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        assert listed == []
        return sidecar.fails("prepare", params)


def test_a_linked_project_folder_is_ignored(session_roots: SessionRoots) -> None:
    """Corner 36; the recorded case is not ours, its folder is."""
    error = refusal(session_roots("corrupt") / "207-symlinked-project-directory", "linked")
    assert error.data["cause"] == "not_found"


def test_a_dangling_link_in_a_log_s_place_is_skipped(session_roots: SessionRoots) -> None:
    """Corner 36."""
    error = refusal(session_roots("corrupt") / "210-dangling-session-file", "victim")
    assert error.data["cause"] in ("not_found", "io")
