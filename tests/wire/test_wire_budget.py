"""The budget as a share of the model's context, and what the model is told was omitted."""

import json
from pathlib import Path
from typing import Any

import pytest

from support import logs, requests
from support.answers import CLOSING, snapshot_json
from support.sidecar import Sidecar

HEADING = "\n\n## Reference omissions\n\n"


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("big")
    logs.write_log(root, "b<", [logs.user("x" * 1000) for _ in range(200)])
    logs.write_log(root, "small", [logs.user("hello")])
    with Sidecar(roots=[root]) as sidecar:
        yield sidecar


def prepared(sidecar: Sidecar, config: dict[str, Any], *session_ids: str) -> str:
    params = requests.prepare(*(session_ids or ["b<"]), config=config)
    text: str = sidecar.call("prepare", params)["additionalContext"]["content"][0]["text"]
    return text


@pytest.mark.parametrize(
    ("config", "budget"),
    [
        ({}, 65_536),
        ({"contextWindow": 8_000}, 65_536),
        ({"contextWindow": 128_000}, 102_400),
        ({"contextWindow": 200_000}, 160_000),
        ({"contextWindow": 200_000, "maxReferenceBytes": 70_000}, 70_000),
        ({"contextWindow": 200_000, "maxReferenceBytes": None}, 160_000),
        ({"contextWindow": None}, 65_536),
    ],
)
def test_the_budget(big: Sidecar, config: dict[str, Any], budget: int) -> None:
    size = len(snapshot_json(prepared(big, config)).encode()) - len("[]")
    assert budget - 1100 < size <= budget


@pytest.mark.parametrize("window", [0, -1, 1.5, "200000", 2**53])
def test_a_bad_window(big: Sidecar, window: object) -> None:
    params = requests.prepare("b<", config={"contextWindow": window})
    failure = big.fails("prepare", params)
    assert (failure.code, failure.data["field"]) == (-32010, "config.contextWindow")


def test_ceilings(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "b<", [logs.user("x" * 1000) for _ in range(200)])
    with Sidecar(roots=[tmp_path]) as sidecar:
        ceiling = {"contextWindow": 100_000, "omissions": False}
        sidecar.call("initialize", {"protocolVersion": 1, "config": ceiling})
        text = prepared(sidecar, {"contextWindow": 200_000, "omissions": True})
        assert text.endswith(CLOSING)
        assert len(snapshot_json(text).encode()) <= 80_000 + len("[]")


def test_what_was_omitted_is_told_of_the_sources_that_were_cut(big: Sidecar) -> None:
    params = requests.prepare("small", "b<", config={"omissions": True})
    context = big.call("prepare", params)["additionalContext"]
    text, _, behind = context["content"][0]["text"].partition(HEADING)
    assert text.endswith(CLOSING)
    assert "<" not in behind
    _, cut = context["source"]["references"]
    assert json.loads(behind) == [
        {
            "sessionId": "b<",
            "capturedThroughSeq": 199,
            "omittedMessages": cut["omittedMessages"],
            "omittedBytes": cut["omittedBytes"],
            "fullSnapshot": {"status": "unavailable", "reason": "storage-not-configured"},
        }
    ]


@pytest.mark.parametrize("omissions", [None, False])
def test_nothing_is_told_unless_it_is_wanted(big: Sidecar, omissions: bool | None) -> None:
    assert prepared(big, {"omissions": omissions}).endswith(CLOSING)


def test_nothing_is_told_where_nothing_was_omitted(big: Sidecar) -> None:
    assert prepared(big, {"omissions": True}, "small").endswith(CLOSING)


def test_a_step_tells_it_as_well(big: Sidecar) -> None:
    mention = big.call("formatMention", {"sessionId": "b<", "label": "B"})["mention"]
    params = requests.pre_step(requests.person(mention), config={"omissions": True})
    _, context = big.call("preStep", params)["decision"]["messages"]
    assert HEADING in context["content"][0]["text"]


def test_every_source_has_the_whole_budget_to_itself(tmp_path: Path) -> None:
    for name in "ab":
        logs.write_log(tmp_path, name, [logs.user("x" * 5000)])
    with Sidecar(roots=[tmp_path]) as sidecar:
        found = json.loads(snapshot_json(prepared(sidecar, {"maxReferenceBytes": 900}, "a", "b")))
    first, second = (source["conversation"][0]["text"] for source in found)
    assert len(first) == len(second) > 500
