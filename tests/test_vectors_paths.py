"""The recorded names of folders: a session is laid where they say, then listed and prepared.

A header has to name its own path, so a sidecar with another path rule refuses the session. What
a file system can't hold (the empty name, names over 255 bytes) is asked for all the same.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import logs
from support.answers import recorded_error
from support.sidecar import Sidecar, WireError
from support.vectors import load
from support.verdicts import judge

CASES = load("paths")["cases"]
NAME_MAX = 255


def identity(case: dict[str, Any]) -> tuple[str, str | None]:
    """The id and the cwd of the session of one case."""
    if case["method"] == "encodeSegment":
        return case["params"]["raw"], None
    return "in-" + case["name"], case["params"]["cwd"]


def folder(case: dict[str, Any]) -> Path | None:
    """Where the recorded answer says that the session is, inside a root."""
    session_id, _ = identity(case)
    if "error" in case:
        return None if session_id == "" else Path("--root--", logs.session_folder(session_id))
    if case["method"] == "encodeSegment":
        segment = case["result"]["segment"]
        return Path(logs.NO_CWD, segment) if len(segment) <= NAME_MAX else None
    return Path(case["result"]["key"], logs.session_folder(session_id))


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    root = tmp_path_factory.mktemp("paths")
    for case in CASES:
        place = folder(case)
        if place is not None:
            session_id, cwd = identity(case)
            head = logs.header(session_id, cwd=cwd)
            (root / place).mkdir(parents=True)
            (root / place / logs.log_name()).write_bytes(logs.encode(head, [logs.user("hello")]))
    with Sidecar(roots=[root]) as spawned:
        yield spawned


@pytest.fixture(scope="module")
def listed(sidecar: Sidecar) -> dict[str, str | None]:
    """The cwd of every session that the sidecar lists, by id."""
    params = {"agent": {"id": "agent-under-test"}, "limit": 1000}
    candidates = sidecar.call("listCandidates", params)["candidates"]
    return {candidate["sessionId"]: candidate.get("cwd") for candidate in candidates}


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["name"]))
def test_path(case: dict[str, Any], sidecar: Sidecar, listed: dict[str, str | None]) -> None:
    session_id, cwd = identity(case)
    params = {
        "agent": {"id": "agent-under-test"},
        "content": [],
        "references": [{"sessionId": session_id}],
    }
    try:
        sidecar.call("prepare", params)
    except WireError as error:
        assert session_id not in listed
        ours = {"error": error.data["code"], "cause": error.data["cause"]}
    else:
        assert listed[session_id] == cwd
        ours = case["result"]
    judge("paths", case["name"], case.get("result") or recorded_error(case), ours)
