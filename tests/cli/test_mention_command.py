"""`sessionref mention`: the canonical mention of the session that is meant, printed and copied."""

import base64
import json
import os
import shutil
from pathlib import Path

import pytest

from sessionref_protocol.mention import encode_uri, format_mention
from support import logs, shell
from support.shapes import check_shape

EARLY, LATER, LATEST = (logs.CREATED_AT + number for number in range(3))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two sessions of the current folder, one without any, and the latest of another folder."""
    root = tmp_path / "root"
    here = str(tmp_path)
    for session_id, title, cwd, created_at in (
        ("early", "Fix login", here, EARLY),
        ("later", "Login page", here, LATER),
        ("nowhere", None, None, EARLY),
        ("elsewhere", None, "/srv-k7/shop/", LATEST),
    ):
        rows = [logs.user("q"), *([] if title is None else [logs.title(title)])]
        logs.write_log(root, session_id, rows, cwd=cwd, created_at=created_at)
    return root


def printed(root: Path, *words: shell.Argument) -> str:
    """What is printed, without the line feed at its end."""
    done = shell.run("mention", "--root", root, *words, home=root.parent, cwd=root.parent)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"\n")
    return done.stdout.decode()[:-1]


@pytest.mark.parametrize(
    ("words", "session_id", "label"),
    [
        (["early"], "early", "Fix login"),
        (["elsewhere"], "elsewhere", "shop"),
        (["nowhere"], "nowhere", "nowhere"),
        ([encode_uri("early")], "early", "Fix login"),
        ([f" {format_mention('early', 'An older title')}\n"], "early", "Fix login"),
        (["fix LOG"], "early", "Fix login"),
        (["login"], "later", "Login page"),
        (["srv-k7"], "elsewhere", "shop"),
        (["--last"], "later", "Login page"),
        (["--last", "--agent", "later"], "early", "Fix login"),
        (["login", "--agent", "later"], "early", "Fix login"),
    ],
)
def test_which_session_is_meant(words: list[str], session_id: str, label: str, root: Path) -> None:
    assert printed(root, *words) == format_mention(session_id, label)
    assert printed(root, "--id", *words) == session_id


def test_the_last_session_where_the_folder_has_none_is_the_first_that_list_shows(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    where = {"home": tmp_path, "cwd": tmp_path / "empty"}
    last = shell.run("mention", "--last", "--id", "--root", root, **where)
    listed = shell.run("list", "--root", root, **where).stdout.splitlines()
    assert last.stdout == b"nowhere\n"
    assert listed[0].endswith(b"\tnowhere")


def test_nobody_means_a_sub_agent_or_an_archived_session_by_the_last_one(tmp_path: Path) -> None:
    root, here = tmp_path / "home" / "sessions", str(tmp_path)
    for number, session_id in enumerate(("mine", "delegated", "put-away")):
        log = logs.write_log(root, session_id, cwd=here, created_at=EARLY + number)
        if session_id == "delegated":
            head = logs.header(session_id, cwd=here, created_at=LATEST, origin="subagent")
            log.write_bytes(logs.encode(head))
    (root.parent / "storages").mkdir()
    account = {"global": {"archivedSessionIds": ["put-away"]}}
    (root.parent / "storages" / "workspace.json").write_text(json.dumps(account))
    where = {"home": tmp_path, "cwd": tmp_path}
    last = shell.run("mention", "--root", root, "--last", "--id", **where)
    assert last.stdout == b"mine\n"
    for session_id in ("delegated", "put-away"):  # as `list` has them, a query has them, too
        found = shell.run("mention", "--root", root, "--id", session_id[:5], **where)
        assert found.stdout.decode() == f"{session_id}\n"
    flags = ("--root", root, "--no-subagents", "--no-archived")
    assert shell.run("mention", *flags, "deleg", **where).returncode == 1


@pytest.mark.parametrize("words", [["no such"], [encode_uri("gone")], ["early", "--deny", "early"]])
def test_there_is_no_such_session(words: list[str], root: Path, tmp_path: Path) -> None:
    done = shell.run("mention", "--root", root, *words, home=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"there is no such session" in done.stderr
    code, error = shell.report("mention", "--root", root, *words, home=tmp_path)
    check_shape("ErrorObject", error)
    assert (code, error["code"], error["data"]["cause"]) == (1, -32014, "not_found")


def test_a_root_without_sessions_has_no_last_one(tmp_path: Path) -> None:
    done = shell.run("mention", "--root", tmp_path / "none", "--last", home=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"sessionref mention: there is no such session\n"


@pytest.mark.parametrize("words", [[], [""], ["early", "--last"], ["early", "later"]])
def test_one_session_is_to_be_named(words: list[str], root: Path, tmp_path: Path) -> None:
    done = shell.run("mention", "--root", root, *words, home=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"sessionref mention: error: " in done.stderr


def test_json_has_all_that_refers_to_it(root: Path, tmp_path: Path) -> None:
    code, report = shell.report("mention", "--root", root, "fix", home=tmp_path)
    check_shape("MentionReport", report)
    assert (code, report) == (
        0,
        {
            "sessionId": "early",
            "label": "Fix login",
            "mention": format_mention("early", "Fix login"),
            "uri": encode_uri("early"),
        },
    )


def test_an_id_wins_over_what_a_query_would_find(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "s", created_at=EARLY)
    logs.write_log(tmp_path, "s2", created_at=LATER)
    assert printed(tmp_path, "s", "--id") == "s"
    assert printed(tmp_path, "S", "--id") == "s2"


def test_a_session_that_can_not_be_read_can_be_referred_to(tmp_path: Path) -> None:
    log = logs.write_log(tmp_path, "bad", cwd="/w")
    log.write_bytes(log.read_bytes() + b"garbage")
    assert printed(tmp_path, "bad") == format_mention("bad", "w")


def test_a_mention_is_exact_in_a_pipe_and_printable_on_a_terminal(tmp_path: Path) -> None:
    title = "a]\x1b[2J\u202eb"
    logs.write_log(tmp_path, "s", [logs.title(title)])
    assert printed(tmp_path, "s") == format_mention("s", title)
    _, shown = shell.on_terminal("mention", "--root", tmp_path, "s", home=tmp_path)
    assert shown.decode() == f"@[a\\]\\u{{1b}}[2J\\u{{202e}}b]({encode_uri('s')})\r\n"
    _, shown = shell.on_terminal("mention", "--json", "--root", tmp_path, "s", home=tmp_path)
    assert b"\\u001b" in shown
    assert b"\\u202e" in shown
    assert json.loads(shown)["label"] == title


def test_what_was_taken_is_said_to_those_who_look_on(root: Path, tmp_path: Path) -> None:
    flags = ("mention", "--root", root, "l", "--id")
    inward, outward = os.pipe()
    with shell.terminal(*flags, home=tmp_path, columns=200, stdout=outward) as terminal:
        os.close(outward)
        code, shown = terminal.finish()
    with open(inward, "rb") as stdout:
        taken = stdout.read().decode().strip()
    assert code == 0
    assert shown.decode().startswith("sessionref mention: 2 more match; this is ")
    assert shown.decode().endswith(f" ({taken})\r\n")
    _, shown = shell.on_terminal("mention", "--root", root, "early", home=tmp_path)
    assert shown.count(b"\n") == 1  # nothing is to be said of an id


TAKES = """#!/bin/sh
cat > "$TAKEN"
printf '%s' "${0##*/} $*" > "$TAKEN.by"
{ while kill -0 $PPID 2>/dev/null; do sleep 0.1; done; } &
echo noise
echo noise >&2
"""
"""A clipboard program as they are: one that keeps its descriptors open in the background."""


def clipboard(tmp_path: Path, *programs: str, script: str = TAKES) -> dict[str, str]:
    """An environment that has only these clipboard programs, and the shell's own."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for name in programs:
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    for name in ("sh", "cat", "sleep"):
        real = shutil.which(name)
        assert real
        if not (folder / name).exists():
            (folder / name).symlink_to(real)
    return {"PATH": str(folder), "TAKEN": str(tmp_path / "taken")}


