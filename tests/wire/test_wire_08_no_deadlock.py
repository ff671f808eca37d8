"""Rule 8: the reader never waits for the writer."""

from collections import Counter
from pathlib import Path

from support import requests
from support.requests import BIG_ID
from support.sidecar import Sidecar

TEXT = "x" * 30_000
"""More than two of these answers fill a pipe."""


def test_a_host_that_reads_nothing_can_still_cancel(big_root: Path) -> None:
    """It writes 6 MB of requests without reading an answer, and a cancel behind them."""
    with Sidecar(roots=[big_root], drain=False) as sidecar:
        slow = sidecar.request("prepare", requests.prepare(BIG_ID), request_id="slow")
        sent = [sidecar.request("parseText", {"text": TEXT}) for _ in range(200)]
        sidecar.notify("$/cancelRequest", {"id": slow})
        sent += [sidecar.request("parseText", {"text": TEXT}) for _ in range(20)]
        sidecar.drain()
        assert sidecar.answer(slow)["error"]["code"] == -32800
        for request_id in sent:
            assert sidecar.settle(request_id)["text"] == TEXT
        sidecar.close_stdin()
        assert sidecar.wait() == 0
        assert sidecar.unclaimed() == []


def test_answers_come_whole_and_once_after_a_late_start(main_root: Path) -> None:
    with Sidecar(roots=[main_root], drain=False) as sidecar:
        params = {"agent": requests.AGENT, "limit": 1000}
        sent = [sidecar.request("listCandidates", params) for _ in range(60)]
        sidecar.close_stdin()
        sidecar.drain()
        assert sidecar.wait() == 0
        answers = sidecar.unclaimed()
        assert Counter(answer["id"] for answer in answers) == Counter(sent)
        assert {len(answer["result"]["candidates"]) for answer in answers} == {39}
