"""Rule 9 and the life of a conversation: initialize, the limits in its answer, shutdown."""

from pathlib import Path
from typing import Any

import pytest

from support import requests
from support.sidecar import Sidecar

MIB = 1 << 20
INITIALIZE = {"protocolVersion": 1, "clientInfo": {"name": "test", "version": "0"}}


def test_the_answer_to_initialize(main_root: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    with Sidecar(roots=[main_root, absent]) as sidecar:
        result = sidecar.call("initialize", INITIALIZE)
    assert result["protocolVersion"] == 1
    assert result["serverInfo"]["name"] == "sessionref"
    assert result["serverInfo"]["version"]
    assert isinstance(result["capabilities"], dict)
    first, second = result["roots"]
    assert (first["path"], first["sessions"]) == (str(main_root), 39)
    assert "problem" not in first
    assert second["path"] == str(absent)
    assert second["problem"]


def test_the_limits(own_sidecar: Sidecar) -> None:
    limits = own_sidecar.call("initialize", INITIALIZE)["limits"]
    stated = {
        "maxLineBytes": 64 * MIB,
        "maxRequestsInFlight": 1024,
        "maxQueuedOutputBytes": 256 * MIB,
        "eofDrainSeconds": 30,
        "maxRecordBytes": 64 * MIB,
        "maxRecordTokens": 512 * 1024,
        "maxOddRecordBytes": 8 * MIB,
        "maxReadSeconds": 6,
        "maxSessionBytes": 80 * MIB,
        "maxTitleBytes": 64 * 1024,
        "maxZstdWindowBytes": 128 * MIB,
        "maxNesting": 512,
    }
    assert {name: limits[name] for name in stated} == stated


@pytest.mark.parametrize("version", [0, 2, 999, -1])
def test_an_unknown_protocol_version_is_answered_with_ours(
    own_sidecar: Sidecar, version: int
) -> None:
    assert own_sidecar.call("initialize", {"protocolVersion": version})["protocolVersion"] == 1


@pytest.mark.parametrize("params", [{}, {"protocolVersion": "1"}, {"protocolVersion": None}])
def test_initialize_needs_a_version(own_sidecar: Sidecar, params: dict[str, Any]) -> None:
    error = own_sidecar.fails("initialize", params)
    assert (error.code, error.data["field"]) == (-32602, "protocolVersion")


def test_initialize_comes_once(own_sidecar: Sidecar) -> None:
    own_sidecar.call("initialize", INITIALIZE)
    assert own_sidecar.fails("initialize", INITIALIZE).code == -32600
    assert own_sidecar.call("status")["requestsInFlight"] == 0


def test_initialize_comes_first(own_sidecar: Sidecar) -> None:
    own_sidecar.call("status")
    assert own_sidecar.fails("initialize", INITIALIZE).code == -32600


def test_initialize_is_optional_on_lines(own_sidecar: Sidecar) -> None:
    assert "additionalContext" in own_sidecar.call("prepare", requests.prepare("plain-talk"))


def test_after_shutdown_every_request_is_refused(own_sidecar: Sidecar) -> None:
    assert own_sidecar.call("shutdown") is None
    for method in ("status", "initialize", "prepare", "shutdown", "noSuchMethod"):
        assert own_sidecar.fails(method).code == -32600
    own_sidecar.notify("exit")
    assert own_sidecar.wait() == 0


def test_status(main_root: Path) -> None:
    with Sidecar(roots=[main_root]) as sidecar:
        status = sidecar.call("status")
    assert status["version"]
    (root,) = status["roots"]
    assert (root["path"], root["sessions"]) == (str(main_root), 39)
    assert status["uptimeMs"] >= 0


class TestLiveSessions:
    """Asked only of a host that declared them."""

    def test_are_not_asked_for_without_a_word(self, own_sidecar: Sidecar) -> None:
        own_sidecar.call("initialize", INITIALIZE)
        own_sidecar.call("listCandidates", {"agent": requests.AGENT})
        own_sidecar.call("prepare", requests.prepare("plain-talk"))
        assert own_sidecar.unclaimed() == []
