"""Which command it is, wherever its options stand."""

from pathlib import Path

import pytest

from sessionref.cli import commands
from sessionref.cli.command_lines import COMMAND_LINES
from support import logs, shell


def switches(command: str) -> set[str]:
    """The options of a command that take no value."""
    actions = COMMAND_LINES[command]()._actions
    return {name for each in actions if each.nargs == 0 for name in each.option_strings}


SWITCHES = sorted(switches("list") - {"-h", "--help", "--version"})


def test_every_switch_is_known_to_take_no_value() -> None:
    assert set.union(*map(switches, commands.COMMANDS)) == commands._WITHOUT_VALUE


def test_every_command_is_in_the_help(tmp_path: Path) -> None:
    assert list(COMMAND_LINES) == list(commands.COMMANDS)
    for command in commands.COMMANDS:
        done = shell.run(command, "--help", home=tmp_path)
        assert done.stdout.decode().startswith(f"usage: sessionref {command} ")


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_before_the_command_takes_no_value(switch: str, tmp_path: Path) -> None:
    logs.write_log(tmp_path / "root", "s", [logs.user("q")])
    done = shell.run(switch, "list", "--root", tmp_path / "root", home=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(b'{"candidates":' if switch == "--json" else b"s\t")


def test_an_option_before_the_command_has_its_value(tmp_path: Path) -> None:
    root = tmp_path / "doctor"
    logs.write_log(root, "list", [logs.user("q")])
    for flags in (("--root", root), (f"--root={root}",)):
        done = shell.run(*flags, "show", "list", home=tmp_path)
        assert done.returncode == 0
        assert b'"sessionId":"list"' in done.stdout


def test_the_environment_counts_too(tmp_path: Path) -> None:
    root = tmp_path / "root"
    logs.write_log(root, "s", [logs.user("q")])
    done = shell.run("list", home=tmp_path, env={"SESSIONREF_ROOTS": str(root)})
    assert done.stdout.startswith(b"s\t")


@pytest.mark.parametrize("command", ["list", "show", "doctor"])
def test_a_removed_current_folder_is_no_obstacle(command: str, tmp_path: Path) -> None:
    root, gone = tmp_path / "root", tmp_path / "gone"
    logs.write_log(root, "s", [logs.user("q")])
    gone.mkdir()
    words = ["s"] if command == "show" else []
    done = shell.run(
        "-c",
        f'rmdir "{gone}" && exec "$0" "$@"',
        shell.PROGRAM,
        command,
        "--root",
        root,
        *words,
        home=tmp_path,
        cwd=gone,
        program="sh",
    )
    assert done.returncode == 0
    assert b"s" in done.stdout


def test_a_scope_of_the_agent_s_workspace_is_that_of_the_current_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    logs.write_log(root, "mine", [logs.user("q")], cwd=str(tmp_path))
    logs.write_log(root, "other", [logs.user("q")], cwd="/elsewhere")
    flags = ("--root", root, "--only-workspace", "same")
    listed = shell.run("list", *flags, home=tmp_path, cwd=tmp_path)
    assert listed.stdout.decode().count("\n") == 1
    assert shell.run("show", *flags, "mine", home=tmp_path, cwd=tmp_path).returncode == 0
    hidden = shell.run("show", *flags, "other", home=tmp_path, cwd=tmp_path)
    assert (hidden.returncode, hidden.stdout) == (1, b"")
