"""At a shell a list is shown once, so it is complete however long that takes."""

import json
from pathlib import Path

import pytest

from sessionref import resolver
from sessionref.cli import listing
from support import logs


def test_a_list_is_shown_when_nothing_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for number in range(20):
        rows = [*[logs.user("q" * 10_000)] * 100, logs.title(f"Title {number}")]
        logs.write_log(tmp_path, f"session-{number}", rows)
    monkeypatch.setattr(resolver, "_PATIENCE_SECONDS", 0.03)
    assert listing.run(["title", "--root", str(tmp_path), "--no-index", "--json"]) == 0
    found = json.loads(capfdbinary.readouterr().out)
    assert (found["total"], found["isIncomplete"]) == (20, False)
    assert {each["label"] for each in found["candidates"]} == {f"Title {n}" for n in range(20)}
