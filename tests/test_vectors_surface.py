"""The recorded folds, as far as preparing a session shows them.

`surface` and `readSession` cases become the `capturedThroughSeq` of the snapshot, or a refusal.
The `log:` cases also carry what preparing them answers, and the title; a refused title is the id.
The nodes themselves are compared where the fold is tested.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from support.answers import prepare, recorded_prepared
from support.roots import SessionRoots, SidecarAt
from support.sidecar import Sidecar
from support.vectors import load
from support.verdicts import judge

AGENT = {"id": "agent-under-test"}
REFUSED = "refused"


def recorded_fold(case: Mapping[str, Any]) -> object:
    if "error" in case:
        return REFUSED
    if case["method"] == "readSession":
        return case["result"]["events"][-1]["seq"]
    return case["result"]["capturedThroughSeq"]


def recorded(case: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"surface": recorded_fold(case)}
    if "prepare" in case:
        answer["prepare"] = recorded_prepared(case["prepare"])
        answer["prepare"].pop("content", None)
        (title,) = case["title"]["result"]["titles"]
        answer["label"] = title["title"]["title"] if title.get("title") else title["sessionId"]
    return answer


def ours(sidecar: Sidecar, case: Mapping[str, Any], label: str) -> dict[str, Any]:
    reference = {"sessionId": case["params"]["sessionId"]}
    answer = prepare(sidecar, {"agent": AGENT, "content": [], "references": [reference]})
    answer.pop("content", None)
    fold = REFUSED if "error" in answer else answer["references"][0]["capturedThroughSeq"]
    if "prepare" not in case:
        return {"surface": fold}
    return {"surface": fold, "prepare": answer, "label": label}


@pytest.fixture(scope="module")
def labels(session_roots: SessionRoots, sidecar_at: SidecarAt) -> dict[str, str]:
    """The label of every session of the root that holds the `log:` cases."""
    params = {"agent": AGENT, "limit": 1000}
    listed = sidecar_at(session_roots("invalid")).call("listCandidates", params)["candidates"]
    return {candidate["sessionId"]: candidate["label"] for candidate in listed}


@pytest.mark.parametrize("case", load("surface")["cases"], ids=lambda case: ascii(case["name"]))
def test_surface(
    case: dict[str, Any],
    session_roots: SessionRoots,
    sidecar_at: SidecarAt,
    labels: dict[str, str],
) -> None:
    sidecar = sidecar_at(session_roots(case["root"]))
    label = labels.get(case["params"]["sessionId"], "not listed")
    judge("surface", case["name"], recorded(case), ours(sidecar, case, label))
