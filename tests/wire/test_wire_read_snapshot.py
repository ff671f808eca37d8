"""`readSnapshot`: a session's whole projected conversation, page by page, from one reading."""

from pathlib import Path
from typing import Any

import pytest

from support import logs
from support.requests import AGENT
from support.sidecar import Sidecar

PAGE_BYTES = 256 * 1024


def read(sidecar: Sidecar, session_id: str = "b", **params: Any) -> dict[str, Any]:
    params = {"agent": AGENT, "sessionId": session_id, **params}
    result: dict[str, Any] = sidecar.call("readSnapshot", params)
    return result


def pages(sidecar: Sidecar, **params: Any) -> list[dict[str, Any]]:
    """Every page, each asked for as the one before says."""
    found = [read(sidecar, **params)]
    while "nextOffset" in found[-1]:
        last = found[-1]
        found.append(
            read(
                sidecar,
                offset=last["nextOffset"],
                capturedThroughSeq=last["capturedThroughSeq"],
                capturedFormatVersion=last.get("capturedFormatVersion", 0),
                **params,
            )
        )
    return found


def test_what_is_quoted_of_a_session(tmp_path: Path) -> None:
    rows = [
        logs.checkpoint("so far"),
        logs.user("injected", {"kind": "plugin", "plugin": "x"}),
        logs.user("half \ud83d"),
        logs.assistant("answer"),
        {"type": "who/knows", "data": {}},
    ]
    logs.write_log(tmp_path, "b", rows)
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert read(sidecar) == {
            "sessionId": "b",
            "items": [
                {"role": "user", "text": "so far", "checkpoint": True},
                {"role": "user", "text": "half \ud83d"},
                {"role": "assistant", "text": "answer"},
            ],
            "capturedThroughSeq": 4,
            "degraded": {"reason": "unknown_events", "count": 1},
        }


def test_an_empty_session(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "b")
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert read(sidecar) == {"sessionId": "b", "items": [], "capturedThroughSeq": None}
        assert read(sidecar, capturedThroughSeq=None)["items"] == []


@pytest.mark.parametrize("limit", [1, 2, 3, 100, None])
def test_pages_of_so_many_items(tmp_path: Path, limit: int | None) -> None:
    texts = [f"message {number}" for number in range(7)]
    logs.write_log(tmp_path, "b", [logs.user(text) for text in texts])
    with Sidecar(roots=[tmp_path]) as sidecar:
        found = pages(sidecar, limit=limit)
    assert [item["text"] for page in found for item in page["items"]] == texts
    assert len(found) == -(-7 // (limit or 7))


def test_pages_are_bounded_in_bytes_whatever_is_in_them(tmp_path: Path) -> None:
    """Nothing is left out, however far over a snapshot's budget the session is."""
    texts = ["\0" * 150_000, "é" * 300_000, *(["x" * 1000] * 500)]
    logs.write_log(tmp_path, "b", [logs.user(text) for text in texts])
    with Sidecar(roots=[tmp_path]) as sidecar:
        assert sidecar.call("initialize", {"protocolVersion": 1})["limits"]["maxPageBytes"] == (
            PAGE_BYTES
        )
        found = pages(sidecar, limit=2**53 - 1, config={"maxReferenceBytes": 500})
        lines = [
            sidecar.hear(
                sidecar.request(
                    "readSnapshot", {"agent": AGENT, "sessionId": "b", "offset": offset}
                )
            ).line
            for offset in [0, *(page["nextOffset"] for page in found[:-1])]
        ]
    assert max(map(len, lines)) <= PAGE_BYTES + 1000
    assert 5 < len(found) < 20
    joined, text = [], ""
    for item in (item for page in found for item in page["items"]):
        text += item["text"]
        if "continues" not in item:
            joined.append(text)
            text = ""
    assert joined == texts


def test_pages_of_two_readings_are_not_mixed(tmp_path: Path) -> None:
    rows = [logs.user("one"), logs.user("two")]
    logs.write_log(tmp_path, "b", rows)
    with Sidecar(roots=[tmp_path]) as sidecar:
        first = read(sidecar, limit=1)
        logs.write_log(tmp_path, "b", [*rows, logs.user("three")])
        params = {"agent": AGENT, "sessionId": "b", "offset": first["nextOffset"]}
        failure = sidecar.fails("readSnapshot", {**params, "capturedThroughSeq": 1})
        assert failure.code == -32014
        assert failure.data == {
            "code": "SESSION_REFERENCE_READ_FAILED",
            "retryable": True,
            "cause": "changed",
            "sessionId": "b",
        }
        assert [item["text"] for item in sidecar.call("readSnapshot", params)["items"]] == [
            "two",
            "three",
        ]
        other = {**params, "capturedThroughSeq": 2, "capturedFormatVersion": 3}
        assert sidecar.fails("readSnapshot", other).data["cause"] == "changed"


def test_the_format_is_told_where_it_is_a_later_one(tmp_path: Path) -> None:
    log = logs.write_log(tmp_path, "b", zstd=False)
    later = log.with_name(logs.log_name(zstd=False, version=1))
    later.write_bytes(logs.encode(logs.header("b", version=1), [logs.user("later")], zstd=False))
    with Sidecar(roots=[tmp_path]) as sidecar:
        result = read(sidecar)
        assert (result["items"][0]["text"], result["capturedFormatVersion"]) == ("later", 1)
        (page,) = pages(sidecar, capturedFormatVersion=1, capturedThroughSeq=0)
        assert page == result


def test_who_is_refused(sidecar: Sidecar) -> None:
    own = sidecar.fails("readSnapshot", {"agent": AGENT, "sessionId": AGENT["id"]})
    assert (own.code, own.data["sessionId"]) == (-32012, AGENT["id"])
    gone = sidecar.fails("readSnapshot", {"agent": AGENT, "sessionId": "gone"})
    assert (gone.code, gone.data["cause"]) == (-32014, "not_found")
    off = {"agent": AGENT, "sessionId": "plain-talk", "config": {"enabled": False}}
    denied = sidecar.fails("readSnapshot", off)
    assert (denied.code, denied.data["cause"]) == (-32014, "denied")


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"offset": -1}, "offset"),
        ({"offset": 1.5}, "offset"),
        ({"capturedThroughSeq": "1"}, "capturedThroughSeq"),
        ({"sessionId": None}, "sessionId"),
    ],
)
def test_bad_params(sidecar: Sidecar, params: dict[str, Any], field: str) -> None:
    failure = sidecar.fails("readSnapshot", {"agent": AGENT, "sessionId": "plain-talk", **params})
    assert (failure.code, failure.data["field"]) == (-32602, field)
