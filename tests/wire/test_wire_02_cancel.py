"""Rule 2: a cancel reaches its request at once, and does nothing to any other.

The request that is cancelled reads a session that takes far longer than the cancel needs.
"""

import time
from typing import Any

import pytest

from support import requests
from support.requests import BIG_ID
from support.sidecar import Sidecar, WireError, encode

PROMPTLY = 3.0
"""Seconds. The read that is cancelled would take as long; a cancel takes milliseconds."""

MENTION = "@[Big](dsh-session:ImJpZyI)"


def assert_cancelled(error: WireError, code: int = -32800) -> None:
    assert error.code == code
    assert error.data["code"] == "SESSION_REFERENCE_CANCELLED"
    assert error.data["retryable"] is (code == -32802)


def failure(sidecar: Sidecar, request_id: object, timeout: float = PROMPTLY) -> WireError:
    with pytest.raises(WireError) as caught:
        sidecar.settle(request_id, timeout)
    return caught.value


def assert_settled_once(sidecar: Sidecar) -> None:
    """Nothing more comes, until the end."""
    sidecar.close_stdin()
    assert sidecar.wait() == 0
    assert sidecar.unclaimed() == []


def test_a_cancel_ends_a_read_in_flight(big_sidecar: Sidecar) -> None:
    request_id = big_sidecar.request("prepare", requests.prepare(BIG_ID))
    assert big_sidecar.call("status")["requestsInFlight"] == 1
    big_sidecar.notify("$/cancelRequest", {"id": request_id})
    assert_cancelled(failure(big_sidecar, request_id))
    assert big_sidecar.call("status")["requestsInFlight"] == 0
    assert_settled_once(big_sidecar)


@pytest.mark.parametrize("method", ["prepare", "preStep", "listCandidates"])
def test_a_cancel_in_the_same_write_cannot_overtake_its_request(
    big_sidecar: Sidecar, method: str
) -> None:
    params: dict[str, Any] = {
        "prepare": requests.prepare(BIG_ID),
        "preStep": requests.pre_step(requests.person(MENTION), policy="never-block"),
        "listCandidates": {"agent": requests.AGENT, "query": "no such title"},
    }[method]
    request = {"jsonrpc": "2.0", "id": "r", "method": method, "params": params}
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "r"}}
    big_sidecar.send_raw(encode(request) + encode(cancel))
    assert_cancelled(failure(big_sidecar, "r"))
    assert_settled_once(big_sidecar)


def test_a_cancel_before_its_request_does_nothing(own_sidecar: Sidecar) -> None:
    own_sidecar.notify("$/cancelRequest", {"id": 7})
    own_sidecar.request("prepare", requests.prepare("plain-talk"), request_id=7)
    assert own_sidecar.settle(7)["additionalContext"]["role"] == "user"
    assert_settled_once(own_sidecar)


def test_a_cancel_after_the_answer_does_nothing(own_sidecar: Sidecar) -> None:
    request_id = own_sidecar.request("prepare", requests.prepare("plain-talk"))
    assert "additionalContext" in own_sidecar.settle(request_id)
    own_sidecar.notify("$/cancelRequest", {"id": request_id})
    own_sidecar.notify("$/cancelRequest", {"id": request_id})
    own_sidecar.request("parseText", {"text": "again"}, request_id=request_id)
    assert own_sidecar.settle(request_id) == {"text": "again", "references": []}
    assert_settled_once(own_sidecar)


def test_a_repeated_cancel_does_nothing_more(big_sidecar: Sidecar) -> None:
    request_id = big_sidecar.request("prepare", requests.prepare(BIG_ID))
    for _ in range(5):
        big_sidecar.notify("$/cancelRequest", {"id": request_id})
    assert_cancelled(failure(big_sidecar, request_id))
    assert_settled_once(big_sidecar)


def test_a_cancel_compares_ids_by_type_and_value(big_sidecar: Sidecar) -> None:
    big_sidecar.request("prepare", requests.prepare(BIG_ID), request_id=1)
    big_sidecar.request("prepare", requests.prepare(BIG_ID), request_id="1")
    big_sidecar.notify("$/cancelRequest", {"id": "1"})
    assert_cancelled(failure(big_sidecar, "1"))
    assert "additionalContext" in big_sidecar.settle(1, timeout=60)
    assert_settled_once(big_sidecar)


