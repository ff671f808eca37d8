"""The recorded lists of candidates. Fields that we add are ignored.

Where a case differs, `differences.json` has only the order of the ids; what each candidate is
follows from the other recorded lists of the same root.
"""

from pathlib import Path
from typing import Any

import pytest

from support import logs
from support.answers import prepare_params, recorded_error, refused
from support.roots import SessionRoots, SidecarAt
from support.sidecar import Sidecar, WireError
from support.vectors import load
from support.verdicts import judge

CASES = load("candidates")["cases"]
SHARED = ("sessionId", "label", "cwd", "createdAt")


def known(root: str) -> dict[str, dict[str, Any]]:
    """Every candidate that some recorded list of a root has, by id."""
    return {
        candidate["sessionId"]: {key: candidate[key] for key in SHARED if key in candidate}
        for case in CASES
        if case["root"] == root and "result" in case
        for candidate in case["result"]["candidates"]
    }


def recorded(case: dict[str, Any]) -> dict[str, Any]:
    if "error" in case:
        return recorded_error(case)
    return {"order": [candidate["sessionId"] for candidate in case["result"]["candidates"]]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["name"]))
def test_candidates(
    case: dict[str, Any], session_roots: SessionRoots, sidecar_at: SidecarAt
) -> None:
    sidecar = sidecar_at(session_roots(case["root"]))
    params = prepare_params(case["params"])
    params.pop("mentions", None)
    try:
        result = sidecar.call("listCandidates", params)
    except WireError as error:
        ours = refused(error, -32602, field="limit")
    else:
        objects = known(case["root"])
        for candidate in result["candidates"]:
            shared = {key: candidate[key] for key in SHARED if key in candidate}
            assert shared == objects[candidate["sessionId"]]
        ours = {"order": [candidate["sessionId"] for candidate in result["candidates"]]}
        assert result["total"] >= len(ours["order"])
        assert result["isIncomplete"] is False
        for candidate in case["result"]["candidates"]:
            if "mention" in candidate:
                mentions = {found["sessionId"]: found["mention"] for found in result["candidates"]}
                assert mentions[candidate["sessionId"]] == candidate["mention"]
    judge("candidates", case["name"], recorded(case), ours)


def test_a_title_that_is_no_string_counts_as_absent(tmp_path: Path) -> None:
    """Corner 14: in the defining system a number as title makes every search fail."""
    for session_id, title in {"seven": 7, "nothing": None, "list": ["x"], "good": "Good"}.items():
        rows = [logs.user("q"), logs.title("Earlier"), logs.title(title)]
        logs.write_log(tmp_path, session_id, rows, cwd="/t")
    with Sidecar(roots=[tmp_path]) as sidecar:
        for query, expected in {
            "": [("good", "Good"), ("list", "list"), ("nothing", "nothing"), ("seven", "seven")],
            "oo": [("good", "Good")],
            "SEV": [("seven", "seven")],
            "7": [],
        }.items():
            params = {"agent": {"id": "x", "cwd": "/t"}, "query": query}
            found = sidecar.call("listCandidates", params)["candidates"]
            assert [(item["sessionId"], item["label"]) for item in found] == expected
