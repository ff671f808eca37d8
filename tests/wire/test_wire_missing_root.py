"""A missing root is an empty one; `initialize` and `status` say so, and stderr once."""

from pathlib import Path

from support import logs
from support.requests import AGENT
from support.sidecar import Sidecar


def test_a_missing_root_is_empty_and_reported(tmp_path: Path) -> None:
    gone, there = tmp_path / "gone", tmp_path / "there"
    logs.write_log(there, "a")
    (there / "stray").write_text("x")
    with Sidecar(roots=[gone, there]) as sidecar:
        told = [sidecar.call("initialize", {"protocolVersion": 1}), sidecar.call("status")]
        for answer in told:
            missing, present = answer["roots"]
            assert missing == {"path": str(gone), "problem": "there is no such folder"}
            assert present == {"path": str(there), "sessions": 1, "strangers": 1}
        found = sidecar.call("listCandidates", {"agent": AGENT})
        assert [each["sessionId"] for each in found["candidates"]] == ["a"]
        logs.write_log(gone, "b")
        found = sidecar.call("listCandidates", {"agent": AGENT})
        assert found["total"] == 2
        sidecar.close_stdin()
        assert sidecar.wait() == 0
        assert sidecar.stderr.count(str(gone).encode()) == 1
