"""No answer mixes two states of a log, while another process writes logs without a pause."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from faults import chain
from faults.chain import CUT, GROWING, State
from faults.matrix import LOGS_WRITTEN, shows
from faults.world import World
from support import logs, requests
from support.live import snapshot
from support.requests import AGENT
from support.sidecar import TIMEOUT, Sidecar, WireError

SECONDS = float(os.environ.get("FAULTS_SECONDS", "5"))
LEAST = 100
"""Answers, however slow the machine is."""


class Reader:
    """Asks for the same logs over and over, and checks what it is told."""

    def __init__(self, peer: Sidecar, random: Random) -> None:
        self._peer = peer
        self._random = random
        self._reached = dict.fromkeys((*GROWING, *CUT), State(0, -1))
        self.states: dict[str, set[State]] = {name: set() for name in self._reached}
        self.answers = 0
        self.changed = 0
        """How many reads were refused, since the log changed in the meantime."""

    def round(self) -> None:
        """Some reads of each log at one time, and a list."""
        names = [name for name in self._reached for _ in range(self._random.randrange(3))]
        self._random.shuffle(names)
        asked = [
            (name, self._peer.request("prepare", requests.prepare(name, config=WIDE)))
            for name in names
        ]
        listed = self._peer.request("listCandidates", {"agent": AGENT, "query": ""})
        told = [self._told(name, request_id) for name, request_id in asked]
        self._check_titles(self._peer.settle(listed))
        for name, state in told:
            if state is not None:
                if name in GROWING:
                    assert state >= self._reached[name], "it went back"
                self.states[name].add(state)
        for name, state in told:
            if state is not None:
                self._reached[name] = max(state, self._reached[name])
        self._check_pages(self._random.choice(GROWING))

    def _told(self, name: str, request_id: object) -> tuple[str, State | None]:
        self.answers += 1
        try:
            told = snapshot(self._peer.settle(request_id))
        except WireError as error:
            self._check_changed(error)
            return name, None
        assert told.reference["omittedMessages"] == told.reference["omittedBytes"] == 0
        assert told.through is not None
        return name, chain.check(name, told.texts, told.through)

    def _check_titles(self, result: dict[str, object]) -> None:
        candidates = result["candidates"]
        assert isinstance(candidates, list)
        self.answers += 1
        for each in candidates:
            name = each["sessionId"]
            if name in self._reached and each["label"] != name:
                given = chain.check_title(name, each["label"])
                if name in GROWING and not result["isIncomplete"]:
                    epoch, through = self._reached[name]
                    assert given >= (epoch, through - chain.ROWS_A_TURN + 1), "an old title"

    def _check_pages(self, name: str) -> None:
        """All pages together are one state, or the later ones are refused.

        Pages are told apart by where the log ends, so that holds as long as it is not replaced.
        """
        texts: list[str] = []
        place: dict[str, object] = {}
        while True:
            params = {"agent": AGENT, "sessionId": name, "limit": 25, **place}
            try:
                page = self._peer.call("readSnapshot", params)
            except WireError as error:
                self._check_changed(error)
                return
            texts += [item["text"] for item in page["items"]]
            self.answers += 1
            place = {
                "offset": page.get("nextOffset"),
                "capturedThroughSeq": page["capturedThroughSeq"],
                "capturedFormatVersion": page.get("capturedFormatVersion", 0),
            }
            if place["offset"] is None:
                break
        if len({text.partition(":")[0] for text in texts}) == 1:
            chain.check(name, texts, page["capturedThroughSeq"])

    def _check_changed(self, error: WireError) -> None:
        """The only thing that may be wrong."""
        assert error.data["cause"] == "changed", error
        self.changed += 1


WIDE = {"contextWindow": 10_000_000}


@contextmanager
def writing(root: Path, seed: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process that writes."""
    folder = Path(__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, "-m", "faults.chain", str(root), str(seed)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


@shows(LOGS_WRITTEN)
@pytest.mark.changes_root
def test_no_answer_mixes_two_states(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with writing(world.root, seed=1) as writer, world.start() as peer:
        reader = Reader(peer, Random(2))
        since = time.monotonic()
        while time.monotonic() < since + SECONDS or reader.answers < LEAST:
            reader.round()
        final, _ = writer.communicate(timeout=TIMEOUT)
        for name, (epoch, through) in json.loads(final).items():
            told = snapshot(peer.call("prepare", requests.prepare(name, config=WIDE)))
            assert told.through is not None
            assert chain.check(name, told.texts, told.through) == State(epoch, through)
        world.stays(LOGS_WRITTEN, peer)
    with capsys.disabled():
        states = {name: len(states) for name, states in reader.states.items()}
        print(f"\n{reader.answers} answers, {reader.changed} of them `changed`; states: {states}")


def test_a_mixture_is_told_from_a_state(tmp_path: Path) -> None:
    """What the test above relies on."""
    writer = chain.Writer(tmp_path, "cut-plain", Random(1))
    while writer.state.through < 30:
        writer.step()
    with Sidecar(roots=[tmp_path]) as peer:
        told = snapshot(peer.call("prepare", requests.prepare("cut-plain", config=WIDE)))
    assert told.through is not None
    assert chain.check("cut-plain", told.texts, told.through) == writer.state
    other = chain.message(1, 0, "")
    for bad in (told.texts[:-1], [other, *told.texts[1:]], [*told.texts[:-1], told.texts[-2]]):
        with pytest.raises(AssertionError):
            chain.check("cut-plain", bad, told.through)
    assert logs.session_folder("cut-plain") == "cut-plain"