def test_a_token_cancels_every_request_that_carries_it_and_no_other(big_sidecar: Sidecar) -> None:
    def ask(token: object) -> int | str:
        return big_sidecar.request("prepare", requests.prepare(BIG_ID, cancellationToken=token))

    marked = [ask("1"), ask("1")]
    number, other = ask(1), ask("other")
    big_sidecar.notify("$/cancel", {"token": "unknown"})
    big_sidecar.notify("$/cancel", {"token": "1"})
    for request_id in marked:
        assert_cancelled(failure(big_sidecar, request_id))
    big_sidecar.notify("$/cancel", {"token": 1})
    assert_cancelled(failure(big_sidecar, number))
    big_sidecar.notify("$/cancel", {"token": "1"})
    assert "additionalContext" in big_sidecar.settle(other, timeout=60)
    assert_settled_once(big_sidecar)


@pytest.mark.parametrize("method", ["prepare", "listCandidates"])
def test_a_passed_deadline_answers(big_sidecar: Sidecar, method: str) -> None:
    params: dict[str, Any] = {
        "prepare": requests.prepare(BIG_ID),
        "listCandidates": {"agent": requests.AGENT, "query": "no such title"},
    }[method]
    request_id = big_sidecar.request(method, {**params, "deadlineMs": 1})
    assert_cancelled(failure(big_sidecar, request_id), -32802)
    assert_settled_once(big_sidecar)


def test_a_deadline_in_the_far_future_changes_nothing(own_sidecar: Sidecar) -> None:
    params = requests.prepare("plain-talk", deadlineMs=2**53 - 1)
    assert "additionalContext" in own_sidecar.call("prepare", params)


@pytest.mark.parametrize("deadline", [0, -1, 1.5, "5", True, [], 2**53])
def test_a_bad_deadline_is_a_bad_param(sidecar: Sidecar, deadline: object) -> None:
    error = sidecar.fails("prepare", requests.prepare("plain-talk", deadlineMs=deadline))
    assert (error.code, error.data["field"]) == (-32602, "deadlineMs")


def test_a_passed_deadline_is_a_failure_of_its_message(big_sidecar: Sidecar) -> None:
    """So `never-block` passes the message on, untouched."""
    message = requests.person(MENTION)
    params = requests.pre_step(message, policy="never-block", deadlineMs=1)
    result = big_sidecar.call("preStep", params, PROMPTLY)
    assert result["decision"] == params["decision"]
    (outcome,) = result["outcomes"]
    assert (outcome["messageIndex"], outcome["status"]) == (0, "failed")
    assert outcome["error"]["code"] == -32802
    assert "contextId" not in outcome
    assert_settled_once(big_sidecar)


def test_a_passed_deadline_terminates_under_the_native_policy(big_sidecar: Sidecar) -> None:
    params = requests.pre_step(requests.person(MENTION), policy="native", deadlineMs=1)
    assert_cancelled(failure(big_sidecar, big_sidecar.request("preStep", params)), -32802)


@pytest.mark.parametrize("policy", ["native", "never-block"])
def test_a_shutdown_answers_what_still_runs(big_sidecar: Sidecar, policy: str) -> None:
    """Whatever the policy: a shutdown always answers the request with an error."""
    params = requests.pre_step(requests.person(MENTION), policy=policy)
    running = big_sidecar.request("preStep", params)
    assert big_sidecar.call("shutdown", timeout=PROMPTLY) is None
    assert_cancelled(failure(big_sidecar, running), -32802)
    big_sidecar.notify("exit")
    assert big_sidecar.wait() == 0
    assert big_sidecar.unclaimed() == []


def test_a_cancel_leaves_the_sidecar_fit_to_read_the_same_session(big_sidecar: Sidecar) -> None:
    for _ in range(3):
        request_id = big_sidecar.request("prepare", requests.prepare(BIG_ID))
        big_sidecar.notify("$/cancelRequest", {"id": request_id})
        assert_cancelled(failure(big_sidecar, request_id))
    result = big_sidecar.call("prepare", requests.prepare(BIG_ID), timeout=60)
    (reference,) = result["additionalContext"]["source"]["references"]
    assert reference["capturedThroughSeq"] == 279_999
    assert reference["originalMessages"] == 280_000


def test_the_loop_answers_others_while_a_session_is_read(big_sidecar: Sidecar) -> None:
    request_id = big_sidecar.request("prepare", requests.prepare(BIG_ID))
    started = time.monotonic()
    for _ in range(20):
        big_sidecar.call("parseText", {"text": "@[a](dsh-session:ImEi)"})
    assert time.monotonic() - started < PROMPTLY
    big_sidecar.notify("$/cancelRequest", {"id": request_id})
    assert_cancelled(failure(big_sidecar, request_id))
