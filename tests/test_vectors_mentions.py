"""The recorded mentions, by `parseText` and `formatMention`."""

from typing import Any

import pytest

from support.answers import recorded_error, refused
from support.logs import units
from support.roots import SessionRoots, SidecarAt
from support.sidecar import Sidecar, WireError
from support.vectors import load
from support.verdicts import judge


@pytest.fixture
def sidecar(session_roots: SessionRoots, sidecar_at: SidecarAt) -> Sidecar:
    return sidecar_at(session_roots("main"))


def rendered(text: str, references: list[dict[str, Any]]) -> list[int]:
    """What the offsets say: each span of the input replaced by `@label`, in UTF-16 units."""
    source, out, at = units(text), [], 0
    for reference in references:
        assert at <= reference["start"] < reference["end"] <= len(source)
        out += source[at : reference["start"]] + units("@" + reference["label"])
        at = reference["end"]
    return out + source[at:]


def ours(sidecar: Sidecar, case: dict[str, Any]) -> dict[str, Any]:
    try:
        result = sidecar.call(case["method"], case["params"])
    except WireError as error:
        return refused(error, -32011)
    if case["method"] == "formatMention":
        assert result["mention"].endswith(f"]({result['uri']})")
        return {"mention": result["mention"]}
    assert units(result["text"]) == rendered(case["params"]["text"], result["references"])
    shared = [{key: found[key] for key in ("sessionId", "label")} for found in result["references"]]
    return {"text": result["text"], "references": shared}


@pytest.mark.parametrize("case", load("mentions")["cases"], ids=lambda case: ascii(case["name"]))
def test_mention(case: dict[str, Any], sidecar: Sidecar) -> None:
    recorded = case.get("result") or recorded_error(case)
    judge("mentions", case["name"], recorded, ours(sidecar, case))
