"""The fuzzers' checks themselves: all seeds and findings pass, and each notices what is wrong.

No fuzzing happens here; `make fuzz` does that. What that makes of its processes' ends is tried with
processes that end as they are told.
"""

import re
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from fuzz import __main__ as runner
from fuzz.target import Target
from fuzz.targets import TARGETS
from sessionref.sessions import fold, frames, log, surface
from sessionref.sessions.fold import LogFold
from sessionref.sessions.state import BEGINNING
from sessionref_protocol import codec, framing, mention

FOLDER = Path(__file__).parent
INPUTS = sorted(path for kind in ("seeds", "findings") for path in (FOLDER / kind).rglob("*/*"))


def inputs(target: str) -> list[bytes]:
    return [path.read_bytes() for path in INPUTS if path.parent.name == target]


def check_all(target: str) -> None:
    for data in inputs(target):
        TARGETS[target].check(data)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_seed_and_every_finding_of_old_passes(path: Path) -> None:
    TARGETS[path.parent.name].check(path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_any_few_bytes_pass(target: str) -> None:
    for data in (b"", *(bytes([byte]) * size for byte in (0, 10, 255) for size in (1, 2, 6, 9))):
        TARGETS[target].check(data)


BREAKAGES: list[tuple[str, Any, str, Any]] = [
    ("lines", framing, "_BOM", b""),
    ("content-length", framing, "_HEADER_LIMIT", 20),
    ("codec", codec, "_NULL", ord("[")),
    ("codec", codec, "_members", lambda params: params),
    ("mentions", mention, "_BARE_TAIL", re.compile(r"[A-Za-z0-9_.-]*+")),
    ("frames", frames, "_EMPTY_BLOCK", b""),
    ("frames", frames, "_CHECKSUM", 0),
    ("records", fold, "_text", lambda content: ""),
    ("records", LogFold, "_refusal", lambda fold, error: error),
    ("fold", log.LogReader, "_check_whole_frames", lambda reader: None),
    ("fold", LogFold, "state", lambda fold: BEGINNING),
    ("fold", surface.Surface, "copy", lambda surface: surface),
]


@pytest.mark.parametrize(
    ("target", "where", "name", "wrong"), BREAKAGES, ids=lambda each: str(each)[:20]
)
def test_a_check_notices_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, target: str, where: Any, name: str, wrong: Any
) -> None:
    monkeypatch.setattr(where, name, wrong)
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever a check raises is a finding
        check_all(target)


def run_that_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, left: str, again: int
) -> runner.Outcome:
    """A run that ends with this code and leaves an input, which alone ends with another code."""

    def child(target: Target, *arguments: str) -> "CompletedProcess[bytes]":
        findings = tmp_path / "findings" / target.name
        if arguments == (str(findings / left),):
            return CompletedProcess([], again)
        if left:
            (findings / left).write_bytes(b"x")
        said = b"#7 DONE cov: 12 ft: 1\nstat::number_of_executed_units: 7\n"
        return CompletedProcess([], code, stderr=said)

    monkeypatch.setattr(runner, "child", child)
    return runner.fuzz(TARGETS["lines"], 1, tmp_path)


@pytest.mark.parametrize(
    ("code", "left", "again", "is_failure"),
    [
        (0, "", 0, False),
        (77, "crash-1", 77, True),
        (70, "timeout-1", 0, False),
        (0, "slow-unit-1", 0, False),
        (-9, "", 0, False),
        (1, "", 0, True),
    ],
)
def test_what_ends_a_run_counts_if_it_happens_again_or_is_our_own_fault(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    code: int,
    left: str,
    again: int,
    is_failure: bool,
) -> None:
    outcome = run_that_ends(monkeypatch, tmp_path, code, left, again)
    assert (outcome.executions, outcome.edges) == (7, 12)
    assert outcome.is_failure == is_failure
    assert [path.name for path in outcome.findings + outcome.flukes] == [left] * bool(left)
    assert bool(outcome.findings) == bool(again)
    assert bool(outcome.trouble) == bool(code)
