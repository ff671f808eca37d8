"""Reading live sessions: the host is asked first, believed as far as it is consistent, and is
never waited for longer than whoever asked wants to wait. What a list says of them, and what hosts
push, is in `test_wire_live_lists`.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import logs, requests
from support.live import READ, Host, header, page, said
from support.roots import SessionRoots
from support.sidecar import Sidecar, WireError

BOTH = "both"
"""On disk, and known to the host, which is ahead."""
STORED = "stored"
"""On disk only."""
LIVE = "live-one"
"""Known to the host only."""

HEADER = header(LIVE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("live")
    logs.write_log(folder, BOTH, [logs.user("as stored")])
    logs.write_log(folder, STORED, [logs.user("stored"), logs.title("Stored")])
    return folder


@pytest.fixture(scope="module")
def spawned(root: Path) -> Iterator[Host]:
    with Sidecar(roots=[root]) as sidecar:
        yield Host(sidecar)


@pytest.fixture
def host(spawned: Host) -> Iterator[Host]:
    """A host that the whole module shares. It pushes nothing, and each test settles everything."""
    yield spawned
    assert spawned.is_asked_nothing()
    assert spawned.sidecar.call("status")["requestsInFlight"] == 0


@pytest.fixture
def own(root: Path) -> Iterator[Host]:
    """A host for one test alone, on the same root."""
    with Sidecar(roots=[root]) as sidecar:
        yield Host(sidecar)


def assert_host_failed(error: WireError, session_id: str = LIVE) -> None:
    assert error.code == -32014
    assert error.data == {
        "code": "SESSION_REFERENCE_READ_FAILED",
        "retryable": True,
        "cause": "host",
        "sessionId": session_id,
        "inputIndex": 0,
    }


def assert_ended(error: WireError, code: int) -> None:
    """Cancelled (-32800), or out of time (-32802)."""
    assert error.code == code
    assert error.data["code"] == "SESSION_REFERENCE_CANCELLED"
    assert error.data["retryable"] is (code == -32802)


class TestWhoIsAsked:
    def test_live_beats_disk(self, host: Host) -> None:
        request_id = host.read(BOTH, page(header(BOTH), said("as it is now", "and more")))
        found = host.snapshot(request_id)
        assert (found.texts, found.through) == (["as it is now", "and more"], 1)

    def test_a_session_that_is_live_only(self, host: Host) -> None:
        head = header(LIVE, cwd="/work/live", title="Not the label", running=True)
        found = host.snapshot(host.read(LIVE, page(head, said("live"))))
        assert found.session == {
            "sessionId": LIVE,
            "label": LIVE,
            "cwd": "/work/live",
            "capturedThroughSeq": 0,
            "conversation": [{"role": "user", "text": "live"}],
        }

    def test_a_session_that_is_on_disk_only(self, host: Host) -> None:
        request_id = host.prepare(STORED)
        host.answer(host.asked_to_read(STORED), None)
        found = host.snapshot(request_id)
        assert (found.texts, found.through) == (["stored"], 1)

    def test_a_session_that_is_nowhere(self, host: Host) -> None:
        error = host.failure(host.read("nowhere", None))
        assert (error.code, error.data["cause"]) == (-32014, "not_found")
        assert error.data["retryable"] is False

    def test_live_and_stored_sessions_in_one_context(self, host: Host) -> None:
        params = requests.prepare(LIVE, STORED)
        request_id = host.sidecar.request("prepare", params)
        host.answer(host.asked_to_read(LIVE), page(HEADER, said("live")))
        host.answer(host.asked_to_read(STORED), None)
        message = host.sidecar.settle(request_id)["additionalContext"]
        references = message["source"]["references"]
        assert [each["sessionId"] for each in references] == [LIVE, STORED]
        assert [each["capturedThroughSeq"] for each in references] == [0, 1]

    def test_a_host_that_declared_nothing_is_asked_nothing(self, root: Path) -> None:
        with Sidecar(roots=[root]) as sidecar:
            sidecar.call("initialize", {"protocolVersion": 1, "capabilities": {}})
            sidecar.notify("sessions/changed", {"sessions": [header(LIVE)]})
            assert "additionalContext" in sidecar.call("prepare", requests.prepare(STORED))
            found = sidecar.call("listCandidates", {"agent": requests.AGENT})
            assert {each["sessionId"]: each["live"] for each in found["candidates"]} == {
                BOTH: False,
                STORED: False,
            }
            assert sidecar.unclaimed() == []

    @pytest.mark.skipif(sys.platform != "linux", reason="the system tells of files on Linux")
    def test_the_log_of_a_live_session_is_not_touched(self, host: Host, root: Path) -> None:
        (log,) = root.glob(f"*/{BOTH}/*")
        with Watch(log.parent) as watch:
            host.snapshot(host.read(BOTH, page(header(BOTH), said("live"))))
            assert not watch.saw_something()
            host.snapshot(host.read(BOTH, None))
            assert watch.saw_something()


class Watch:
    """Tells whether anything in a folder, or the folder itself, was opened or read."""

    OPEN_OR_ACCESS = 0x20 | 0x01

    def __init__(self, folder: Path) -> None:
        system = ctypes.CDLL(None, use_errno=True)
        self._descriptor = system.inotify_init1(os.O_NONBLOCK)
        assert self._descriptor >= 0
        name = os.fsencode(folder)
        assert system.inotify_add_watch(self._descriptor, name, self.OPEN_OR_ACCESS) >= 0

    def saw_something(self) -> bool:
        try:
            return bool(os.read(self._descriptor, 1 << 16))
        except BlockingIOError:
            return False

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


class TestWhatASessionComesTo:
    def test_nothing_closes_a_turn_that_goes_on(self, host: Host, tmp_path: Path) -> None:
        """The same events on disk count what would close the step, its call and the turn."""
        call = {"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"}
        working = logs.assistant("at work")
        working["data"]["message"]["content"].append(call)
        marks = [{"type": kind, "data": {"turn": 1}} for kind in ("turn/start", "step/start")]
        rows = logs.numbered([*marks, logs.user("go"), working])
        found = host.snapshot(host.read(LIVE, page(HEADER, rows)))
        assert (found.texts, found.through) == (["go", "at work"], 3)
        logs.write_log(tmp_path, LIVE, rows)
        with Sidecar(roots=[tmp_path]) as sidecar:
            result = sidecar.call("prepare", requests.prepare(LIVE))
        (reference,) = result["additionalContext"]["source"]["references"]
        assert reference["capturedThroughSeq"] == 6

    def test_no_events(self, host: Host) -> None:
        found = host.snapshot(host.read(LIVE, page(HEADER, [])))
        assert (found.texts, found.through) == ([], None)

    def test_log_only_events_may_be_left_out(self, host: Host) -> None:
        first, second = said("one", "two", first=4, step=5)
        request_id = host.prepare(LIVE)
        host.answer(host.asked_to_read(LIVE), page(HEADER, [first], nextSeq=8))
        host.answer(host.asked_to_read(LIVE, after=7), page(HEADER, [second], nextSeq=20))
        host.answer(host.asked_to_read(LIVE, after=19), page(HEADER, said("three", first=30)))
        found = host.snapshot(request_id)
        assert (found.texts, found.through) == (["one", "two", "three"], 30)
        assert found.reference["originalMessages"] == 3

    def test_a_page_may_have_no_event_that_matters(self, host: Host) -> None:
        request_id = host.prepare(LIVE)
        host.answer(host.asked_to_read(LIVE), page(HEADER, [], nextSeq=500))
        host.answer(host.asked_to_read(LIVE, after=499), page(HEADER, [], nextSeq=1000))
        host.answer(host.asked_to_read(LIVE, after=999), page(HEADER, said("late", first=1000)))
        found = host.snapshot(request_id)
        assert (found.texts, found.through) == (["late"], 1000)

    @pytest.mark.parametrize("next_seq", [0, 2, 3])
    def test_more_begins_behind_the_events_that_were_told(self, host: Host, next_seq: int) -> None:
        request_id = host.prepare(LIVE)
        told = page(HEADER, said("a", "b", "c"), nextSeq=next_seq)
        host.answer(host.asked_to_read(LIVE), told)
        host.answer(host.asked_to_read(LIVE, after=2), page(HEADER, said("d", first=3)))
        assert host.snapshot(request_id).texts == ["a", "b", "c", "d"]

    def test_a_compaction_reaches_back_over_pages(self, host: Host) -> None:
        summary = {
            **logs.checkpoint("what happened"),
            "surfaceOp": {"op": "replace", "start": 0, "end": 6},
            "sourceEventSeqs": [[0, 6]],
        }
        rows = [{"seq": 9, "time": 1, **summary}, *said("after", first=10)]
        first = page(HEADER, said("a", "b", "c", step=3), nextSeq=7)
        found = host.snapshot(host.read(LIVE, first, page(HEADER, rows)))
        assert (found.texts, found.through) == (["what happened", "after"], 10)
        assert found.reference["compacted"] is True

    def test_what_is_no_part_of_a_header_may_change_between_pages(self, host: Host) -> None:
        first = page(header(LIVE, title="One", running=True), said("a"), nextSeq=1)
        last = page(header(LIVE, title="Two", extra=[1]), said("b", first=1))
        assert host.snapshot(host.read(LIVE, first, last)).texts == ["a", "b"]

    @pytest.mark.parametrize("session_id", ["\ud83d", "a\udc00b", "", 'q"\\/\n\x00', "\U0001f600"])
    def test_any_string_is_an_id(self, host: Host, session_id: str) -> None:
        """Lone surrogates included, here and in what is said."""
        head = header(session_id, cwd="/\udfff")
        request_id = host.prepare(session_id)
        told = page(head, said("half \ud83d"), nextSeq=1)
        host.answer(host.asked_to_read(session_id), told)
        last = page(head, said("\ude00 other half", first=1))
        host.answer(host.asked_to_read(session_id, after=0), last)
        found = host.snapshot(request_id)
        assert found.texts == ["half \ud83d", "\ude00 other half"]
        assert (found.session["sessionId"], found.session["cwd"]) == (session_id, "/\udfff")

    def test_a_long_session(self, host: Host) -> None:
        """Its pages are larger than a pipe, and only what fits is kept."""
        texts = [f"{number} " + "x" * 5000 for number in range(200)]
        pages = [
            page(HEADER, said(*texts[at : at + 50], first=at), nextSeq=at + 50)
            for at in range(0, 150, 50)
        ]
        pages.append(page(HEADER, said(*texts[150:], first=150)))
        found = host.snapshot(host.read(LIVE, *pages))
        assert found.through == 199
        assert found.reference["originalMessages"] == 200
        assert found.texts[-1] == texts[-1]
        assert 0 < found.reference["retainedMessages"] < 14


class TestGenerations:
    """The header's version says how the events are written."""

    @pytest.mark.parametrize(
        "name", ["v0", "v0/extra-legacy", "v0/extra-ranges", "v0/extra-unpacked", "v1", "v2", "v3"]
    )
    @pytest.mark.parametrize("page_size", [2, 1000])
    def test_a_log_that_is_told_in_pages(
        self, host: Host, session_roots: SessionRoots, name: str, page_size: int
    ) -> None:
        self.check(host, session_roots("generations") / name, page_size)

    @pytest.mark.parametrize("page_size", [1, 1000])
    def test_generation_4(self, host: Host, session_roots: SessionRoots, page_size: int) -> None:
        self.check(host, session_roots("generations") / "v4", page_size)

    @staticmethod
    def check(host: Host, folder: Path, page_size: int) -> None:
        expected = json.loads((folder / "expected.json").read_bytes())
        (log,) = folder.glob("session*.jsonl")
        head, *rows = map(json.loads, log.read_bytes().splitlines())
        cuts = range(0, len(rows), page_size)
        pages = [page(head, rows[at : at + page_size], nextSeq=0) for at in cuts]
        del pages[-1]["nextSeq"]
        found = host.snapshot(host.read(expected["sessionId"], *pages))
        assert found.session["conversation"] == [
            {"role": item["role"], "text": item["text"]} for item in expected["conversation"]
        ]
        assert found.through == expected["lastStoredSeq"]
        assert found.reference.get("capturedFormatVersion", 0) == expected["generation"]

    def test_no_version_is_the_newest_that_we_know(self, host: Host) -> None:
        head = header(LIVE)
        del head["version"]
        found = host.snapshot(host.read(LIVE, page(head, said("live"))))
        assert found.reference["capturedFormatVersion"] == 4

    def test_a_newer_generation_is_read_as_well_as_we_can(self, host: Host) -> None:
        message = requests.person("See dsh-session:ImxpdmUtb25lIg.")
        request_id = host.sidecar.request("preStep", requests.pre_step(message))
        strange = {"type": "new/thing", "surfaceOp": "append", "data": {}}
        rows = logs.numbered([logs.user("understood"), strange])
        host.answer(host.asked_to_read(LIVE), page(header(LIVE, version=9), rows))
        (outcome,) = host.sidecar.settle(request_id)["outcomes"]
        (reference,) = outcome["references"]
        assert reference["status"] == "prepared"
        assert reference["degraded"] == {"reason": "newer_format", "version": 9}


