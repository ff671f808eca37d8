"""One small log per format generation, prepared over the wire as `expected.json` says."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import logs, requests
from support.requests import AGENT
from support.roots import SessionRoots
from support.sidecar import Sidecar

NAMES = [
    "v0",
    "v0/extra-legacy",
    "v0/extra-ranges",
    "v0/extra-seeded-subagent",
    "v0/extra-unpacked",
    "v1",
    "v2",
    "v3",
    "v3/extra-seeded-subagent",
    "v4",
]


@pytest.fixture(params=["plain", "zstd"])
def packed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "zstd")


@pytest.fixture(params=NAMES)
def generation(
    request: pytest.FixtureRequest, packed: bool, session_roots: SessionRoots, tmp_path: Path
) -> Iterator[tuple[Sidecar, dict[str, Any]]]:
    """A sidecar on a root that holds just this log, and what it must project to."""
    folder = session_roots("generations") / request.param
    expected = json.loads((folder / "expected.json").read_bytes())
    (source,) = folder.glob("session*.jsonl")
    head, *rows = source.read_bytes().splitlines(keepends=True)
    header = json.loads(head)
    place = tmp_path / logs.project_folder(header.get("cwd")) / logs.session_folder(header["id"])
    place.mkdir(parents=True)
    if packed:
        frames = [logs.frame([head])]
        frames += [logs.frame(rows[at : at + 7]) for at in range(0, len(rows), 7)]
        (place / f"{source.name}.zstd").write_bytes(b"".join(frames))
    else:
        shutil.copy(source, place)
    with Sidecar(roots=[tmp_path]) as sidecar:
        yield sidecar, expected


def test_a_generation(generation: tuple[Sidecar, dict[str, Any]]) -> None:
    sidecar, expected = generation
    session_id = expected["sessionId"]
    result = sidecar.call("prepare", requests.prepare(session_id))
    message = result["additionalContext"]
    (reference,) = message["source"]["references"]
    text = message["content"][0]["text"]
    (snapshot,) = json.loads(text.split("<referenced-sessions>\n")[1].split("\n</")[0])
    assert snapshot["conversation"] == [
        {"role": item["role"], "text": item["text"]} for item in expected["conversation"]
    ]
    assert reference["compacted"] is any(item["checkpoint"] for item in expected["conversation"])
    assert reference["capturedThroughSeq"] >= expected["lastStoredSeq"]
    assert reference.get("capturedFormatVersion", 0) == expected["generation"]
    assert ("capturedFormatVersion" in reference) is (expected["generation"] != 0)
    assert "degraded" not in reference
    (found,) = sidecar.call("listCandidates", {"agent": AGENT})["candidates"]
    assert found["label"] == (expected["title"] or session_id)
