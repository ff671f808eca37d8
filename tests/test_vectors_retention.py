"""The recorded fittings: one conversation in a log, prepared at many budgets."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support import logs
from support.answers import prepare, recorded_error
from support.sidecar import Sidecar
from support.vectors import load
from support.verdicts import judge

STATS = [
    "compacted",
    "originalMessages",
    "retainedMessages",
    "omittedMessages",
    "omittedBytes",
    "truncated",
]


def row(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item of a conversation as a row. Only a user message can be a checkpoint."""
    if item["role"] == "assistant":
        return logs.assistant(item["text"])
    return logs.checkpoint(item["text"]) if item.get("checkpoint") else logs.user(item["text"])


@pytest.mark.parametrize("group", load("retention")["groups"], ids=lambda group: group["name"])
def test_retention(group: dict[str, Any], tmp_path: Path) -> None:
    rows = [row(item) for item in group["conversation"]]
    cwd = group.get("cwd")
    logs.write_log(tmp_path, group["sessionId"], rows, cwd=cwd, zstd=False)
    ceiling = str(max(case["maxBytes"] for case in group["cases"]))
    with Sidecar("--max-reference-bytes", ceiling, roots=[tmp_path]) as sidecar:
        for case in group["cases"]:
            name = f"{group['name']} {case['maxBytes']}"
            ours = fitted(sidecar, group, case["maxBytes"])
            judge("retention", name, case.get("result") or recorded_error(case), ours)


def fitted(sidecar: Sidecar, group: Mapping[str, Any], budget: int) -> dict[str, Any]:
    """The snapshot of the group's session at one budget, as it is recorded."""
    reference = {"sessionId": group["sessionId"], "label": group["label"]}
    answer = prepare(
        sidecar,
        {
            "agent": {"id": "agent-under-test"},
            "content": [],
            "references": [reference],
            "config": {"maxReferenceBytes": budget},
        },
    )
    if "error" in answer:
        return answer
    size = len(answer["json"].encode("utf-8")) - len("[]")
    assert size <= budget
    (snapshot,) = json.loads(answer["json"])
    (stated,) = answer["references"]
    assert list(snapshot) == ["sessionId", "label", "cwd", "capturedThroughSeq", "conversation"]
    assert {key: snapshot[key] for key in reference} == reference
    assert snapshot["cwd"] == group.get("cwd")
    assert snapshot["capturedThroughSeq"] == len(group["conversation"]) - 1
    return {
        "conversation": snapshot["conversation"],
        "stats": {key: stated[key] for key in STATS},
        "bytes": size,
    }
