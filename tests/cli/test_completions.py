"""Completion in bash, zsh and fish, as the shells themselves have it."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sessionref.cli import commands
from sessionref.cli.command_lines import COMMAND_LINES
from support import logs, shell

SHELLS = ("bash", "zsh", "fish")
OPTIONS = {
    command: {name for action in made()._actions for name in action.option_strings}
    for command, made in COMMAND_LINES.items()
}
QUICKLY = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|[\r\x07]")


def with_shell(name: str) -> object:
    """This shell as a parameter; a test is skipped where the machine has none."""
    reason = f"there is no {name} here"
    return pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=reason))


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    """Three sessions, and the program where shells find it."""
    root = tmp_path / "root"
    for number, (session_id, title) in enumerate(
        (("s-7d1c", "Fix login"), ("s-91f0", "Login page"), ("it's odd", "The shop"))
    ):
        logs.write_log(root, session_id, [logs.title(title)], created_at=logs.CREATED_AT - number)
    path = f"{shell.PROGRAM.parent}:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, "SESSIONREF_ROOTS": str(root), "EDITOR": "emacs", "LC_ALL": "C.UTF-8"}


def from_bash(line: str, home: Path, env: Mapping[str, str]) -> list[str]:
    """What bash is told for a line with the cursor at its end."""
    words = re.findall(r"[=:]|[^\s=:]+", line) + ([""] if line.endswith(" ") else [])
    script = """
        source <(sessionref completions bash)
        COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_WORDS=("${@:2}")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _sessionref
        ((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = shell.run(
        *("--norc", "--noprofile", "-c", script, "bash", line, *words),
        program="bash",
        home=home,
        env=env,
        cwd=home,
    )
    assert done.stderr == b"", done.stderr
    return done.stdout.decode().splitlines()


def from_fish(line: str, home: Path, env: Mapping[str, str]) -> list[str]:
    """What fish offers for a line: a candidate, a tab and its description each."""
    script = "sessionref completions fish | source; complete -C $argv[1]"
    done = shell.run("--no-config", "-c", script, line, program="fish", home=home, env=env)
    assert done.stderr == b"", done.stderr
    return done.stdout.decode().splitlines()


def typed(
    shell_name: str, home: Path, env: Mapping[str, str], *keys: str, shows: Sequence[str] = ()
) -> str:
    """The command line after these keys; between them the shell shows these texts."""
    start = {
        "bash": ("bash", "--norc", "--noprofile", "-i"),
        "zsh": ("zsh", "-f", "-i"),
        "fish": ("fish", "--no-config", "-i"),
    }[shell_name]
    prepare = {
        "bash": "source <(sessionref completions bash); bind 'set bell-style none'",
        "zsh": "autoload -Uz compinit; compinit -u -D; source <(sessionref completions zsh)",
        "fish": "sessionref completions fish | source",
    }[shell_name]
    with shell.terminal(home=home, env=env, program=start, columns=200) as terminal:
        terminal.write(f"{prepare}; echo rea''dy\n".encode())
        terminal.wait_for(b"ready")
        for number, key in enumerate(keys):
            terminal.write(key.encode())
            if number < len(shows):
                terminal.wait_for(shows[number].encode())
        terminal.write(b"\x01echo GO''T: \n")
        terminal.wait_for(b"GOT: ")
        terminal.write(b"exit\n")
        _, shown = terminal.finish()
    (line,) = re.findall(r"GOT: (.*)\n", QUICKLY.sub("", shown.decode()))
    return line


@pytest.mark.parametrize("name", [with_shell(name) for name in SHELLS])
def test_the_script_has_no_fault_that_its_shell_can_find(
    name: str, env: Mapping[str, str], tmp_path: Path
) -> None:
    script = shell.run("completions", name, home=tmp_path)
    assert (script.returncode, script.stderr) == (0, b"")
    file = tmp_path / "script"
    file.write_bytes(script.stdout)
    done = shell.run("-n", file, program=name, home=tmp_path, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("command", commands.COMMANDS)
@pytest.mark.parametrize("name", SHELLS)
def test_every_option_is_in_the_script(name: str, command: str, tmp_path: Path) -> None:
    script = shell.run("completions", name, home=tmp_path).stdout.decode()
    for option in OPTIONS[command]:
        spelled = f"-l {option[2:]} " if name == "fish" and option != "-h" else option
        assert spelled in script.replace("-s h", "-h"), option


@pytest.mark.parametrize("name", [with_shell("bash")])
class TestBash:
    @pytest.mark.parametrize("command", commands.COMMANDS)
    def test_options(self, name: str, command: str, env: Mapping[str, str], tmp_path: Path) -> None:
        assert set(from_bash(f"sessionref {command} -", tmp_path, env)) == OPTIONS[command]
        assert from_bash(f"sessionref {command} --vers", tmp_path, env) == ["--version"]

    @pytest.mark.parametrize(
        ("line", "offered"),
        [
            ("sessionref ", list(commands.COMMANDS)),
            ("sessionref m", ["mention"]),
            ("sessionref --root list d", ["doctor"]),
            ("sessionref --root=list --json d", ["doctor"]),
            ("sessionref --policy n", ["native", "never-block"]),
            ("sessionref list --policy=nev", ["never-block"]),
            ("sessionref list --policy=", ["native", "never-block"]),
            ("sessionref list --limit ", []),
            ("sessionref completions ", list(SHELLS)),
            ("sessionref call parse", ["parseText"]),
            ("sessionref doctor ", []),
            ("sessionref --root ro", ["root"]),
            ("sessionref show s-9", ["s-91f0"]),
            ("sessionref show s-", ["s-7d1c  (Fix login)", "s-91f0  (Login page)"]),
            ("sessionref mention the", ["it\\'s\\ odd"]),
            ("sessionref mention login", ["s-7d1c  (Fix login)", "s-91f0  (Login page)", " "]),
            ("sessionref --deny s-91f0 mention s-", ["s-7d1c"]),
            ("sessionref list --deny s-9", ["s-91f0"]),
            ("sessionref list --agent=s-9", ["s-91f0"]),
            ("sessionref --root no/such show ", []),
            ("sessionref --policy no show ", []),
        ],
    )
    def test_what_is_offered(
        self, name: str, line: str, offered: list[str], env: Mapping[str, str], tmp_path: Path
    ) -> None:
        assert from_bash(line, tmp_path, env) == offered

    def test_quotes_are_part_of_no_word(
        self, name: str, env: Mapping[str, str], tmp_path: Path
    ) -> None:
        root = tmp_path / "my root"
        logs.write_log(root, "mine")
        line = f"""sessionref mention --root "{root}" 'mi"""
        assert from_bash(line, tmp_path, env) == ["mine"]

    def test_at_the_keyboard(self, name: str, env: Mapping[str, str], tmp_path: Path) -> None:
        assert typed(name, tmp_path, env, "sessionref doc\t") == "sessionref doctor"
        assert typed(name, tmp_path, env, "sessionref show s\t9\t") == "sessionref show s-91f0"
        both = typed(
            name, tmp_path, env, "sessionref mention login\t\t", "", shows=["s-91f0  (Login page)"]
        )
        assert both == "sessionref mention login"
        assert (
            typed(name, tmp_path, env, "sessionref mention shop\t") == "sessionref mention it's odd"
        )


@pytest.mark.parametrize("name", [with_shell("zsh")])
class TestZsh:
    @pytest.mark.parametrize(
        ("keys", "line"),
        [
            ("sessionref doc\t", "sessionref doctor"),
            ("sessionref --root list doc\t", "sessionref --root list doctor"),
            ("sessionref list --polic\tnev\t", "sessionref list --policy=never-block"),
            ("sessionref list --lim\t9\t", "sessionref list --limit=9"),
            ("sessionref list --policy=nev\t", "sessionref list --policy=never-block"),
            ("sessionref mention --la\t", "sessionref mention --last"),
            ("sessionref completions f\t", "sessionref completions fish"),
            ("sessionref show s-9\t", "sessionref show s-91f0"),
            ("sessionref --json show s-9\t", "sessionref --json show s-91f0"),
            ("sessionref mention the\t", "sessionref mention it's odd"),
            ("sessionref mention login\t", "sessionref mention s-7d1c"),
            ("sessionref mention login\t\t", "sessionref mention s-91f0"),
            ("sessionref --deny s-9\t", "sessionref --deny s-91f0"),
            ("sessionref --deny s-91f0 mention s\t", "sessionref --deny s-91f0 mention s-7d1c"),
        ],
    )
    def test_at_the_keyboard(
        self, name: str, keys: str, line: str, env: Mapping[str, str], tmp_path: Path
    ) -> None:
        assert typed(name, tmp_path, env, keys).rstrip() == line

    def test_titles_are_shown(self, name: str, env: Mapping[str, str], tmp_path: Path) -> None:
        shows = ["s-91f0  (Login page)"]
        line = typed(name, tmp_path, env, "sessionref show s-\t", "", shows=shows)
        assert line == "sessionref show s-"

    def test_as_a_file_of_the_function_path(
        self, name: str, env: Mapping[str, str], tmp_path: Path
    ) -> None:
        folder = tmp_path / "functions"
        folder.mkdir()
        (folder / "_sessionref").write_bytes(shell.run("completions", "zsh", home=tmp_path).stdout)
        start = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; echo rea''dy\n"
        with shell.terminal(home=tmp_path, env=env, program=("zsh", "-f", "-i")) as terminal:
            terminal.write(start.encode())
            terminal.wait_for(b"ready")
            terminal.write(b"sessionref comp\tfi\t; exit\n")
            code, _ = terminal.finish()
        assert code == 0


@pytest.mark.parametrize("name", [with_shell("fish")])
class TestFish:
    @pytest.mark.parametrize("command", commands.COMMANDS)
    def test_options(self, name: str, command: str, env: Mapping[str, str], tmp_path: Path) -> None:
        offered = from_fish(f"sessionref {command} --", tmp_path, env)
        names = {each.partition("\t")[0] for each in offered}
        assert names == OPTIONS[command] - {"-h"}
        assert all(each.partition("\t")[2] for each in offered)

    @pytest.mark.parametrize(
        ("line", "offered"),
        [
            ("sessionref m", [f"mention\t{commands.COMMANDS['mention'].summary}"]),
            ("sessionref --root list d", [f"doctor\t{commands.COMMANDS['doctor'].summary}"]),
            ("sessionref --policy ", ["native\tdefault: native", "never-block\tdefault: native"]),
            ("sessionref list --limit ", []),
            ("sessionref completions z", ["zsh"]),
            ("sessionref call parseT", ["parseText"]),
            ("sessionref doctor ", []),
            ("sessionref show s-9", ["s-91f0\tLogin page"]),
            ("sessionref mention s-", ["s-7d1c\tFix login", "s-91f0\tLogin page"]),
            ("sessionref mention shop", ["The shop\tit's odd"]),
            ("sessionref --deny s-91f0 mention s-", ["s-7d1c\tFix login"]),
        ],
    )
    def test_what_is_offered(
        self, name: str, line: str, offered: list[str], env: Mapping[str, str], tmp_path: Path
    ) -> None:
        assert sorted(from_fish(line, tmp_path, env)) == sorted(offered)

    def test_at_the_keyboard(self, name: str, env: Mapping[str, str], tmp_path: Path) -> None:
        assert (
            typed(name, tmp_path, env, "sessionref show s-9\t").rstrip() == "sessionref show s-91f0"
        )


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sessionref", b""),
        ("sessionref show 'it", b"it's odd\tThe shop\n"),
        ('sessionref show "s-9', b"s-91f0\tLogin page\n"),
        (
            "sessionref show s-9 --deny ",
            b"s-7d1c\tFix login\ns-91f0\tLogin page\nit's odd\tThe shop\n",
        ),
        ("sessionref show no\\", b""),
    ],
)
def test_the_sessions_that_a_line_may_mean(
    line: str, offered: bytes, env: Mapping[str, str], tmp_path: Path
) -> None:
    done = shell.run("_complete", "--line", line, home=tmp_path, env=env)
    assert (done.returncode, done.stdout) == (0, offered)


def test_no_session_is_offered_that_can_not_be_typed(tmp_path: Path) -> None:
    for session_id in ("a\nb", "a\tb", "-a", "a\u202e", "ab"):
        logs.write_log(tmp_path / "root", session_id, [logs.title("t\n\tt")])
    flags = ("--root", str(tmp_path / "root"))
    done = shell.run("_complete", "sessionref", *flags, "show", "a", home=tmp_path)
    assert done.stdout == b"ab\tt\\u{a}\\u{9}t\n"


def test_an_unknown_shell(tmp_path: Path) -> None:
    done = shell.run("completions", "tcsh", home=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
