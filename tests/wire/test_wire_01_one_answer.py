"""Rule 1: every request gets exactly one response; notifications get none, known or not."""

from collections import Counter

from support import requests
from support.requests import AGENT
from support.sidecar import Sidecar


def test_each_of_many_requests_gets_exactly_one_answer(own_sidecar: Sidecar) -> None:
    kinds = [
        ("parseText", {"text": "see dsh-session:ImEi"}),
        ("parseText", {"text": 5}),
        ("formatMention", {"sessionId": "a"}),
        ("listCandidates", {"agent": AGENT}),
        ("prepare", requests.prepare("plain-talk")),
        ("prepare", requests.prepare("not-there")),
        ("preStep", requests.pre_step(requests.person("@[x](dsh-session:InBsYWluLXRhbGsi)"))),
        ("status", {}),
        ("noSuchMethod", {}),
    ]
    sent = [own_sidecar.request(*kinds[at % len(kinds)]) for at in range(270)]
    own_sidecar.close_stdin()
    assert own_sidecar.wait() == 0
    answers = own_sidecar.unclaimed()
    assert Counter(answer["id"] for answer in answers) == Counter(sent)
    failed = Counter(answer["error"]["code"] for answer in answers if "error" in answer)
    assert failed == {-32602: 30, -32014: 30, -32601: 30}


def test_notifications_get_no_answer(own_sidecar: Sidecar) -> None:
    """Also those that we don't know, that have bad params, or that name a method of requests."""
    own_sidecar.notify("noSuchNotification", {"x": 1})
    own_sidecar.notify("$/noSuchNotification")
    own_sidecar.notify("$/cancelRequest", {"id": 99})
    own_sidecar.notify("$/cancelRequest", {"id": True})
    own_sidecar.notify("$/cancelRequest", [99])
    own_sidecar.notify("$/cancel")
    own_sidecar.notify("$/cancel", {"token": None})
    own_sidecar.notify("listCandidates", {"agent": AGENT})
    own_sidecar.notify("parseText", {"text": 5})
    assert own_sidecar.call("parseText", {"text": "after"}) == {"text": "after", "references": []}
    own_sidecar.close_stdin()
    assert own_sidecar.wait() == 0
    assert own_sidecar.unclaimed() == []


def test_a_response_to_nothing_is_dropped(own_sidecar: Sidecar) -> None:
    own_sidecar.respond(1, {"sessions": []})
    own_sidecar.send({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}})
    own_sidecar.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}})
    assert own_sidecar.call("status")["requestsInFlight"] == 0
    own_sidecar.close_stdin()
    assert own_sidecar.wait() == 0
    assert own_sidecar.unclaimed() == []


def test_absent_null_and_empty_params_are_alike(sidecar: Sidecar) -> None:
    answers = [sidecar.call("status"), sidecar.call("status", None), sidecar.call("status", {})]
    assert [sorted(answer) for answer in answers] == [sorted(answers[0])] * 3


def test_unknown_fields_are_ignored(sidecar: Sidecar) -> None:
    sidecar.send_raw(
        b'{"extra":[{}],"jsonrpc":"2.0","method":"parseText","trace":null,"id":"fields",'
        b'"params":{"later":{"a":1},"text":"x"}}\n'
    )
    assert sidecar.settle("fields") == {"text": "x", "references": []}
