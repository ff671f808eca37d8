"""Diagnostics, hover, inlay hints, code actions and commands, over pipes."""

from pathlib import Path
from typing import Any

import pytest

from support import logs
from support.editor import URI, Editor
from support.sidecar import WireError

LOGIN = "@[Fix login 页面](dsh-session:ImxvZ2luIg)"
OLD = "@[Old name](dsh-session:ImxvZ2luIg)"
GONE = "@[gone](dsh-session:ImdvbmUi)"
BROKEN = "@[broken](dsh-session:ImJyb2tlbiI)"
MALFORMED = "@[x](dsh-session:zz)"


def whole(line: int = 0) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {
        "textDocument": {"uri": URI},
        "range": {"start": place, "end": {"line": line, "character": 999}},
        "context": {"diagnostics": []},
    }


def published(editor: Editor) -> list[tuple[int, int, int, str]]:
    """Line, start, severity and code of each."""
    params = editor.asked("textDocument/publishDiagnostics")["params"]
    assert params["uri"] == URI
    return [
        (
            each["range"]["start"]["line"],
            each["range"]["start"]["character"],
            each["severity"],
            each["code"],
        )
        for each in params["diagnostics"]
    ]


def test_what_is_wrong_is_marked(editor: Editor) -> None:
    editor.write(f"😀 {MALFORMED}\r\n{GONE} {BROKEN}\r\n{LOGIN}")
    found = published(editor)
    assert found == [
        (0, 3, 1, "SESSION_REFERENCE_INVALID_REFERENCE"),
        (1, 0, 1, "SESSION_REFERENCE_READ_FAILED"),
        (1, len(GONE) + 1, 1, "SESSION_REFERENCE_READ_FAILED"),
    ]
    editor.write(LOGIN)
    assert published(editor) == []


def test_too_many_and_the_own_session_are_marked(root: Path) -> None:
    with Editor(root, options={"maxReferences": 1, "agentId": "login"}) as editor:
        other, hostile = "dsh-session:Im90aGVyIG9uZSI", "dsh-session:Imhvc3RpbGUi"
        editor.open(f"{LOGIN}\n{other}\n{hostile}")
        assert published(editor) == [
            (0, 0, 1, "SESSION_REFERENCE_SELF_REFERENCE"),
            (2, 0, 1, "SESSION_REFERENCE_TOO_MANY"),
        ]
        editor.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        assert published(editor) == []


def test_a_degraded_session_is_a_warning(tmp_path: Path) -> None:
    rows = logs.numbered([logs.user("q"), {"type": "later/kind", "data": {}}])
    logs.write_log(tmp_path, "login", rows, cwd="/work/a")
    with Editor(tmp_path) as editor:
        editor.open(LOGIN)
        assert published(editor) == [(0, 0, 2, "unknown_events")]


def test_hovering_over_a_mention_shows_the_preview(editor: Editor) -> None:
    editor.write(f"😀 {OLD} and")
    for character in (3, 10, 3 + len(OLD)):
        shown = editor.call("textDocument/hover", editor.at(0, character))
        assert shown["contents"]["value"].startswith("**Fix login 页面**")
        assert shown["range"]["start"]["character"] == 3
        assert shown["range"]["end"]["character"] == 3 + len(OLD)
    assert editor.call("textDocument/hover", editor.at(0, 2)) is None
    assert editor.call("textDocument/hover", editor.at(0, 99)) is None


@pytest.mark.parametrize("feature", ["hover", "inlayHint", "codeAction"])
def test_what_is_asked_of_a_text_that_has_moved_on_is_dropped(editor: Editor, feature: str) -> None:
    editor.write(f"{OLD} {GONE}")
    with editor.in_one_breath():
        request_id = editor.request(f"textDocument/{feature}", {**editor.at(0, 3), **whole()})
        editor.write(f"moved on {OLD}")
    assert editor.answer(request_id)["error"]["code"] == -32800


def test_a_stale_label_has_its_title_beside_it(editor: Editor) -> None:
    editor.write(f"{LOGIN}\n{OLD}\n{GONE}")
    found = [editor.call("textDocument/inlayHint", whole(line)) for line in range(3)]
    assert [len(hints) for hints in found] == [0, 1, 0]
    (hint,) = found[1]
    assert hint["label"] == "now: Fix login 页面"
    assert hint["position"] == {"line": 1, "character": len(OLD)}


def actions(editor: Editor, text: str) -> dict[str, dict[str, Any]]:
    editor.write(text)
    found = editor.call("textDocument/codeAction", whole())
    return {action["title"]: action for action in found}


def edited(action: dict[str, Any]) -> dict[str, Any]:
    (change,) = action["edit"]["documentChanges"]
    (edit,) = change["edits"]
    assert isinstance(edit, dict)
    return edit


def test_a_mention_at_fault_can_be_removed_or_picked_again(editor: Editor) -> None:
    offered = actions(editor, f"see {GONE}")
    assert list(offered) == [
        "Remove this mention",
        "Pick again: Fix login 页面",
        "Pick again: other one",
        "Pick again: <b>[x](y)",
        "Pick another session…",
        "Expand session references",
    ]
    assert edited(offered["Remove this mention"])["newText"] == ""
    edit = edited(offered["Pick again: Fix login 页面"])
    assert edit["newText"] == LOGIN
    assert edit["range"]["start"]["character"] == 4
    assert edit["range"]["end"]["character"] == 4 + len(GONE)


