"""The ways in which a reference fails, under every policy and in both placements.

`TABLE` is the table of the README, row by row; a test holds the two against each other.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support import requests
from support.answers import context
from support.sidecar import Sidecar

README = Path(__file__).parents[2] / "README.md"

GOOD = "@[Alpha](dsh-session:InBsYWluLXRhbGsi)"  # plain-talk
OTHERS = "@[Beta](dsh-session:Im5vLWN3ZCI) @[Recall](dsh-session:InJlY2FsbCI)"
TIGHT = {"maxReferenceBytes": 700}
LONG = "L" * 700
"""A label that no session fits beside in a tight budget."""

UNTOUCHED = "untouched, without context"
KEPT = "readable, with the others"


class Row(NamedTuple):
    """A way to fail: a text that does, and what becomes of its message."""

    way: str
    code: int
    name: str
    bad: str
    readable: str
    skipped: str
    config: dict[str, Any] | None = None


TABLE = (
    Row(
        way="a mention is malformed",
        code=-32011,
        name="INVALID_REFERENCE",
        bad="dsh-session:IiJ",
        readable="dsh-session:IiJ",
        skipped=UNTOUCHED,
    ),
    Row(
        way="it is the agent's own session",
        code=-32012,
        name="SELF_REFERENCE",
        bad="@[me](dsh-session:ImFnZW50LXVuZGVyLXRlc3Qi)",
        readable="@me",
        skipped=KEPT,
    ),
    Row(
        way="there are too many sessions",
        code=-32013,
        name="TOO_MANY",
        bad=f"{OTHERS} @[fourth](dsh-session:ImZvdXJ0aCI)",
        readable="@Beta @Recall @fourth",
        skipped="readable, with the first ones",
    ),
    Row(
        way="a session cannot be read",
        code=-32014,
        name="READ_FAILED",
        bad="@[Gone](dsh-session:ImdvbmUi)",
        readable="@Gone",
        skipped=KEPT,
    ),
    Row(
        way="a session does not fit its budget",
        code=-32015,
        name="BUDGET_EXCEEDED",
        bad=f"@[{LONG}](dsh-session:Im5vLWN3ZCI)",
        readable=f"@{LONG}",
        skipped=KEPT,
        config=TIGHT,
    ),
)
PLACEMENTS = ["after", "before"]
ROWS = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
ALONE = pytest.mark.parametrize(
    "row", [r for r in TABLE if r.name != "TOO_MANY"], ids=lambda r: r.name
)


def one(text: str, message_id: str = "m") -> dict[str, Any]:
    return {**requests.person(text), "id": message_id}


def policy(placement: str, on_failure: str) -> dict[str, str]:
    return {"placement": placement, "onFailure": on_failure}


def kept(messages: list[dict[str, Any]], placement: str) -> tuple[str, dict[str, Any] | None]:
    """Of a step with one message: its text, and the context beside it."""
    beside = None if len(messages) == 1 else messages.pop(1 if placement == "after" else 0)
    (message,) = messages
    assert {**message, "content": None} == {**one(""), "content": None}
    return message["content"][0]["text"], beside


def test_the_readme_has_this_table() -> None:
    text = README.read_text()
    for row in TABLE:
        cells = [row.way, f"`{row.code}`", UNTOUCHED, row.skipped]
        assert "| " + " | ".join(cells) + " |" in text


@ROWS
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_terminate(sidecar: Sidecar, row: Row, placement: str) -> None:
    given = [one(GOOD, "before"), one(f"{GOOD} and {row.bad}")]
    params = requests.pre_step(*given, policy=policy(placement, "terminate"), config=row.config)
    failure = sidecar.fails("preStep", params)
    assert (failure.code, failure.data["code"]) == (row.code, f"SESSION_REFERENCE_{row.name}")
    assert failure.data["messageIndex"] == 1


@ROWS
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_passthrough(sidecar: Sidecar, row: Row, placement: str) -> None:
    text = f"{GOOD} and {row.bad}"
    params = requests.pre_step(
        one(text), policy=policy(placement, "passthrough"), config=row.config
    )
    result = sidecar.call("preStep", params)
    assert result["decision"] == params["decision"]
    (outcome,) = result["outcomes"]
    assert (outcome["status"], outcome["error"]["code"]) == ("failed", row.code)
    assert "contextId" not in outcome


@ROWS
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_skip(sidecar: Sidecar, row: Row, placement: str) -> None:
    text = f"{GOOD} and {row.bad}"
    params = requests.pre_step(one(text), policy=policy(placement, "skip"), config=row.config)
    result = sidecar.call("preStep", params)
    (outcome,) = result["outcomes"]
    if row.skipped == UNTOUCHED:
        assert result["decision"] == params["decision"]
        assert (outcome["status"], outcome["error"]["code"]) == ("failed", row.code)
        assert outcome["references"] == []
        return
    shown, beside = kept(result["decision"]["messages"], placement)
    assert shown == f"@Alpha and {row.readable}"
    assert beside is not None
    assert (outcome["status"], outcome["contextId"]) == ("prepared", beside["id"])
    assert "error" not in outcome
    failed = [each for each in outcome["references"] if each["status"] == "failed"]
    assert [each["error"]["code"] for each in failed] == [row.code]
    assert failed[0]["error"]["data"]["inputIndex"] == failed[0]["inputIndex"]
    assert failed[0]["error"]["data"]["messageIndex"] == 0
    assert failed[0] is outcome["references"][-1]
    quoted = [each["sessionId"] for each in context(beside)["references"]]
    assert quoted == [each["sessionId"] for each in outcome["references"][:-1]]
    assert len(quoted) == (3 if row.name == "TOO_MANY" else 1)


@ALONE
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_skip_where_there_are_no_others(sidecar: Sidecar, row: Row, placement: str) -> None:
    params = requests.pre_step(
        one(f"see {row.bad}"), policy=policy(placement, "skip"), config=row.config
    )
    result = sidecar.call("preStep", params)
    shown, beside = kept(result["decision"]["messages"], placement)
    assert (shown, beside) == (f"see {row.readable}", None)
    (outcome,) = result["outcomes"]
    assert (outcome["status"], outcome["error"]["code"]) == ("failed", row.code)
    assert "contextId" not in outcome


@pytest.mark.parametrize("on_failure", ["passthrough", "skip"])
def test_the_other_messages_of_a_step_are_prepared(sidecar: Sidecar, on_failure: str) -> None:
    given = [one(GOOD, "a"), *(one(row.bad, row.name) for row in TABLE[:3]), one(GOOD, "z")]
    params = requests.pre_step(*given, policy=policy("after", on_failure))
    result = sidecar.call("preStep", params)
    first, *others, last = result["outcomes"]
    assert (first["status"], last["status"]) == ("prepared", "prepared")
    assert [each["error"]["code"] for each in others[:2]] == [-32011, -32012]
    assert result["decision"]["messages"][-2]["id"] == "z"


@pytest.mark.parametrize("on_failure", ["terminate", "passthrough", "skip"])
def test_a_bad_configuration_is_no_failure_of_a_message(sidecar: Sidecar, on_failure: str) -> None:
    params = requests.pre_step(
        one(GOOD), policy=policy("after", on_failure), config={"maxReferences": 4}
    )
    assert sidecar.fails("preStep", params).code == -32010


def test_a_step_that_skipped_is_left_alone_when_it_comes_again(sidecar: Sidecar) -> None:
    gone = "@[as in dsh-session:Im5vLWN3ZCI](dsh-session:ImdvbmUi)"
    for text in (f"{GOOD} {gone}", gone):
        params = requests.pre_step(one(text), policy=policy("before", "skip"))
        first = sidecar.call("preStep", params)["decision"]
        again = sidecar.call("preStep", {**params, "decision": first})
        assert again["decision"] == first
