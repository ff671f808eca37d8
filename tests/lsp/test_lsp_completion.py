"""Completion and resolve over pipes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support import logs
from support.editor import CAPABILITIES, URI, Editor
from support.sidecar import WireError

MENTION = "@[Fix login 页面](dsh-session:ImxvZ2luIg)"


def labels(items: list[dict[str, Any]]) -> list[str]:
    return [item["label"] for item in items]


def test_an_at_sign_offers_the_sessions_best_first(editor: Editor) -> None:
    editor.write("see @")
    answer = editor.complete(0, 5)
    assert answer["isIncomplete"] is True
    items = answer["items"]
    assert labels(items) == ["Fix login 页面", "other one", "<b>[x](y)", "broken"]
    assert [item["sortText"] for item in items] == ["00000", "00001", "00002", "00003"]
    assert items[0]["textEdit"] == {
        "newText": MENTION,
        "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}},
    }
    assert items[0]["labelDetails"] == {"description": "2 hours ago"}
    assert items[2]["labelDetails"] == {"detail": " /work/b", "description": "5 hours ago"}
    assert {item["insertTextFormat"] for item in items} == {1}
    assert editor.call("sessionReference/parseText", {"text": MENTION})["references"] == [
        {"sessionId": "login", "label": "Fix login 页面", "start": 0, "end": len(MENTION)}
    ]


@pytest.mark.parametrize("query", ["LOGIN", "fix lo", "fix ", "页", "work/a"])
def test_a_query_may_hold_spaces_while_something_matches(editor: Editor, query: str) -> None:
    items = editor.items(f"see @{query}")
    assert labels(items)[0] == "Fix login 页面"
    for item in items:
        assert item["filterText"].startswith(f"@{query}")
        range_ = item["textEdit"]["range"]
        assert range_["start"] == {"line": 0, "character": 4}
        assert range_["end"] == {"line": 0, "character": 5 + len(query)}


@pytest.mark.parametrize("text", ["", "mail me@work", "@fix loginx", "no sign", f"{MENTION} fix"])
def test_elsewhere_nothing_is_offered(editor: Editor, text: str) -> None:
    assert editor.items(text) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_ranges_are_in_the_units_agreed_on(root: Path, encoding: str, eol: str) -> None:
    before = "中文😀\u2028é（"
    size = {
        "utf-8": len(before.encode()),
        "utf-16": len(before.encode("utf-16-le")) // 2,
        "utf-32": len(before),
    }[encoding]
    capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
    with Editor(root, capabilities=capabilities) as own:
        assert own.capabilities["positionEncoding"] == encoding
        own.open(f"😀{eol}{before}@lo{eol}rest", uri="untitled:中", language="no-such")
        (item,) = own.complete(1, size + 3, uri="untitled:中")["items"]
        assert item["textEdit"]["range"] == {
            "start": {"line": 1, "character": size},
            "end": {"line": 1, "character": size + 3},
        }


def test_a_document_that_was_never_opened_has_no_menu(editor: Editor) -> None:
    assert editor.complete(0, 5, uri="vscode-scm:git/scm0/input")["items"] == []
    for method in ("hover", "completion"):
        editor.call(f"textDocument/{method}", editor.at(3, 5, "file:///not/there"))
    editor.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": "x:y", "version": 2}, "contentChanges": [{"text": "@"}]},
    )
    assert editor.complete(0, 1, uri="x:y")["items"] == []


def test_of_a_burst_of_keys_only_the_last_has_a_menu(editor: Editor) -> None:
    """Nothing that was asked for before it is still worked on, or comes in later."""
    keys = "@fix login 页面"
    with editor.in_one_breath():
        editor.write("")
        asked = []
        for typed in range(len(keys)):
            place = {"line": 0, "character": typed}
            editor.change({"range": {"start": place, "end": place}, "text": keys[typed]})
            asked.append(editor.ask_completion(0, typed + 1))
    *before, last = [editor.answer(request_id) for request_id in asked]
    assert labels(last["result"]["items"]) == ["Fix login 页面"]
    assert {answer["error"]["code"] for answer in before} == {-32800}
    after = editor.call("sessionReference/status")
    assert (after["requestsInFlight"], after["queuedOutputBytes"]) == (0, 0)
    assert editor.unclaimed() == []


def test_an_answer_about_a_text_that_has_moved_on_is_dropped(editor: Editor) -> None:
    editor.write("@lo")
    with editor.in_one_breath():
        stale = editor.ask_completion(0, 3)
        editor.write("gone")
    assert editor.answer(stale)["error"]["code"] == -32800


def test_a_cancelled_completion_is_answered(editor: Editor) -> None:
    editor.write("@lo")
    with editor.in_one_breath():
        cancelled = editor.ask_completion(0, 3)
        editor.notify("$/cancelRequest", {"id": cancelled})
    assert editor.answer(cancelled)["error"]["code"] == -32800


def test_resolving_shows_a_preview(editor: Editor) -> None:
    (item, *_) = editor.items("@fix")
    shown = editor.call("completionItem/resolve", item)
    assert {**shown, "documentation": None} == {**item, "documentation": None}
    assert shown["documentation"]["kind"] == "markdown"
    value = shown["documentation"]["value"]
    assert re.match(
        r"\*\*Fix login 页面\*\*\n\n"
        r"/work/a · begun 2 hours ago · active \d years ago · 2 messages\n\n",
        value,
    )
    assert "**User:** fix the login\n\n**Agent:** done\n\n" in value
    assert value.endswith("A snapshot would keep all of it, 178 bytes.")


def test_a_hostile_transcript_is_shown_as_text(editor: Editor) -> None:
    (item,) = editor.items("@hostile")
    value = editor.call("completionItem/resolve", item)["documentation"]["value"]
    for markup in ("<img", "<b>", "](", "![", "``", "https:", "www.", "a@e", "\n#"):
        assert markup not in value
    assert r"\!\[pixel\]\(http\://evil\.example/p\.png\)" in value
    assert "&lt;img src=x onerror=y&gt;" in value


def test_a_broken_session_is_offered_and_says_what_is_wrong(editor: Editor) -> None:
    (item,) = editor.items("@broken")
    value = editor.call("completionItem/resolve", item)["documentation"]["value"]
    assert value.startswith("The session could not be read")


def test_who_renders_no_markdown_gets_none(root: Path) -> None:
    with Editor(root, capabilities={}) as own:
        own.open("")
        (item,) = own.items("@hostile")
        assert item["detail"] == "/work/b · 5 hours ago"
        assert "labelDetails" not in item
        shown = own.call("completionItem/resolve", item)["documentation"]
        assert shown["kind"] == "plaintext"
        assert "look ![pixel](http://evil.example/p.png)" in shown["value"]


def test_sub_agents_and_archived_are_off_by_default(tmp_path: Path) -> None:
    head = logs.header("sub", cwd="/work/a", origin="subagent", parentSession="p")
    path = logs.write_log(tmp_path, "sub", [], cwd="/work/a")
    path.write_bytes(logs.encode(head))
    logs.write_log(tmp_path, "top", [], cwd="/work/a")
    with Editor(tmp_path) as own:
        own.open("")
        assert labels(own.items("@")) == ["top"]
        settings = {"sessionref": {"subagents": True, "agentId": "top"}}
        own.notify("workspace/didChangeConfiguration", {"settings": settings})
        assert labels(own.items("@")) == ["sub"]


def test_the_workspace_is_the_document_s_folder(root: Path) -> None:
    with Editor(root, folders=["/work/b", "/work/a"]) as own:
        own.open("", uri="file:///work/a/x.md")
        own.open("", uri="untitled:1")
        assert labels(own.items("@", uri="file:///work/a/x.md"))[0] == "Fix login 页面"
        assert labels(own.items("@", uri="untitled:1"))[0] == "<b>[x](y)"
        event = {"added": [], "removed": [{"uri": "file:///work/b", "name": "b"}]}
        own.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert labels(own.items("@", uri="untitled:1"))[0] == "Fix login 页面"


def test_a_document_of_five_megabytes_is_edited_and_completed(editor: Editor) -> None:
    lines = 60_000
    editor.write(
        "words 😀 of a prompt that goes on and on, as some of them do; and on it goes\n" * lines
    )
    end = {"line": lines, "character": 0}
    for at, character in enumerate("see @login"):
        place = {"line": lines, "character": at}
        editor.change({"range": {"start": place, "end": place}, "text": character})
    answer = editor.complete(lines, 10)
    assert labels(answer["items"]) == ["Fix login 页面"]
    assert answer["items"][0]["textEdit"]["range"]["start"] == {**end, "character": 4}


def test_bad_params_are_refused(editor: Editor) -> None:
    for params in (None, {"textDocument": {"uri": 3}}, {"textDocument": {"uri": URI}}):
        with pytest.raises(WireError) as refused:
            editor.call("textDocument/completion", params)
        assert refused.value.code == -32602
    editor.notify("textDocument/didOpen", {"textDocument": 5})
    assert json.dumps(editor.call("sessionReference/status"))