def test_picking_another_session_goes_back_to_the_menu(root: Path) -> None:
    """Typing the label again, where that finds something; the editor's own menu opens on it."""
    with Editor(root, options={"retriggerCommand": "editor.suggest"}) as own:
        own.open("")
        alike = "@[other](dsh-session:ImdvbmUi)"
        for mention, typed in ((GONE, "@"), (alike, "@other"), (MALFORMED, "@x")):
            action = actions(own, f"see {mention} now")["Pick another session…"]
            assert action["command"]["command"] == "editor.suggest"
            assert edited(action)["newText"] == typed
            own.apply(edited(action))
            assert own.complete(0, 4 + len(typed))["items"]


def test_an_editor_that_takes_commands_only_gets_those(root: Path) -> None:
    with Editor(root, capabilities={}) as own:
        own.open(f"{GONE} {LOGIN}")
        offered = own.call("textDocument/codeAction", whole())
        assert [(each["title"], each["command"]) for each in offered] == [
            ("Preview snapshot", "sessionref.preview"),
            ("Expand session references", "sessionref.expand"),
        ]


def test_a_stale_label_can_be_refreshed(editor: Editor) -> None:
    offered = actions(editor, OLD)
    assert list(offered) == [
        "Refresh the label: Fix login 页面",
        "Preview snapshot",
        "Expand session references",
    ]
    assert edited(offered["Refresh the label: Fix login 页面"])["newText"] == LOGIN


def test_where_nothing_is_referred_to_nothing_is_offered(editor: Editor) -> None:
    assert actions(editor, "plain @ text") == {}


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_expanding_appends_the_snapshot_and_replaces_it_the_next_time(
    editor: Editor, eol: str
) -> None:
    message = f"do as in{eol}{LOGIN}"
    editor.write(message + eol)
    command = actions(editor, message + eol)["Expand session references"]["command"]
    request = {"command": command["command"], "arguments": command["arguments"]}
    for _ in range(2):
        request_id = editor.request("workspace/executeCommand", request)
        asked = editor.asked("workspace/applyEdit")
        edit = edited(asked["params"])
        editor.respond(asked["id"], {"applied": True})
        assert editor.settle(request_id) is None
        assert edit["range"]["start"] == {"line": 1, "character": len(LOGIN)}
        assert edit["newText"].startswith(f"{eol}{eol}## Referenced sessions{eol}{eol}")
        assert '"text":"fix the login"' in edit["newText"]
        assert edit["newText"].endswith(f"</referenced-sessions>{eol}")
        editor.apply(edit)
    editor.unclaimed()


def test_what_an_expanded_snapshot_says_is_no_mention(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "login", [logs.user(f"see {GONE}")], cwd="/work/a")
    with Editor(tmp_path, capabilities={}) as editor:
        editor.open(LOGIN)
        request = {"command": "sessionref.expand", "arguments": [URI]}
        edit = editor.call("workspace/executeCommand", request)["changes"][URI][0]
        editor.apply(edit)
        assert GONE in edit["newText"].split("\n")[7]
        assert editor.call("textDocument/hover", editor.at(7, 200)) is None
        offered = editor.call("textDocument/codeAction", whole(7))
        assert [each["title"] for each in offered] == ["Expand session references"]


def test_a_failed_expansion_says_why(editor: Editor) -> None:
    for text, code in ((GONE, -32014), (MALFORMED, -32011)):
        editor.write(text)
        request = {"command": "sessionref.expand", "arguments": [{"uri": URI}]}
        failure = editor.fails("workspace/executeCommand", request)
        assert failure.code == code
    assert failure.message == f"Malformed mention: {MALFORMED}."
    editor.write("nothing")
    assert editor.call("workspace/executeCommand", request) is None
    assert editor.asked("window/showMessage")["params"]["type"] == 3


def test_copying_a_reference(editor: Editor) -> None:
    def copied(session_id: str) -> str:
        request = {"command": "sessionref.copyReference", "arguments": [session_id]}
        mention = editor.call("workspace/executeCommand", request)
        assert isinstance(mention, str)
        return mention

    assert copied("login") == LOGIN
    assert copied("other one").startswith("@[a](")
    with pytest.raises(WireError) as refused:
        copied("gone")
    assert refused.value.code == -32014


def test_a_preview_is_shown_in_the_editor(editor: Editor) -> None:
    """As the mention has it: also the label is the snapshot's."""
    command = actions(editor, OLD)["Preview snapshot"]["command"]
    request = {"command": command["command"], "arguments": command["arguments"]}
    request_id = editor.request("workspace/executeCommand", request)
    asked = editor.asked("window/showDocument")
    editor.respond(asked["id"], {"success": True})
    assert editor.settle(request_id) is None
    path = Path(asked["params"]["uri"].removeprefix("file://"))
    assert '"label":"Old name"' in path.read_text()
    assert "fix the login" in path.read_text()


def test_previews_do_not_outlive_the_conversation(root: Path) -> None:
    with Editor(root) as editor:
        request = {"command": "sessionref.preview", "arguments": ["login"]}
        editor.request("workspace/executeCommand", request)
        asked = editor.asked("window/showDocument")
        path = Path(asked["params"]["uri"].removeprefix("file://"))
        assert path.exists()
    assert not path.parent.exists()


def test_an_unknown_command_is_refused(editor: Editor) -> None:
    for request in ({"command": "rm"}, {"command": "sessionref.expand"}):
        assert editor.fails("workspace/executeCommand", request).code == -32602
