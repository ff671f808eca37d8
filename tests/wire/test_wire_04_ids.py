"""Rule 4: an id in flight is refused a second time, the first unharmed; 1 is not "1"."""

import pytest

from support import requests
from support.requests import BIG_ID
from support.sidecar import Sidecar


def test_an_id_in_flight_is_refused_and_the_first_unharmed(big_sidecar: Sidecar) -> None:
    big_sidecar.request("prepare", requests.prepare(BIG_ID), request_id=5)
    big_sidecar.request("parseText", {"text": "x"}, request_id=5)
    refusal = big_sidecar.answer(5)
    assert refusal["error"]["code"] == -32600
    assert "additionalContext" in big_sidecar.settle(5, timeout=60)
    big_sidecar.request("parseText", {"text": "x"}, request_id=5)
    assert big_sidecar.settle(5)["text"] == "x"


def test_a_number_and_a_string_are_two_ids(big_sidecar: Sidecar) -> None:
    big_sidecar.request("prepare", requests.prepare(BIG_ID), request_id=1)
    big_sidecar.request("parseText", {"text": "x"}, request_id="1")
    assert big_sidecar.settle("1")["text"] == "x"
    big_sidecar.notify("$/cancelRequest", {"id": 1})
    assert big_sidecar.answer(1)["error"]["code"] == -32800


@pytest.mark.parametrize(
    "request_id", [0, -1, 2**53 + 1, 10**30, "", "a b", "\ud83d", "\U0001f600", "\u2028", "x" * 999]
)
def test_an_id_comes_back_as_it_was(sidecar: Sidecar, request_id: int | str) -> None:
    sidecar.request("parseText", {"text": "x"}, request_id=request_id)
    assert sidecar.settle(request_id)["text"] == "x"


@pytest.mark.parametrize("request_id", ["null", "1.5", "1.0", "1e2", "true", "{}", "[1]"])
def test_a_bad_id_is_a_bad_request_with_id_null(own_sidecar: Sidecar, request_id: str) -> None:
    own_sidecar.send_raw(requests.line("parseText", '{"text":"x"}', request_id))
    answer = own_sidecar.answer(None)
    assert answer["error"]["code"] == -32600
    assert answer["error"]["data"]["retryable"] is False
