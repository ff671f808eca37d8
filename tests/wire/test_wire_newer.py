"""A log of a format that nobody here knows: a snapshot that says so, or a refusal that says why."""

from pathlib import Path
from typing import Any

import pytest

from support import logs, requests
from support.requests import AGENT
from support.sidecar import Sidecar

STRANGE: list[dict[str, Any]] = [
    {"type": "from/the-future", "data": {"text": "never quoted"}},
    {"type": "another/one", "data": {}, "ignorable": True},
]
FOLDED = {**logs.user("hidden"), "surfaceOp": {"op": "fold", "seqs": [0]}}


def write(root: Path, rows: list[Any], version: int = 7) -> None:
    folder = logs.write_log(root, "newer").parent
    (folder / logs.log_name()).unlink()
    head = logs.header("newer", version=version)
    (folder / logs.log_name(version=version)).write_bytes(logs.encode(head, rows))


def test_unknown_events_give_a_snapshot_that_says_it_is_of_a_newer_format(tmp_path: Path) -> None:
    write(tmp_path, [logs.user("asked"), *STRANGE, logs.title("T")])
    degraded = {"reason": "newer_format", "version": 7}
    with Sidecar(roots=[tmp_path]) as sidecar:
        context = sidecar.call("prepare", requests.prepare("newer"))["additionalContext"]
        (reference,) = context["source"]["references"]
        assert reference["degraded"] == degraded
        assert reference["capturedFormatVersion"] == 7
        assert "asked" in context["content"][0]["text"]
        assert "never quoted" not in context["content"][0]["text"]
        (candidate,) = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        assert (candidate["label"], candidate["formatVersion"]) == ("T", 7)
        assert candidate["degraded"] == degraded


@pytest.mark.parametrize("rows", [[FOLDED], [{**STRANGE[0], "surfaceOp": "rewrite"}]])
def test_what_could_hide_a_rewrite_of_history_is_refused_with_the_reason(
    tmp_path: Path, rows: list[Any]
) -> None:
    write(tmp_path, [logs.user("asked"), *rows])
    with Sidecar(roots=[tmp_path]) as sidecar:
        error = sidecar.fails("prepare", requests.prepare("newer"))
        assert (error.code, error.data["cause"]) == (-32014, "unsupported_format")
        assert "no operation that we know" in error.message
        (candidate,) = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
        assert candidate["label"] == "newer"
