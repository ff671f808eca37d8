"""`describeTranscript`: on replay, whose each recall is and what to show for it."""

from typing import Any

import pytest

from support import requests
from support.sidecar import Sidecar

ALPHA = "@[Fix login](dsh-session:InBsYWluLXRhbGsi)"
MANY = "@[Fix](dsh-session:Im1hbnktbWVzc2FnZXMi)"
EMPTY = "@[Empty one](dsh-session:InRpdGxlLW9ubHki)"


def one(text: str, message_id: str) -> dict[str, Any]:
    return {**requests.person(text), "id": message_id}


@pytest.mark.parametrize("policy", ["native", "never-block"])
def test_a_step_of_ours_when_it_is_replayed(sidecar: Sidecar, policy: str) -> None:
    given = [
        one("nothing", "a"),
        one(f"as in {ALPHA}{MANY}, no more", "b"),
        {"id": "p", "source": {"kind": "plugin"}, "content": []},
        one(f"and {EMPTY}", "c"),
    ]
    step = sidecar.call("preStep", requests.pre_step(*given, policy=policy))
    messages = step["decision"]["messages"]
    first, second = sidecar.call("describeTranscript", {"messages": messages})["recalls"]
    for described, message_id, outcome in (
        (first, "b", step["outcomes"][0]),
        (second, "c", step["outcomes"][1]),
    ):
        assert messages[described["messageIndex"]]["id"] == message_id
        assert messages[described["recallIndex"]]["id"] == outcome["contextId"]
        assert described["placement"] == ("after" if policy == "native" else "before")
        for reference, told in zip(described["references"], outcome["references"], strict=True):
            assert {**reference, "line": None} == {
                "sessionId": told["sessionId"],
                "label": told["label"],
                "inputIndex": told["inputIndex"],
                "stats": told["stats"],
                "line": None,
            }
    login, fix = (reference["line"] for reference in first["references"])
    assert login == "Fix login — 6 messages"
    stats = first["references"][1]["stats"]
    kept = f"{stats['retainedMessages']} of {stats['originalMessages']}"
    assert fix.startswith(f"Fix — {kept} messages, ")
    assert fix.endswith(" KB omitted")
    assert [reference["line"] for reference in second["references"]] == ["Empty one — no messages"]


def test_a_recall_without_its_message(sidecar: Sidecar) -> None:
    step = sidecar.call("preStep", requests.pre_step(one(ALPHA, "a")))
    messages = [one("else", "x"), step["decision"]["messages"][1]]
    (described,) = sidecar.call("describeTranscript", {"messages": messages})["recalls"]
    assert described.keys() == {"recallIndex", "references"}
    assert described["recallIndex"] == 1


def test_a_transcript_without_recalls(sidecar: Sidecar) -> None:
    for messages in ([], [one(ALPHA, "a"), None, 3, "x", [], {}]):
        assert sidecar.call("describeTranscript", {"messages": messages}) == {"recalls": []}


@pytest.mark.parametrize("params", [{}, {"messages": None}, {"messages": {}}])
def test_bad_params(sidecar: Sidecar, params: dict[str, Any]) -> None:
    failure = sidecar.fails("describeTranscript", params)
    assert (failure.code, failure.data["field"]) == (-32602, "messages")
