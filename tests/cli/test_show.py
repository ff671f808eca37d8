"""`sessionref show`: exactly what `prepare` answers, its statistics, or in words why not."""

import json
from pathlib import Path
from typing import Any

import pytest

from sessionref_protocol.mention import encode_uri, format_mention
from support import answers, logs, shell
from support.requests import prepare
from support.roots import SessionRoots, SidecarAt
from support.shapes import check_shape


def snapshot(sidecar_at: SidecarAt, root: Path, session_id: str, **more: Any) -> dict[str, Any]:
    """What a host gets of it."""
    context: dict[str, Any] = sidecar_at(root).call("prepare", prepare(session_id, **more))[
        "additionalContext"
    ]
    return context


@pytest.mark.parametrize("session_id", ["plain-talk", "fork-compacted", "no-cwd"])
def test_stdout_gets_exactly_the_text_that_a_model_sees(
    session_id: str, session_roots: SessionRoots, sidecar_at: SidecarAt, tmp_path: Path
) -> None:
    root = session_roots("main")
    done = shell.run("show", "--root", root, session_id, home=tmp_path)
    expected = snapshot(sidecar_at, root, session_id)
    assert done.returncode == 0
    assert done.stdout.decode() == expected["content"][0]["text"]
    assert done.stderr.decode().startswith(f"{session_id}\n  messages     ")


def test_statistics_in_words(tmp_path: Path) -> None:
    rows = [logs.checkpoint("c" * 10), *(logs.user(letter * 300) for letter in "abc")]
    logs.write_log(tmp_path, "long", rows, cwd="/w")
    flags = ("--root", tmp_path, "--max-reference-bytes", "620")
    done = shell.run("show", *flags, "long", home=tmp_path)
    assert done.returncode == 0
    assert done.stderr.decode().splitlines() == [
        "long",
        "  messages     2 of 4",
        "  left out     2 messages, 600 bytes of text",
        "  compacted    yes",
        "  up to event  3",
        "  format       v0",
        "",
    ]


def test_what_is_uncertain_is_said(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "odd", [logs.user("q"), {"type": "from/the-future", "data": {}}])
    done = shell.run("show", "--root", tmp_path, "odd", home=tmp_path)
    assert "  uncertain    1 of its events are of types" in done.stderr.decode()
    _, report = shell.report("show", "--root", tmp_path, "odd", home=tmp_path)
    check_shape("ShowReport", report)
    assert report["degraded"] == {"reason": "unknown_events", "count": 1}


def test_json_holds_context_and_statistics(
    session_roots: SessionRoots, sidecar_at: SidecarAt, tmp_path: Path
) -> None:
    root = session_roots("main")
    code, report = shell.report("show", "--root", root, "fork-compacted", home=tmp_path)
    assert code == 0
    check_shape("ShowReport", report)
    assert answers.context(report["additionalContext"]) == answers.context(
        snapshot(sidecar_at, root, "fork-compacted")
    )
    (reference,) = report["additionalContext"]["source"]["references"]
    assert report["stats"] == {name: reference[name] for name in report["stats"]}
    assert set(report["stats"]) == {
        "compacted",
        "originalMessages",
        "retainedMessages",
        "omittedMessages",
        "omittedBytes",
        "truncated",
    }
    assert report["stats"]["compacted"] is True
    assert "degraded" not in report


@pytest.mark.parametrize("around", ["{}", " {}\n"])
def test_a_mention_or_a_uri_may_be_pasted(around: str, tmp_path: Path) -> None:
    session_id = "a]b \ud83d"
    logs.write_log(tmp_path, session_id, [logs.user("q")], cwd="/w")
    for text, label in (
        (format_mention(session_id, "My [label]"), "My [label]"),
        (encode_uri(session_id), session_id),
    ):
        code, report = shell.report("show", "--root", tmp_path, around.format(text), home=tmp_path)
        assert code == 0
        (reference,) = report["additionalContext"]["source"]["references"]
        assert (reference["sessionId"], reference["label"]) == (session_id, label)


def test_an_id_that_only_holds_a_mention_is_an_id(tmp_path: Path) -> None:
    for session_id in (f"see {encode_uri('x')}", "dsh-session:IiJ", "-x", " padded "):
        logs.write_log(tmp_path, session_id, [logs.user("q")], cwd="/w")
        code, report = shell.report("show", "--root", tmp_path, "--", session_id, home=tmp_path)
        (reference,) = report["additionalContext"]["source"]["references"]
        assert (code, reference["sessionId"]) == (0, session_id)


def test_an_unknown_id_is_refused_in_words(tmp_path: Path) -> None:
    done = shell.run("show", "--root", tmp_path, "no\nsuch", home=tmp_path)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.decode() == (
        "sessionref show: The session could not be read: there is no such session\n"
    )


def test_an_error_in_json_is_what_a_host_gets(
    session_roots: SessionRoots, sidecar_at: SidecarAt, tmp_path: Path
) -> None:
    root = session_roots("corrupt") / "029-checksum-flipped-middle-frame"
    done = shell.run("show", "--json", "--root", root, "victim", home=tmp_path)
    refusal = sidecar_at(root).fails("prepare", prepare("victim"))
    error = json.loads(done.stdout)
    check_shape("ErrorObject", error)
    assert done.returncode == 1
    assert error == {"code": refusal.code, "message": refusal.message, "data": refusal.data}
    assert refusal.message in done.stderr.decode()


def test_salvage_shows_what_precedes_the_damage(
    session_roots: SessionRoots, tmp_path: Path
) -> None:
    root = session_roots("corrupt") / "029-checksum-flipped-middle-frame"
    code, report = shell.report("show", "--salvage", "--root", root, "victim", home=tmp_path)
    assert code == 0
    assert report["degraded"]["reason"] == "damaged"


def test_a_budget_that_nothing_fits_is_said(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "s", [logs.user("q" * 100)], cwd="/w")
    flags = ("--root", tmp_path, "--max-reference-bytes", "10")
    done = shell.run("show", *flags, "s", home=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(b"sessionref show: ")


def test_the_id_is_missing(tmp_path: Path) -> None:
    done = shell.run("show", home=tmp_path)
    assert done.returncode == 2
    assert b"ID" in done.stderr
