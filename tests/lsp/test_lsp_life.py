"""How a conversation with an editor begins, what it may hold, and how it ends."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.editor import CAPABILITIES, URI, Editor
from support.sidecar import WireError


@pytest.mark.parametrize("flags", [(), ("--stdio",), ("serve", "--framing", "content-length")])
def test_the_whole_life(root: Path, flags: tuple[str, ...]) -> None:
    with Editor(root, *flags, start=False) as editor:
        assert editor.fails("sessionReference/status").code == -32600
        editor.notify("textDocument/didOpen", {"textDocument": {"uri": URI}})
        answer = editor.start()
        assert answer["serverInfo"]["name"] == "sessionref"
        capabilities = answer["capabilities"]
        assert capabilities["completionProvider"]["triggerCharacters"] == ["@"]
        assert capabilities["completionProvider"]["resolveProvider"] is True
        assert capabilities["textDocumentSync"] == {"openClose": True, "change": 2}
        assert editor.fails("initialize", {"capabilities": {}}).code == -32600
        editor.notify("$/setTrace", {"value": "off"})
        editor.notify("$/nobody/knows", [1])
        assert editor.fails("textDocument/rename", {}).code == -32601
        assert editor.call("shutdown") is None
        assert editor.fails("textDocument/hover", editor.at(0, 0)).code == -32600
        editor.notify("exit")
        assert editor.wait() == 0
        assert editor.stderr == b""
        assert editor.unclaimed() == []


def test_exit_alone_is_a_failure(root: Path) -> None:
    for start in (True, False):
        with Editor(root, start=start) as editor:
            editor.notify("exit")
            assert editor.wait() == 1


def test_it_does_not_outlive_the_process_that_the_editor_names(root: Path) -> None:
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as other:
        with Editor(root, process_id=other.pid) as editor:
            editor.open("@login")
            assert len(editor.complete(0, 6)["items"]) == 1
            other.kill()
            assert editor.wait() == 1
        other.wait()
    with Editor(root, process_id=other.pid) as editor:  # nobody that it can see
        editor.open("@login")
        assert len(editor.complete(0, 6)["items"]) == 1


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        (["utf-8", "utf-16", "utf-32"], "utf-8"),
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-7", "utf-16", "utf-8"], "utf-16"),
        ([], "utf-16"),
    ],
)
def test_the_editor_s_favourite_units_are_agreed_on(
    root: Path, offered: list[str], agreed: str
) -> None:
    with Editor(root, capabilities={"general": {"positionEncodings": offered}}) as editor:
        assert editor.capabilities["positionEncoding"] == agreed


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"capabilities": 5, "workspaceFolders": "x", "rootUri": 7},
        {"capabilities": {"general": {"positionEncodings": ["utf-7"]}}, "later": [{}]},
        {"workspaceFolders": [5, {"uri": 6}, {"uri": "file://[x"}], "rootUri": "file://["},
    ],
)
def test_an_editor_of_another_time_is_served(root: Path, params: Any) -> None:
    with Editor(root, start=False) as editor:
        answer = editor.call("initialize", params)
        assert answer["capabilities"]["positionEncoding"] == "utf-16"
        editor.open("@login")
        assert len(editor.complete(0, 6)["items"]) == 1


@pytest.mark.parametrize("prefix", ["", "sessionReference/"])
def test_a_host_s_methods_reach_the_same_handlers(editor: Editor, prefix: str) -> None:
    agent = {"id": "me", "cwd": "/work/a"}
    listed = editor.call(f"{prefix}listCandidates", {"agent": agent, "limit": 1})
    assert [each["sessionId"] for each in listed["candidates"]] == ["login"]
    mention = editor.call(f"{prefix}formatMention", {"sessionId": "login"})["mention"]
    parsed = editor.call(f"{prefix}parseText", {"text": mention})
    assert parsed["text"] == "@login"
    references = [{"sessionId": "login"}]
    made = editor.call(
        f"{prefix}prepare", {"agent": agent, "content": [], "references": references}
    )
    assert "fix the login" in made["additionalContext"]["content"][0]["text"]
    preview = editor.call(f"{prefix}preview", {"agent": agent, "references": references})
    assert preview["totals"]["sources"] == 1
    recalls = editor.call(f"{prefix}describeTranscript", {"messages": []})
    assert recalls == {"recalls": []}
    decision = {"kind": "enter", "messages": []}
    stepped = editor.call(f"{prefix}preStep", {"agent": agent, "decision": decision})
    assert stepped == {"decision": decision, "outcomes": []}


def test_errors_are_the_contract_s(editor: Editor) -> None:
    references = [{"sessionId": "login"}]
    params = {"agent": {"id": "login"}, "content": [], "references": references}
    with pytest.raises(WireError) as refused:
        editor.call("sessionReference/prepare", params)
    assert refused.value.code == -32012


def test_a_bad_setting_is_told_once_and_counts_as_unset(root: Path) -> None:
    options = {"maxReferences": 9, "files": "yes", "archived": True, "unknown": 1}
    with Editor(root, options=options) as editor:
        told = [editor.asked("window/showMessage")["params"] for _ in range(2)]
        assert {each["type"] for each in told} == {2}
        assert sorted(each["message"].split("`")[1] for each in told) == ["files", "maxReferences"]
        settings = {"sessionref": {"files": "yes", "candidateLimit": 1}}
        editor.notify("workspace/didChangeConfiguration", {"settings": settings})
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        editor.open("@")
        assert len(editor.complete(0, 1)["items"]) == 1
        editor.notify("workspace/didChangeConfiguration", {"settings": {"candidateLimit": 2}})
        assert len(editor.complete(0, 1)["items"]) == 2
        assert editor.unclaimed() == []


@pytest.mark.parametrize("options", [5, [1], "x"])
def test_settings_that_are_none_are_told(root: Path, options: object) -> None:
    with Editor(root, options=options, capabilities=CAPABILITIES) as editor:
        assert "settings" in editor.asked("window/showMessage")["params"]["message"]
        editor.open("@")
        assert len(editor.complete(0, 1)["items"]) == 4


def pulling(root: Path) -> Editor:
    """An editor that says that settings have changed, and is to be asked which."""
    workspace = {**CAPABILITIES["workspace"], "configuration": True}
    return Editor(root, capabilities={**CAPABILITIES, "workspace": workspace})


def test_an_editor_that_keeps_its_settings_is_asked_for_them(root: Path) -> None:
    with pulling(root) as editor:
        editor.open("@")
        for given, limit in (([{"candidateLimit": 1}], 1), ([None], 4), ([], 4)):
            editor.notify("workspace/didChangeConfiguration", {"settings": None})
            asked = editor.asked("workspace/configuration")
            assert asked["params"] == {"items": [{"section": "sessionref"}]}
            editor.respond(asked["id"], given)
            assert len(editor.complete(0, 1)["items"]) == limit


def test_an_editor_that_can_not_be_asked_is_not(editor: Editor) -> None:
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    assert editor.complete_text("@")["items"]
    assert editor.unclaimed() == []
