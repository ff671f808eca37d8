"""The menu of files and sessions."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionref.lsp.files import find_files, list_files
from sessionref.sessions.stop import Stop
from support import logs
from support.editor import Editor


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    for path in [
        "src/main.py",
        "src/with space/a.txt",
        "src/build/out.o",
        "build/out.o",
        "keep.log",
        "x.log",
        "src/deep/y.log",
        ".git/config",
    ]:
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text("")
    (made / ".gitignore").write_text("/build/\n*.log\n!keep.log\n")
    (made / "src" / ".gitignore").write_text("build\n!y.log\n")
    return made


def paths(workspace: Path, query: str) -> list[str]:
    return [found.path for found in find_files(list_files(str(workspace), Stop()), query)]


def test_ignored_files_are_no_files(workspace: Path) -> None:
    assert sorted(paths(workspace, "")) == [
        ".gitignore",
        "keep.log",
        "src/",
        "src/.gitignore",
        "src/deep/",
        "src/deep/y.log",
        "src/main.py",
        "src/with space/",
        "src/with space/a.txt",
    ]


def test_what_begins_with_the_query_comes_first(workspace: Path) -> None:
    assert paths(workspace, "MAIN") == ["src/main.py"]
    assert paths(workspace, "src/m") == ["src/main.py"]
    assert paths(workspace, '"src/with') == ["src/with space/", "src/with space/a.txt"]
    assert paths(workspace, "nowhere") == []


def test_a_folder_that_is_gone_has_no_files(tmp_path: Path) -> None:
    assert list_files(str(tmp_path / "gone"), Stop()) == []


def test_links_are_not_followed(workspace: Path) -> None:
    os.symlink(workspace, workspace / "src" / "loop")
    assert paths(workspace, "loop") == ["src/loop"]


@pytest.fixture
def editor(tmp_path: Path, workspace: Path) -> Iterator[Editor]:
    logs.write_log(tmp_path / "root", "main session", [logs.user("q")], cwd=str(workspace))
    options = {"files": True, "retriggerCommand": "editor.suggest"}
    with Editor(tmp_path / "root", folders=[str(workspace)], options=options) as started:
        started.open("")
        yield started


def inserted(items: list[dict[str, Any]]) -> list[str]:
    return [item["textEdit"]["newText"] for item in items]


def test_files_come_before_sessions(editor: Editor) -> None:
    assert editor.capabilities["completionProvider"]["triggerCharacters"] == ["@", "/"]
    items = editor.items("see @main")
    assert [item["label"] for item in items] == ["src/main.py", "main session"]
    assert [item["sortText"] for item in items] == ["00000", "00001"]
    assert inserted(items)[0] == "@src/main.py"
    assert items[0]["kind"] == 17


def test_paths_with_spaces_are_quoted_and_folders_keep_the_menu_open(editor: Editor) -> None:
    folder, file = editor.items('see @"src/with')
    assert inserted([folder, file]) == ['@"src/with space/', '@"src/with space/a.txt"']
    assert folder["command"]["command"] == "editor.suggest"
    assert folder["kind"] == 19
    assert "command" not in file
    assert inserted(editor.items("see @src/"))[0] == "@src/.gitignore"
    assert editor.call("completionItem/resolve", file) == file


def test_a_quote_that_the_editor_closed_is_replaced(editor: Editor) -> None:
    editor.write('see @"src/with" and "')
    file = editor.complete(0, 14)["items"][-1]
    assert file["textEdit"]["newText"] == '@"src/with space/a.txt"'
    editor.apply(file["textEdit"])
    assert file["textEdit"]["range"]["end"] == {"line": 0, "character": 15}
    assert editor.complete(0, 27)["items"] == []
    editor.write('see @src/main" and')
    (file,) = editor.complete(0, 13)["items"]
    assert file["textEdit"]["range"]["end"] == {"line": 0, "character": 13}


def test_sessions_are_there_where_no_files_are(editor: Editor, workspace: Path) -> None:
    os.rename(workspace, workspace.with_name("moved"))
    assert [item["label"] for item in editor.items("@")] == ["main session"]


def test_files_are_there_where_no_sessions_are(tmp_path: Path, workspace: Path) -> None:
    options = {"files": True, "enabled": False}
    with Editor(tmp_path / "none", folders=[str(workspace)], options=options) as editor:
        editor.open("")
        assert inserted(editor.items("@main")) == ["@src/main.py"]


def test_files_are_off_by_default(tmp_path: Path, workspace: Path) -> None:
    with Editor(tmp_path / "none", folders=[str(workspace)]) as editor:
        editor.open("")
        assert editor.items("@main") == []


def test_an_editor_without_a_sign_for_folders_is_sent_none(tmp_path: Path, workspace: Path) -> None:
    options = {"files": True}
    with Editor(
        tmp_path / "none", folders=[str(workspace)], options=options, capabilities={}
    ) as own:
        own.open("")
        folder, _ = own.items("@src/with")
        assert (folder["label"], folder["kind"]) == ("src/with space/", 17)
        assert "command" not in folder
