"""The recorded configurations, as the `config` of a request.

Recorded are two ways into the defining system; its direct constructor is the one we answer like.
"""

from typing import Any

import pytest

from support.answers import refused
from support.roots import SessionRoots, SidecarAt
from support.sidecar import WireError
from support.vectors import load
from support.verdicts import judge


@pytest.mark.parametrize("case", load("config")["cases"], ids=lambda case: ascii(case["name"]))
def test_config(case: dict[str, Any], session_roots: SessionRoots, sidecar_at: SidecarAt) -> None:
    sidecar = sidecar_at(session_roots("main"))
    (field,) = case["params"]["config"]
    agent = {"id": "agent-under-test"}
    params = {"agent": agent, "content": [], "references": [], **case["params"]}
    ours: dict[str, Any]
    try:
        assert sidecar.call("prepare", params) == {"content": []}
        ours = {"ok": True}
    except WireError as error:
        ours = {"error": {"code": refused(error, -32010, field=f"config.{field}")["error"]}}
    judge("config", case["name"], case["result"]["constructor_"], ours)