TURN_END = {"type": "turn/end", "data": {"turn": 1}}
DELTAS = {"turn": 1, "step": 1, "index": 0, "dt": [1], "texts": ["x", "y"]}
PACKED = {"type": "text-chunks", "seq0": 9, "time0": 1, "data": DELTAS}


class TestAHostThatContradictsItself:
    """The read fails with cause `host`: another try may find it of one mind."""

    FIRST = page(HEADER, said("a", "b"), nextSeq=2)

    @pytest.mark.parametrize(
        "second",
        [
            pytest.param(page(HEADER, said("a", "b"), nextSeq=2), id="repeats"),
            pytest.param(page(HEADER, said("a", "b")), id="repeats, the last one"),
            pytest.param(page(HEADER, [*said("b", first=1), *said("c", first=2)]), id="overlaps"),
            pytest.param(page(HEADER, [{"seq": 1, "time": 1, **TURN_END}]), id="repeats an end"),
            pytest.param(
                page(HEADER, [*said("b", first=1), {"seq": 2, "time": 1, **TURN_END}]),
                id="overlaps before an end",
            ),
            pytest.param(page(HEADER, [], nextSeq=2), id="leads nowhere"),
            pytest.param(page(HEADER, [], nextSeq=0), id="leads back"),
            pytest.param(page(HEADER, [], nextSeq=-5), id="leads to before the first"),
            pytest.param(page(header("other"), said("c", first=2)), id="of another session"),
            pytest.param(page(header(LIVE, createdAt=1), said("c", first=2)), id="created anew"),
            pytest.param(page(header(LIVE, cwd="/w"), said("c", first=2)), id="elsewhere"),
            pytest.param(page(header(LIVE, version=3), said("c", first=2)), id="another version"),
            pytest.param(page(header(LIVE, origin="subagent"), []), id="another origin"),
            pytest.param(page(5, said("c", first=2)), id="without a header"),
            pytest.param(None, id="no such session any more"),
        ],
    )
    def test_a_second_page(self, host: Host, second: object) -> None:
        assert_host_failed(host.failure(host.read(LIVE, self.FIRST, second)))

    @pytest.mark.parametrize("rows", [said("b", first=9), [PACKED]], ids=["message", "packed"])
    def test_events_from_before_where_the_page_was_to_begin(
        self, host: Host, rows: list[dict[str, Any]]
    ) -> None:
        first = page(HEADER, said("a"), nextSeq=10)
        assert_host_failed(host.failure(host.read(LIVE, first, page(HEADER, rows))))

    @pytest.mark.parametrize("seqs", [[1, 0], [0, 0], [0, 2, 1]])
    @pytest.mark.parametrize("row", [logs.user("x"), TURN_END], ids=["message", "end of a turn"])
    def test_events_in_disorder(self, host: Host, seqs: list[int], row: dict[str, Any]) -> None:
        rows = [{"seq": seq, "time": 1, **row} for seq in seqs]
        assert_host_failed(host.failure(host.read(LIVE, page(HEADER, rows))))

    def test_another_session_than_the_one_asked_for(self, host: Host) -> None:
        assert_host_failed(host.failure(host.read(LIVE, page(header("other"), said("x")))))

    def test_it_is_asked_no_more_and_the_next_read_is_a_new_one(self, host: Host) -> None:
        assert_host_failed(host.failure(host.read(LIVE, self.FIRST, self.FIRST)))
        assert host.is_asked_nothing()
        assert host.snapshot(host.read(LIVE, page(HEADER, said("fine")))).texts == ["fine"]


