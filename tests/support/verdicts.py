"""Each recorded case ends as exactly one verdict: equal, or different on purpose.

`tests/vectors/differences.json` names the cases where we differ, why, and what we answer: only
the parts that differ. `judge` holds our answer against the recorded one with those parts
replaced, and remembers the verdict; the last test of a run asserts that none is missing.
"""

from collections import Counter
from typing import Any

from support.vectors import load

Verdicts = dict[str, dict[str, str]]
"""Vector file -> case -> verdict, of the cases that this run has judged."""

judged: Verdicts = {}


def differences(kind: str) -> dict[str, Any]:
    """The cases of one vector file where we differ on purpose."""
    found: dict[str, Any] = load("differences").get(kind, {})
    return found


def merged(recorded: Any, answer: Any) -> Any:
    """The recorded answer with the parts replaced that differ; an error replaces all of it."""
    if isinstance(recorded, dict) and isinstance(answer, dict) and "error" not in answer:
        return {**recorded, **answer}
    return answer


def judge(kind: str, name: str, recorded: Any, ours: Any) -> None:
    """One case: our answer is the recorded one, or the one that `differences.json` states."""
    seen = judged.setdefault(kind, {})
    assert name not in seen, f"{kind}: two cases are named {name!r}"
    difference = differences(kind).get(name)
    if difference is None:
        assert ours == recorded
        seen[name] = "equal"
        return
    expected = merged(recorded, difference["answer"])
    assert expected != recorded, "this entry of differences.json states no difference"
    assert ours == expected
    seen[name] = "different"


def summary() -> list[str]:
    """One line per kind, for people."""
    lines = []
    for kind, verdicts in sorted(judged.items()):
        counts = Counter(verdicts.values())
        equal, different = counts["equal"], counts["different"]
        skipped = len(case_names(kind)) - equal - different
        lines.append(f"{kind}: {equal} equal, {different} different on purpose, {skipped} skipped")
    return lines


def case_names(kind: str) -> list[str]:
    """Every case of one vector file, by the name that `judge` knows it under."""
    document = load(kind)
    if kind == "retention":
        return [
            f"{group['name']} {case['maxBytes']}"
            for group in document["groups"]
            for case in group["cases"]
        ]
    if kind == "read-anyway":
        return [
            f"{source}: {name}"
            for source in ("surface", "corrupt")
            for names in document[source].values()
            for name in names
        ]
    return [case["name"] for case in document["cases"]]
