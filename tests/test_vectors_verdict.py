"""The last word on the recorded cases; it runs after all of them."""

import pytest

from support.vectors import load
from support.verdicts import case_names, differences, judged, summary


def test_every_difference_names_a_recorded_case_and_says_why() -> None:
    for kind in load("differences"):
        if kind == "about":
            continue
        names = set(case_names(kind))
        for name, difference in differences(kind).items():
            assert name in names, f"differences.json: {kind} has no case {name!r}"
            assert set(difference) == {"reason", "corner", "answer"}
            assert difference["reason"]
            assert 1 <= difference["corner"] <= 41


def test_no_case_is_skipped_and_no_difference_unused(request: pytest.FixtureRequest) -> None:
    """Of every vector file whose tests ran; a run of selected tests proves nothing."""
    if request.config.option.keyword or any("::" in given for given in request.config.args):
        return
    for kind, verdicts in judged.items():
        assert sorted(verdicts) == sorted(case_names(kind)), "\n".join(summary())
        different = {name for name, verdict in verdicts.items() if verdict == "different"}
        assert different == set(differences(kind))