class TestAHostThatAnswersNonsense:
    @pytest.mark.parametrize(
        "result",
        [
            5,
            "x",
            False,
            [],
            {},
            {"header": HEADER},
            {"events": []},
            page(HEADER, None),
            page(HEADER, {}),
            page(HEADER, "[]"),
            page(HEADER, [], nextSeq="5"),
            page(HEADER, [], nextSeq=1.5),
            page(HEADER, [], nextSeq=True),
            page(None, []),
            page([HEADER], []),
            page({}, []),
            page({"id": LIVE}, []),
            page({"createdAt": 1}, []),
            page(header(LIVE, createdAt=-1), []),
            page(header(LIVE, createdAt="1"), []),
            page(header(LIVE, createdAt=1.5), []),
            page(header(5), []),
        ],
        ids=lambda result: json.dumps(result)[:60],
    )
    def test_of_another_shape(self, host: Host, result: object) -> None:
        assert_host_failed(host.failure(host.read(LIVE, result)))

    @pytest.mark.parametrize(
        "event",
        [
            None,
            5,
            "x",
            [],
            {},
            {"seq": 1},
            {"type": "user/message"},
            {"seq": "1", "type": "session/title"},
            {"seq": -1, "type": "session/title"},
            {"seq": 1, "time": 1, **logs.user("x"), "surfaceOp": "prepend"},
            {"seq": 1, "time": 1, **logs.user("x"), "surfaceOp": None},
            {"seq": 1, "time": 1, **logs.user("x"), "sourceEventSeqs": [7]},
            {"seq": 1, "time": 1, **logs.user("x"), "data": {"content": "text"}},
            {"seq": 1, "time": 1, **TURN_END, "surfaceOp": "append"},
            {"type": "turn/end"},
        ],
        ids=lambda event: json.dumps(event)[:60],
    )
    def test_an_event_of_another_shape(self, host: Host, event: object) -> None:
        """On disk the log would be corrupt; here the host may be right the next time."""
        events = [*said("before"), event, *said("after", first=2)]
        assert_host_failed(host.failure(host.read(LIVE, page(HEADER, events))))

    @pytest.mark.parametrize(
        "members",
        [
            '"result":null,"error":{"code":1,"message":"m"}',
            '"error":5',
            '"error":{"code":"x"}',
        ],
    )
    def test_an_answer_that_is_none(self, host: Host, members: str) -> None:
        """It is refused as any bad envelope, and nobody waits for a better one."""
        request_id = host.prepare(LIVE)
        question_id = host.asked_to_read(LIVE)
        host.sidecar.send_raw(f'{{"jsonrpc":"2.0","id":{question_id},{members}}}\n'.encode())
        assert host.sidecar.answer(None)["error"]["code"] == -32600
        assert_host_failed(host.failure(request_id))

    @pytest.mark.parametrize("code", [-32603, -32014, 2**70])
    def test_an_error(self, host: Host, code: int) -> None:
        """It is the cause even of a session that is on disk; its words stay where they are."""
        request_id = host.prepare(BOTH)
        host.refuse(host.asked_to_read(BOTH), {"code": code, "message": "boom"})
        failure = host.failure(request_id)
        assert_host_failed(failure, BOTH)
        assert "boom" not in failure.message

    def test_an_error_half_way(self, host: Host) -> None:
        request_id = host.prepare(LIVE)
        host.answer(host.asked_to_read(LIVE), page(HEADER, said("a"), nextSeq=1))
        host.refuse(host.asked_to_read(LIVE, after=0), {"code": 1, "message": "boom"})
        assert_host_failed(host.failure(request_id))

    def test_an_answer_with_an_id_of_another_type_is_no_answer(self, host: Host) -> None:
        request_id = host.prepare(LIVE)
        question_id = host.asked_to_read(LIVE)
        host.answer(str(question_id), None)
        host.answer(question_id, page(HEADER, said("this one")))
        assert host.snapshot(request_id).texts == ["this one"]

    @pytest.mark.parametrize("policy", ["native", "never-block"])
    def test_a_step_goes_on_as_its_policy_says(self, host: Host, policy: str) -> None:
        message = requests.person("@[L](dsh-session:ImxpdmUtb25lIg)")
        params = requests.pre_step(message, policy=policy)
        request_id = host.sidecar.request("preStep", params)
        host.refuse(host.asked_to_read(LIVE), {"code": 1, "message": "boom"})
        if policy == "native":
            error = host.failure(request_id)
            assert (error.code, error.data["cause"]) == (-32014, "host")
            return
        result = host.sidecar.settle(request_id)
        assert result["decision"] == params["decision"]
        (outcome,) = result["outcomes"]
        assert (outcome["status"], outcome["error"]["data"]["cause"]) == ("failed", "host")