@pytest.mark.parametrize(
    ("programs", "variables", "command"),
    [
        (["wl-copy", "xclip"], ["WAYLAND_DISPLAY", "DISPLAY"], "wl-copy "),
        (["wl-copy", "xclip", "xsel"], ["DISPLAY"], "xclip -selection clipboard"),
        (["xsel"], ["DISPLAY"], "xsel --clipboard --input"),
        (["pbcopy", "xclip"], [], "pbcopy "),
        (["tmux", "xclip"], ["TMUX"], "tmux load-buffer -w -"),
    ],
)
def test_the_clipboard_of_the_desktop(
    programs: list[str], variables: list[str], command: str, root: Path, tmp_path: Path
) -> None:
    env = clipboard(tmp_path, *programs) | dict.fromkeys(variables, ":0")
    done = shell.run("mention", "--root", root, "--copy", "fix", home=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    mention = format_mention("early", "Fix login")
    assert done.stdout.decode() == mention + "\n"
    assert (tmp_path / "taken").read_text() == mention
    assert (tmp_path / "taken.by").read_text() == command
    shell.run("mention", "--root", root, "--copy", "--id", "fix", home=tmp_path, env=env)
    assert (tmp_path / "taken").read_text() == "early"


def test_the_clipboard_of_windows_takes_utf_16(tmp_path: Path) -> None:
    logs.write_log(tmp_path / "root", "s", [logs.title("新")])
    env = clipboard(tmp_path, "clip.exe")
    flags = ("mention", "--root", tmp_path / "root", "s")
    assert shell.run(*flags, "--copy", home=tmp_path, env=env).returncode == 0
    assert (tmp_path / "taken").read_bytes().decode("utf-16-le") == format_mention("s", "新")


def test_a_program_that_fails_is_not_the_last_word(root: Path, tmp_path: Path) -> None:
    env = clipboard(tmp_path, "wl-copy", script="#!/bin/sh\nexit 1\n") | {"WAYLAND_DISPLAY": "x"}
    env |= clipboard(tmp_path, "xclip") | {"DISPLAY": ":0"}
    done = shell.run("mention", "--root", root, "--copy", "fix", home=tmp_path, env=env)
    assert done.returncode == 0
    assert (tmp_path / "taken.by").read_text() == "xclip -selection clipboard"


def test_a_terminal_has_a_clipboard_of_its_own(root: Path, tmp_path: Path) -> None:
    env = clipboard(tmp_path)
    flags = ("mention", "--root", root, "--copy", "fix")
    code, shown = shell.on_terminal(*flags, home=tmp_path, columns=200, env=env)
    mention = format_mention("early", "Fix login")
    assert code == 0
    assert b"\x1b]52;c;%b\a" % base64.b64encode(mention.encode()) in shown
    assert b"sessionref mention: copied, by the terminal\r\n" in shown


def test_without_any_clipboard_that_is_an_error(root: Path, tmp_path: Path) -> None:
    env = clipboard(tmp_path)
    done = shell.run("mention", "--root", root, "--copy", "fix", home=tmp_path, env=env)
    assert done.returncode == 1
    assert done.stdout.decode() == format_mention("early", "Fix login") + "\n"
    assert done.stderr.startswith(b"sessionref mention: no clipboard: ")
