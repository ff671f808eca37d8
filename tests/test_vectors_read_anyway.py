"""The cases where the defining system refuses and we answer (contract, section 3).

`read`: a snapshot, and a mark where an event type is unknown. `either`: a snapshot or
READ_FAILED. What the snapshots hold is asserted with the cases themselves.
"""

from pathlib import Path
from typing import Any

import pytest

from support.answers import prepare
from support.roots import SessionRoots, SidecarAt
from support.vectors import load
from support.verdicts import judge

LISTS = [
    (source, kind, name)
    for source in ("surface", "corrupt")
    for kind, names in load("read-anyway")[source].items()
    for name in names
]
UNKNOWN_EVENTS = {
    "log: unknown required type",
    "log: unknown ignorable 1",
    "zstd unknown event required",
}


def victim(source: str, name: str, roots: SessionRoots) -> tuple[Path, str]:
    """The root and the id of the session of one case."""
    (case,) = [case for case in load(source)["cases"] if case["name"] == name]
    top, *rest = Path(case["root"]).parts
    session_id = case["sessionId"] if source == "corrupt" else case["params"]["sessionId"]
    return roots(top).joinpath(*rest), session_id


@pytest.mark.parametrize(("source", "kind", "name"), LISTS)
def test_read_anyway(
    source: str, kind: str, name: str, session_roots: SessionRoots, sidecar_at: SidecarAt
) -> None:
    root, session_id = victim(source, name, session_roots)
    params: dict[str, Any] = {
        "agent": {"id": "agent-under-test"},
        "content": [],
        "references": [{"sessionId": session_id}],
    }
    answer = prepare(sidecar_at(root), params)
    if kind == "either" and "error" in answer:
        assert answer == {"error": "SESSION_REFERENCE_READ_FAILED"}
        ours = "either"
    else:
        assert "error" not in answer
        (reference,) = answer["references"]
        mark = {"reason": "unknown_events", "count": 1} if name in UNKNOWN_EVENTS else None
        assert reference.get("degraded") == mark
        ours = kind
    judge("read-anyway", f"{source}: {name}", kind, ours)