class TestAHostThatDoesNotAnswer:
    """The host declared live sessions, is asked for one, and is silent."""

    @pytest.fixture
    def asked(self, own: Host) -> tuple[Host, int | str, object]:
        """The host, its `prepare` in flight, and the id of what it is asked for it."""
        request_id = own.prepare(STORED)
        return own, request_id, own.asked_to_read(STORED)

    def test_is_not_waited_for_after_a_cancel(self, asked: tuple[Host, int | str, object]) -> None:
        host, request_id, question_id = asked
        host.cancel(request_id)
        assert_ended(host.failure(request_id), -32800)
        assert host.withdrawn() == question_id

    @pytest.mark.parametrize("late", ["null", "page", "error", "nonsense"])
    def test_a_late_answer_is_ignored(
        self, asked: tuple[Host, int | str, object], late: str
    ) -> None:
        host, request_id, question_id = asked
        host.cancel(request_id)
        assert_ended(host.failure(request_id), -32800)
        assert host.withdrawn() == question_id
        if late == "error":
            host.refuse(question_id, {"code": -32800, "message": "cancelled"})
        else:
            told = page(header(STORED), said("late"))
            host.answer(question_id, {"null": None, "page": told, "nonsense": 5}[late])
        assert host.is_asked_nothing()
        again = host.prepare(STORED)
        next_question = host.asked_to_read(STORED)
        assert next_question != question_id
        host.answer(question_id, page(header(STORED), said("later still")))
        host.answer(next_question, None)
        assert host.snapshot(again).texts == ["stored"]

    def test_says_null_and_then_the_disk_is_asked(
        self, asked: tuple[Host, int | str, object]
    ) -> None:
        host, request_id, question_id = asked
        host.answer(question_id, None)
        assert host.snapshot(request_id).through == 1

    def test_a_cancel_by_token(self, own: Host) -> None:
        request_id = own.prepare(LIVE, cancellationToken="turn-7")
        question_id = own.asked_to_read(LIVE)
        own.sidecar.notify("$/cancel", {"token": "turn-7"})
        assert_ended(own.failure(request_id), -32800)
        assert own.withdrawn() == question_id

    def test_a_cancel_between_two_pages(self, own: Host) -> None:
        request_id = own.prepare(LIVE)
        own.answer(own.asked_to_read(LIVE), page(HEADER, said("a"), nextSeq=1))
        question_id = own.asked_to_read(LIVE, after=0)
        own.cancel(request_id)
        assert_ended(own.failure(request_id), -32800)
        assert own.withdrawn() == question_id

    def test_a_deadline(self, own: Host) -> None:
        request_id = own.prepare(LIVE, deadlineMs=500)
        question_id = own.asked_to_read(LIVE)
        assert_ended(own.failure(request_id), -32802)
        assert own.withdrawn() == question_id

    def test_a_shutdown(self, asked: tuple[Host, int | str, object]) -> None:
        host, request_id, question_id = asked
        assert host.sidecar.call("shutdown") is None
        assert_ended(host.failure(request_id), -32802)
        assert host.withdrawn() == question_id
        host.sidecar.notify("exit")
        assert host.sidecar.wait() == 0

    def test_a_signal(self, asked: tuple[Host, int | str, object]) -> None:
        host, request_id, question_id = asked
        host.sidecar.signal(signal.SIGTERM)
        assert_ended(host.failure(request_id), -32802)
        assert host.withdrawn() == question_id
        assert host.sidecar.wait() == 0

    @pytest.mark.parametrize("session_id", [LIVE, BOTH])
    @pytest.mark.parametrize("pages", [0, 1])
    def test_the_end_of_the_input(self, own: Host, session_id: str, pages: int) -> None:
        """Nobody can answer any more, so nobody is waited for; half a session is none."""
        request_id = own.read(session_id, *[page(header(session_id), said("a"), nextSeq=1)] * pages)
        assert own.sidecar.asked(READ)["params"].get("afterSeq") == (0 if pages else None)
        own.sidecar.close_stdin()
        assert_host_failed(own.failure(request_id), session_id)
        assert own.sidecar.wait() == 0
        assert own.sidecar.unclaimed() == []

    def test_a_request_that_begins_at_the_end_of_the_input(self, own: Host) -> None:
        """The host is not even asked: whether it had the session can't be known."""
        request_id = own.prepare(STORED)
        own.sidecar.close_stdin()
        assert_host_failed(own.failure(request_id), STORED)
        assert own.sidecar.wait() == 0


