"""The recorded preparations."""

from typing import Any

import pytest

from support.answers import prepare, prepare_params, recorded_prepared
from support.roots import SessionRoots, SidecarAt
from support.vectors import load
from support.verdicts import judge


@pytest.mark.parametrize("case", load("prepare")["cases"], ids=lambda case: ascii(case["name"]))
def test_prepare(case: dict[str, Any], session_roots: SessionRoots, sidecar_at: SidecarAt) -> None:
    sidecar = sidecar_at(session_roots(case["root"]))
    ours = prepare(sidecar, prepare_params(case["params"]))
    judge("prepare", case["name"], recorded_prepared(case), ours)
