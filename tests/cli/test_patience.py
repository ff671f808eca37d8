"""How long a command waits: until nothing is missing, but not for ever, since a disk may hang."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sessionref import resolver
from sessionref.cli import choosing, listing
from sessionref.cli.wiring import Parts
from sessionref.dispatcher import Call
from sessionref.handlers import Handlers
from sessionref.resolver import Label
from sessionref.sessions.corpus import Corpus
from sessionref.sessions.workers import Workers
from sessionref_protocol import types
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.mention import format_mention
from support import logs, shell
from support.shapes import check_shape

STUCK = """
import sys, threading
from sessionref.__main__ import main
from sessionref.sessions import walk
from sessionref.sessions.root import Root

visit, find = walk._Walk._visit, Root.find

def stuck_visit(self, project, folder, path):
    if folder == "stuck":
        threading.Event().wait()
    visit(self, project, folder, path)

def stuck_find(self, session_id, stop):
    if session_id == "stuck":
        threading.Event().wait()
    return find(self, session_id, stop)

walk._Walk._visit, Root.find = stuck_visit, stuck_find
sys.exit(main())
"""
"""The program on a disk that hangs as soon as it is asked for the session `stuck`."""


def on_stuck_disk(
    *arguments: shell.Argument, home: Path, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    root = home / "root"
    for session_id in ("a", "stuck"):
        logs.write_log(root, session_id, [logs.user("q"), logs.title("A title")], cwd="/w")
    words = (*arguments, "--root", root, "--wait", "1")
    return shell.run("-c", STUCK, *words, home=home, given=given, program=sys.executable)


def test_a_list_is_shown_when_nothing_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for number in range(20):
        rows = [*[logs.user("q" * 10_000)] * 100, logs.title(f"Title {number}")]
        logs.write_log(tmp_path, f"session-{number}", rows)
    monkeypatch.setattr(resolver, "_PATIENCE_SECONDS", 0.03)
    assert listing.run(["title", "--root", str(tmp_path), "--no-index", "--json"]) == 0
    found = json.loads(capfdbinary.readouterr().out)
    assert (found["total"], found["isIncomplete"]) == (20, False)
    assert {each["label"] for each in found["candidates"]} == {f"Title {n}" for n in range(20)}


def test_a_list_on_a_disk_that_hangs_is_what_there_is_of_it(tmp_path: Path) -> None:
    done = on_stuck_disk("list", home=tmp_path)
    assert done.returncode == 3
    assert done.stdout.split(b"\t")[-1] == b"a\n"
    assert done.stderr.decode() == (
        "sessionref list: not every session could be read within 1 s; "
        "--wait N waits for N seconds\n"
    )
    done = on_stuck_disk("list", "--json", home=tmp_path)
    found = json.loads(done.stdout)
    check_shape("ListCandidatesResult", found)
    assert done.returncode == 3
    assert found["isIncomplete"] is True


def test_that_nothing_is_there_is_not_said_before_it_is_known(tmp_path: Path) -> None:
    done = on_stuck_disk("list", "no such", home=tmp_path)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"there is no such session" not in done.stderr


@pytest.mark.parametrize("words", [["title"], ["--last"]])
def test_no_session_is_chosen_while_another_may_be_the_better_one(
    words: list[str], tmp_path: Path
) -> None:
    done = on_stuck_disk("mention", *words, home=tmp_path)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.startswith(b"sessionref mention: not every session could be read within 1 s")


class StillReading(Handlers):
    """Knows one session, and that there may be others."""

    def __init__(self) -> None:
        self.asked = 0

    async def list_candidates(
        self, params: types.ListCandidatesParams, _: Call
    ) -> types.ListCandidatesResult:
        self.asked += 1
        only = types.Candidate(
            session_id="a",
            label="A",
            created_at=0,
            mention=format_mention("a"),
            display=types.Display(label="A"),
            display_title="A",
            live=False,
            persisted=True,
            same_workspace=True,
            format_version=0,
        )
        return types.ListCandidatesResult(candidates=[only], is_incomplete=True, total=1)

    async def label(self, *_: object) -> Label:
        return Label("a", "A", None)


@pytest.mark.asyncio
async def test_nor_is_it_where_the_others_answer_at_once_that_they_are_not_known() -> None:
    handlers = StillReading()
    corpus = Corpus(())
    parts = Parts(Workers(1, 1), (), corpus, handlers, None)
    with pytest.raises(RpcError) as caught:
        await choosing.last(parts, types.Agent(id=""), 1)
    assert caught.value.kind is ErrorKind.TIMED_OUT
    assert 2 <= handlers.asked <= 1 / choosing._PAUSE_SECONDS


def test_an_id_is_not_looked_for_in_a_list(tmp_path: Path) -> None:
    done = on_stuck_disk("show", "a", home=tmp_path)
    assert done.returncode == 0


def test_a_session_on_a_disk_that_hangs_is_waited_for_no_longer(tmp_path: Path) -> None:
    shown = on_stuck_disk("show", "stuck", "--json", home=tmp_path)
    error = json.loads(shown.stdout)
    check_shape("ErrorObject", error)
    assert (shown.returncode, error["code"]) == (3, -32802)
    prompt = format_mention("stuck").encode()
    expanded = on_stuck_disk("expand", home=tmp_path, given=prompt)
    assert (expanded.returncode, expanded.stdout) == (3, b"")
    assert b"line 1, column 1: " in expanded.stderr


@pytest.mark.parametrize("seconds", ["0", "-1", "1.5", "x", "1000001"])
def test_a_time_to_wait_is_a_whole_number_of_seconds(seconds: str, tmp_path: Path) -> None:
    for command in (["list"], ["show", "a"], ["mention", "a"], ["expand"]):
        done = shell.run(*command, f"--wait={seconds}", home=tmp_path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"--wait" in done.stderr
