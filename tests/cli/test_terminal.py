"""What people see on a terminal: a bar, colours unless they said no, lines that fit."""

import os
import re
import time
import unicodedata
from pathlib import Path

import pytest

from support import logs, shell
from support.roots import SessionRoots

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")
BAR = b"Reading sessions"


def plain(shown: bytes) -> list[str]:
    """The lines of a terminal without styles and padding."""
    return [line.rstrip() for line in CONTROL.sub(b"", shown).decode().splitlines()]


@pytest.fixture
def damaged(session_roots: SessionRoots) -> Path:
    """A root with one damaged session, and a healthy one."""
    return session_roots("corrupt") / "029-checksum-flipped-middle-frame"


def test_doctor_shows_a_bar_on_stderr_and_removes_it(damaged: Path, tmp_path: Path) -> None:
    inward, outward = os.pipe()
    flags = ("doctor", "--json", "--root", damaged)
    with shell.terminal(*flags, home=tmp_path, stdout=outward) as terminal:
        os.close(outward)
        code, shown = terminal.finish()
    with open(inward, "rb") as stdout:
        printed = stdout.read()
    assert code == 1
    assert BAR in shown
    assert b"2/2" in CONTROL.sub(b"", shown)
    assert shown.endswith(b"\x1b[2K")  # the line of the bar is erased
    assert shown.index(b"\x1b[?25l") < shown.index(b"\x1b[?25h")  # the cursor is back
    assert printed == shell.run(*flags, home=tmp_path).stdout


def test_no_bar_where_stderr_is_no_terminal(damaged: Path, tmp_path: Path) -> None:
    done = shell.run("doctor", "--root", damaged, home=tmp_path)
    assert done.stderr == b""
    assert shell.ESCAPE not in done.stdout


def test_a_terminal_gets_colours_and_the_same_words(damaged: Path, tmp_path: Path) -> None:
    code, shown = shell.on_terminal("doctor", "--root", damaged, home=tmp_path, columns=200)
    assert code == 1
    assert COLOUR.search(shown)
    assert b"\x1b[1;31m1 problem in 2 sessions." in shown
    piped = shell.run("doctor", "--root", damaged, home=tmp_path).stdout.decode().splitlines()
    assert plain(shown)[-len(piped) :] == piped


@pytest.mark.parametrize("command", ["doctor", "list", "show"])
def test_no_color_is_obeyed(command: str, damaged: Path, tmp_path: Path) -> None:
    words = ["healthy"] if command == "show" else []
    flags = (command, "--root", damaged, *words)
    _, shown = shell.on_terminal(*flags, home=tmp_path, env={"NO_COLOR": "1"})
    assert shown
    assert not COLOUR.search(shown)
    _, coloured = shell.on_terminal(*flags, home=tmp_path, env={"NO_COLOR": ""})
    assert COLOUR.search(coloured)


@pytest.mark.parametrize(
    ("env", "is_terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"FORCE_COLOR": "0", "CLICOLOR_FORCE": "0"}, False, False),
        ({"FORCE_COLOR": ""}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True, True),
        ({"CLICOLOR": "0"}, True, False),
        ({"CLICOLOR": "1"}, False, False),
        ({"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, False, False),
    ],
)
def test_who_wants_colours_gets_them(
    env: dict[str, str], is_terminal: bool, coloured: bool, damaged: Path, tmp_path: Path
) -> None:
    flags = ("doctor", "--root", damaged)
    if is_terminal:
        _, shown = shell.on_terminal(*flags, home=tmp_path, columns=200, env=env)
    else:
        shown = shell.run(*flags, home=tmp_path, env=env).stdout
    assert bool(COLOUR.search(shown)) == coloured
    assert (b"\x1b[1;31m1 problem in 2 sessions." in shown) == coloured


def test_colours_change_nothing_else_of_what_a_pipe_gets(damaged: Path, tmp_path: Path) -> None:
    for flags in (("doctor", "--root", damaged), ("list", "--root", damaged)):
        plainly = shell.run(*flags, home=tmp_path)
        coloured = shell.run(*flags, home=tmp_path, env={"FORCE_COLOR": "1", "COLUMNS": "30"})
        assert COLOUR.sub(b"", coloured.stdout) == plainly.stdout


def test_a_dumb_terminal_gets_no_control_sequences(damaged: Path, tmp_path: Path) -> None:
    code, shown = shell.on_terminal(
        "doctor", "--root", damaged, home=tmp_path, env={"TERM": "dumb"}
    )
    assert code == 1
    assert shell.ESCAPE not in shown
    assert BAR not in shown


@pytest.mark.parametrize("columns", [24, 40, 59, 60, 72, 120])
def test_lines_fit_and_nothing_that_matters_is_lost(columns: int, tmp_path: Path) -> None:
    root = tmp_path / "root"
    session_id = "0123abcd-session"
    title = "標題 " * 30
    rows = [logs.user("q"), logs.title(title)]
    now = int(time.time())
    logs.write_log(root, session_id, rows, cwd="/a/long/folder" * 5, created_at=now * 1000)
    for env in ({}, {"COLUMNS": str(columns)}):
        width = 200 if env else columns
        flags = ("list", "--root", root)
        _, shown = shell.on_terminal(*flags, home=tmp_path, columns=width, env=env)
        lines = plain(shown)
        assert max(map(_cells, lines)) <= columns
        if columns >= 60:  # a table: one line for the session, with the id at its end
            assert len(lines) == 2
            assert lines[0].split() == ["title", "workspace", "begun", "id"]
            assert lines[1].startswith("標題")
            assert lines[1].endswith(f"just now  {session_id}")
        else:
            assert session_id in "".join(lines).replace(" ", "")


def test_paths_are_whole_however_narrow(damaged: Path, tmp_path: Path) -> None:
    _, shown = shell.on_terminal("doctor", "--root", damaged, home=tmp_path, columns=30)
    joined = "".join(line.strip() for line in plain(shown))
    assert f"{damaged}/--w--/victim/session.jsonl.zstd" in joined


def test_nothing_from_a_log_is_taken_for_markup(tmp_path: Path) -> None:
    root = tmp_path / "root"
    title = "[bold]a[/bold] :smile: \x1b[2J [link=http://x]y[/link]"
    logs.write_log(root, "[red]s", [logs.title(title)])
    bad = logs.write_log(root, "[/x]", [])
    bad.write_bytes(b"")
    _, shown = shell.on_terminal("list", "--root", root, home=tmp_path, columns=150)
    assert "[bold]a[/bold] :smile: \\u{1b}[2J [link=http://x]y[/link]" in plain(shown)[1]
    assert plain(shown)[1].endswith("[red]s")
    code, shown = shell.on_terminal("doctor", "--root", root, home=tmp_path, columns=150)
    assert code == 1
    assert "  session        [/x]" in plain(shown)


def test_show_has_text_and_statistics_on_a_terminal(tmp_path: Path) -> None:
    logs.write_log(tmp_path, "s", [logs.user("a\u202eb" + "c" * 200)], cwd="/w")
    code, shown = shell.on_terminal("show", "--root", tmp_path, "s", home=tmp_path)
    lines = plain(shown)
    assert code == 0
    assert lines[0] == "## Referenced sessions"
    assert "a\\u{202e}b" + "c" * 200 in shown.decode()  # long lines are the terminal's to wrap
    assert lines.index("s") > lines.index("</referenced-sessions>")
    assert "  messages     1 of 1" in lines


def _cells(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in line)
