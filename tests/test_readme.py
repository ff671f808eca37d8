"""What the README says a reader would see, and what the program does."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from sessionref.cli import commands
from sessionref.cli.command_lines import COMMAND_LINES
from sessionref.cli.exits import Exit
from support import shell
from support.answers import UUID_4
from support.sidecar import Sidecar

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text()
CUT = "…"
NEW_ID = "5f0c…"
"""Of the context message, which is another one each time."""


def section(title: str) -> str:
    """A chapter of the README."""
    _, _, rest = README.partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def block(language: str, of: str) -> str:
    """The first block of code in this language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", of, re.DOTALL | re.MULTILINE)
    assert found, language
    return found[1]


def test_the_exit_codes_are_those_of_the_program_and_its_help(tmp_path: Path) -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", section("Wire it into a host"), re.MULTILINE)
    assert rows == [(str(code.value), code.meaning) for code in Exit]
    helped = shell.run("--help", home=tmp_path).stdout.decode()
    shown = re.findall(r"^ +(\d+)  (.*)$", helped.partition("exit codes:\n")[2], re.MULTILINE)
    assert shown == [(code, meaning.replace("`", "")) for code, meaning in rows]


@pytest.fixture
def demo_root(tmp_path: Path) -> Path:
    """The sessions of the exchange, which are those of `make demo`."""
    root = tmp_path / "sessions"
    runpy.run_path(str(REPOSITORY / "examples" / "demo.py"))["write_sessions"](root)
    return root


def exchange() -> list[tuple[str, Any]]:
    """Who says what. A text that was cut ends with `…`, and so do lists and objects."""
    said = re.sub(r"(?m)^// .*$|  +// .*$", "", block("jsonc", section("Wire it into a host")))
    said = re.sub(rf"(?<=[{{\[]){CUT}|, {CUT}(?=\])", "", said)
    _, *parts = re.split(r"(?m)^(-->|<--) ", said)
    return [(who, json.loads(text)) for who, text in zip(parts[::2], parts[1::2], strict=True)]


def is_shown(shown: Any, real: Any) -> bool:
    """Whether what is shown is what there is, as far as it is shown."""
    match shown:
        case dict():
            return all(key in real and is_shown(each, real[key]) for key, each in shown.items())
        case list():
            return len(shown) <= len(real) and all(map(is_shown, shown, real))
        case str() if shown == NEW_ID:
            return UUID_4.fullmatch(real) is not None
        case str() if shown.endswith(CUT):
            return isinstance(real, str) and real.startswith(shown[:-1])
        case _:
            return bool(shown == real)


def test_the_exchange_is_a_real_one(demo_root: Path) -> None:
    said = exchange()
    assert [who for who, _ in said] == ["-->", "<--", "-->", "<--", "-->"]
    with Sidecar(roots=[demo_root]) as sidecar:
        for (_, request), (_, shown) in (said[0:2], said[2:4]):
            sidecar.send(request)
            answer = sidecar.answer(request["id"])
            assert is_shown(shown, answer), answer
        _, cancel = said[4]
        slow = {**said[2][1], "id": "slow"}
        sidecar.send_raw(sidecar.frame(slow) + sidecar.frame(cancel))
        assert sidecar.answer("slow")["error"]["code"] == -32800


def test_the_commands_at_a_shell_are_there() -> None:
    script = block("sh", section("At a shell"))
    named = re.findall(r"(?m)(?:^|[|(] ?)sessionref(?: ([a-z]+))?", script)
    assert {name for name in named if name} == set(commands.COMMANDS) - {"serve"}
    options = {
        name
        for made in COMMAND_LINES.values()
        for action in made()._actions
        for name in action.option_strings
    }
    assert set(re.findall(r"(?<![\w/])--[a-z-]+", section("At a shell"))) <= options


def test_what_a_bad_mention_looks_like(tmp_path: Path) -> None:
    shown = re.search(r"(?m)^sessionref expand: line (\d+), column (\d+): .*$", README)
    assert shown
    line, column, mention = int(shown[1]), int(shown[2]), shown[0].rpartition(": ")[2]
    prompt = "\n" * (line - 1) + "x" * (column - 1) + mention
    done = shell.run("expand", home=tmp_path, given=prompt.encode())
    assert (done.returncode, done.stderr.decode()) == (Exit.FAILED, shown[0] + "\n")
