"""`preStep` over the wire: placement, failure, outcomes, and what is left alone (contract, 5)."""

from pathlib import Path
from typing import Any

import pytest

from support import logs, requests
from support.answers import context
from support.sidecar import Sidecar

ALPHA = "@[Alpha](dsh-session:InBsYWluLXRhbGsi)"
BETA = "@[Beta](dsh-session:Im5vLWN3ZCI)"
EMPTY = "@[Empty](dsh-session:InRpdGxlLW9ubHki)"
GONE = "@[Gone](dsh-session:ImdvbmUi)"
BAD = "dsh-session:IiJ"

POLICIES: dict[str, Any] = {
    "native": ("after", "terminate"),
    "never-block": ("before", "passthrough"),
}


def step(sidecar: Sidecar, *messages: dict[str, Any], **more: Any) -> tuple[Any, Any]:
    result = sidecar.call("preStep", requests.pre_step(*messages, **more))
    assert list(result) == ["decision", "outcomes"]
    return result["decision"]["messages"], result["outcomes"]


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    """`context`, or the id of a message that is none."""
    return [
        "context" if message["source"]["kind"] == "session-reference" else message["id"]
        for message in messages
    ]


def one(text: str, message_id: str) -> dict[str, Any]:
    return {**requests.person(text), "id": message_id}


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        (None, ["a", "context", "b", "c", "context"]),
        ("native", ["a", "context", "b", "c", "context"]),
        ("never-block", ["context", "a", "b", "context", "c"]),
        ({"placement": "before", "onFailure": "terminate"}, ["context", "a", "b", "context", "c"]),
        ({"placement": "after", "onFailure": "passthrough"}, ["a", "context", "b", "c", "context"]),
    ],
)
def test_the_context_goes_where_the_policy_says(
    sidecar: Sidecar, policy: object, order: list[str]
) -> None:
    given = [one(ALPHA, "a"), one("nothing", "b"), one(f"{BETA} {ALPHA}", "c")]
    messages, outcomes = step(sidecar, *given, policy=policy)
    assert kinds(messages) == order
    assert messages[order.index("b")] == given[1]
    contexts = [message for message in messages if message["source"]["kind"] != "user"]
    for message in contexts:
        context(message)
    assert [outcome["contextId"] for outcome in outcomes] == [message["id"] for message in contexts]
    assert [outcome["messageIndex"] for outcome in outcomes] == [0, 2]
    assert [outcome["messageId"] for outcome in outcomes] == ["a", "c"]
    assert [outcome["status"] for outcome in outcomes] == ["prepared", "prepared"]


def test_an_outcome_says_what_became_of_each_reference(sidecar: Sidecar) -> None:
    """Duplicates are one reference, under its first label; the index counts references."""
    text = f"{ALPHA} again @[Other](dsh-session:InBsYWluLXRhbGsi) and {BETA}"
    _, (outcome,) = step(sidecar, one(text, "a"))
    first, second = outcome["references"]
    assert {key: first[key] for key in ("sessionId", "label", "inputIndex", "status")} == {
        "sessionId": "plain-talk",
        "label": "Alpha",
        "inputIndex": 0,
        "status": "prepared",
    }
    assert first["stats"] == {
        "compacted": False,
        "originalMessages": 6,
        "retainedMessages": 6,
        "omittedMessages": 0,
        "omittedBytes": 0,
        "truncated": False,
    }
    assert (second["sessionId"], second["label"], second["inputIndex"]) == ("no-cwd", "Beta", 1)


def test_an_outcome_says_that_a_session_was_not_understood_in_full(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "plain-talk", [logs.user("q"), {"type": "future/event", "data": {}}])
    with Sidecar(roots=[tmp_path]) as own:
        _, (outcome,) = step(own, one(ALPHA, "a"))
    (reference,) = outcome["references"]
    assert reference["degraded"] == {"reason": "unknown_events", "count": 1}


def test_a_session_without_messages_is_empty_and_still_inserted(sidecar: Sidecar) -> None:
    messages, (outcome,) = step(sidecar, one(EMPTY, "a"))
    assert kinds(messages) == ["a", "context"]
    assert outcome["status"] == "empty"
    assert outcome["references"][0]["status"] == "empty"
    assert outcome["contextId"] == messages[1]["id"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (GONE, -32014),
        (f"{ALPHA} {GONE}", -32014),
        (BAD, -32011),
        (f"{ALPHA} {BAD}", -32011),
        ("@[me](dsh-session:ImFnZW50LXVuZGVyLXRlc3Qi)", -32012),
        ("".join(f"@[x](dsh-session:{x})" for x in ("ImEi", "ImIi", "ImMi")) + ALPHA, -32013),
    ],
)
def test_a_failing_message_terminates_or_passes(sidecar: Sidecar, text: str, code: int) -> None:
    given = [one(ALPHA, "a"), one(text, "b"), one("plain", "c")]
    failure = sidecar.fails("preStep", requests.pre_step(*given))
    assert (failure.code, failure.data["messageIndex"]) == (code, 1)

    messages, outcomes = step(sidecar, *given, policy="never-block")
    assert kinds(messages) == ["context", "a", "b", "c"]
    assert messages[2:] == given[1:]
    assert [outcome["status"] for outcome in outcomes] == ["prepared", "failed"]
    assert outcomes[1]["error"]["code"] == code
    assert outcomes[1]["error"]["data"]["code"] == failure.data["code"]
    assert "contextId" not in outcomes[1]