class TestManyReads:
    def test_two_of_one_session(self, host: Host) -> None:
        """Each has its own answer: the session goes on between them."""
        first, second = host.prepare(LIVE), host.prepare(LIVE)
        one, other = host.asked_to_read(LIVE), host.asked_to_read(LIVE)
        host.answer(other, page(HEADER, said("a", "b")))
        assert host.snapshot(second).texts == ["a", "b"]
        host.answer(one, page(HEADER, said("a")))
        assert host.snapshot(first).texts == ["a"]

    def test_a_cancel_of_one_leaves_the_other(self, host: Host) -> None:
        first, second = host.prepare(LIVE), host.prepare(LIVE)
        one, other = host.asked_to_read(LIVE), host.asked_to_read(LIVE)
        host.cancel(first)
        assert_ended(host.failure(first), -32800)
        assert host.withdrawn() == one
        host.answer(other, page(HEADER, said("a")))
        assert host.snapshot(second).texts == ["a"]

    def test_one_that_hangs_does_not_hold_up_another(self, host: Host) -> None:
        hanging = host.prepare(LIVE)
        question_id = host.asked_to_read(LIVE)
        assert host.listed(header("other", title="Other"))["other"]["label"] == "Other"
        assert host.snapshot(host.read("other", page(header("other"), said("x")))).texts == ["x"]
        assert host.snapshot(host.read(STORED, None)).texts == ["stored"]
        host.answer(question_id, page(HEADER, said("at last")))
        assert host.snapshot(hanging).texts == ["at last"]

    def test_at_most_eight_at_one_time(self, host: Host) -> None:
        ids = [f"live-{number}" for number in range(12)]
        in_flight = {session_id: host.prepare(session_id) for session_id in ids}
        questions = {session_id: host.asked_to_read(session_id) for session_id in ids[:8]}
        assert host.is_asked_nothing()
        # a page is no end of a read: the next page is asked for, not the next session
        host.answer(questions["live-0"], page(header("live-0"), said("a"), nextSeq=1))
        questions["live-0"] = host.asked_to_read("live-0", after=0)
        assert host.is_asked_nothing()
        # what ends makes room for one: an answer, an error, a cancel
        host.answer(questions["live-0"], page(header("live-0"), said("b", first=1)))
        assert host.snapshot(in_flight["live-0"]).texts == ["a", "b"]
        questions["live-8"] = host.asked_to_read("live-8")
        assert host.is_asked_nothing()
        host.refuse(questions["live-1"], {"code": 1, "message": "m"})
        assert_host_failed(host.failure(in_flight["live-1"]), "live-1")
        questions["live-9"] = host.asked_to_read("live-9")
        host.cancel(in_flight["live-2"])
        assert_ended(host.failure(in_flight["live-2"]), -32800)
        assert host.withdrawn() == questions["live-2"]
        questions["live-10"] = host.asked_to_read("live-10")
        assert host.is_asked_nothing()
        # one that waits for its turn is cancelled without ever being asked for
        host.cancel(in_flight["live-11"])
        assert_ended(host.failure(in_flight["live-11"]), -32800)
        for session_id in ids[3:11]:
            host.answer(questions[session_id], page(header(session_id), said(session_id)))
            assert host.snapshot(in_flight[session_id]).texts == [session_id]

    def test_one_bad_source_does_not_wait_for_one_that_hangs(self, host: Host) -> None:
        request_id = host.sidecar.request("prepare", requests.prepare("bad", LIVE))
        host.answer(host.asked_to_read("bad"), 5)
        question_id = host.asked_to_read(LIVE)
        assert_host_failed(host.failure(request_id), "bad")
        assert host.withdrawn() == question_id
