"""`salvage: true`: a damaged log is answered from what precedes the damage, and says so."""

from pathlib import Path
from typing import Any

import pytest

from support import logs, requests
from support.sidecar import Sidecar

GOOD = [logs.user("kept"), logs.assistant("kept, too")]
TURN_END = {"type": "turn/end", "time": 0, "data": {}}


def salvaged(sidecar: Sidecar, session_id: str) -> dict[str, Any]:
    params = {**requests.prepare(session_id), "config": {"salvage": True}}
    context = sidecar.call("prepare", params)["additionalContext"]
    (reference,) = context["source"]["references"]
    assert "kept" in context["content"][0]["text"] or reference["originalMessages"] == 0
    assert "lost" not in context["content"][0]["text"]
    return dict(reference)


def write(root: Path, zstd: bool, damage: str) -> None:
    lost = logs.user("lost")
    rows: list[Any] = {
        "bad json": [*GOOD, b"{", lost, TURN_END],
        "null": [*GOOD, b"null"],
        "gap": [*GOOD, {**TURN_END, "seq": 9}],
        "surface": [*GOOD, {**lost, "surfaceOp": {"op": "replace", "start": 7, "end": 7}}],
    }.get(damage, [*GOOD, lost])
    log = logs.write_log(root, "b", rows, zstd=zstd)
    if damage == "checksum":
        data = bytearray(log.read_bytes())
        data[-1] ^= 1
        log.write_bytes(data)


@pytest.mark.parametrize("zstd", [True, False])
@pytest.mark.parametrize("damage", ["bad json", "null", "gap", "surface"])
def test_what_precedes_a_bad_row(tmp_path: Path, zstd: bool, damage: str) -> None:
    write(tmp_path, zstd, damage)
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert sidecar.fails("prepare", requests.prepare("b")).data["cause"] == "corrupt"
        reference = salvaged(sidecar, "b")
        assert reference["degraded"] == {"reason": "damaged", "throughSeq": 1}
        assert (reference["capturedThroughSeq"], reference["originalMessages"]) == (1, 2)


def test_nothing_of_a_frame_with_a_bad_checksum(tmp_path: Path) -> None:
    write(tmp_path, True, "checksum")
    with Sidecar(roots=[tmp_path]) as sidecar:
        reference = salvaged(sidecar, "b")
        assert reference["degraded"]["reason"] == "damaged"
        assert reference["degraded"].get("throughSeq") == reference["capturedThroughSeq"]


def test_a_whole_log_is_not_degraded(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "b", GOOD)
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert "degraded" not in salvaged(sidecar, "b")


def test_a_log_without_a_header_is_still_refused(tmp_path: Path) -> None:
    log = logs.write_log(tmp_path, "b", GOOD, zstd=False)
    log.write_bytes(b"{\n" + log.read_bytes())
    params = {**requests.prepare("b"), "config": {"salvage": True}}
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert sidecar.fails("prepare", params).data["cause"] == "corrupt"


@pytest.mark.parametrize("flags", [["--salvage"], []])
def test_the_flag_allows_it_for_every_request(tmp_path: Path, flags: list[str]) -> None:
    write(tmp_path, True, "bad json")
    with Sidecar(*flags, roots=[tmp_path]) as sidecar:
        params = requests.prepare("b")
        if flags:
            assert sidecar.call("prepare", params)["additionalContext"]
        else:
            assert sidecar.fails("prepare", params).data["cause"] == "corrupt"


def test_a_request_cannot_allow_what_initialize_forbade(tmp_path: Path) -> None:
    write(tmp_path, True, "bad json")
    with Sidecar(roots=[tmp_path]) as sidecar:
        sidecar.call("initialize", {"protocolVersion": 1, "config": {"salvage": False}})
        params = {**requests.prepare("b"), "config": {"salvage": True}}
        assert sidecar.fails("prepare", params).data["cause"] == "corrupt"