def test_the_first_failing_message_is_the_one_that_is_answered(sidecar: Sidecar) -> None:
    given = [one("x", "a"), one(GONE, "b"), one(BAD, "c")]
    failure = sidecar.fails("preStep", requests.pre_step(*given))
    assert (failure.code, failure.data["messageIndex"]) == (-32014, 1)


def test_the_reference_that_failed_is_named(sidecar: Sidecar) -> None:
    _, (outcome,) = step(sidecar, one(f"{ALPHA} {GONE}", "a"), policy="never-block")
    statuses = {found["sessionId"]: found["status"] for found in outcome["references"]}
    assert statuses["gone"] == "failed"
    (failed,) = [found for found in outcome["references"] if found["sessionId"] == "gone"]
    assert failed["error"]["data"]["cause"] == "not_found"


def test_only_direct_messages_are_parsed(sidecar: Sidecar) -> None:
    given: list[dict[str, Any]] = [
        {"id": "t", "role": "user", "source": {"kind": "tool"}, "content": [{"text": BAD}]},
        {"id": "p", "source": {"kind": "plugin"}, "content": [{"type": "text", "text": GONE}]},
        {"id": "s", "content": BAD},
        {"id": "n", "source": None, "content": None},
    ]
    messages, outcomes = step(sidecar, *given)
    assert messages == given
    assert outcomes == []


def test_blocks_that_are_no_text_and_extra_keys_survive(sidecar: Sidecar) -> None:
    """Corner 7: the defining system drops the extra keys of text blocks."""
    image = {"type": "image", "text": BAD, "data": "x"}
    content: list[dict[str, Any]] = [
        image,
        {"type": "text", "text": ALPHA, "cache": {"ttl": 1}},
        {"type": "text", "text": "second", "extra": [1.0]},
    ]
    message = {**one("", "a"), "content": content, "rpcId": 5}
    messages, _ = step(sidecar, message)
    rewritten = [image, {**content[1], "text": "@Alpha"}, content[2]]
    assert messages[0] == {**message, "content": rewritten}


def test_a_mention_over_two_blocks_is_none(sidecar: Sidecar) -> None:
    content = [{"type": "text", "text": part} for part in (ALPHA[:20], ALPHA[20:])]
    message = {**one("", "a"), "content": content}
    messages, outcomes = step(sidecar, message)
    assert (messages, outcomes) == ([message], [])


@pytest.mark.parametrize("policy", ["native", "never-block"])
def test_a_message_with_its_recall_beside_it_is_left_alone(sidecar: Sidecar, policy: str) -> None:
    """Also where its text still has mentions: a label may look like one."""
    looks_like_one = "@[dsh-session:ImdvbmUi](dsh-session:InBsYWluLXRhbGsi)"
    first, outcomes = step(sidecar, one(looks_like_one, "a"), policy=policy)
    assert outcomes[0]["status"] == "prepared"
    again, outcomes = step(sidecar, *first, policy=policy)
    assert again == first
    (outcome,) = outcomes
    direct = kinds(first).index("a")
    assert (outcome["status"], outcome["messageIndex"]) == ("already", direct)
    assert "contextId" not in outcome or outcome["contextId"] == first[1 - direct]["id"]


def test_a_recall_on_the_other_side_belongs_to_another_message(sidecar: Sidecar) -> None:
    first, _ = step(sidecar, one(ALPHA, "a"))
    messages, outcomes = step(sidecar, *first, one(BETA, "b"))
    assert kinds(messages) == ["a", "context", "b", "context"]
    assert outcomes[-1]["status"] == "prepared"


@pytest.mark.parametrize("decision", [{"kind": "reject"}, {"kind": "reject", "why": [1.5, None]}])
def test_a_reject_comes_back(sidecar: Sidecar, decision: dict[str, Any]) -> None:
    params = {"agent": requests.AGENT, "decision": decision}
    assert sidecar.call("preStep", params) == {"decision": decision, "outcomes": []}


def test_each_message_has_its_own_cap_and_its_own_context(sidecar: Sidecar) -> None:
    four = [one(ALPHA, str(at)) for at in range(4)] + [one(BETA, "4")]
    messages, outcomes = step(sidecar, *four)
    assert len(messages) == 10
    assert len({outcome["contextId"] for outcome in outcomes}) == 5
