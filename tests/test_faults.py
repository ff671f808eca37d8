"""A fault of ours in the log: what kind and where, never what it says."""

import asyncio
import os
from pathlib import Path

import pytest

from sessionref.config import Config
from sessionref.faults import told
from sessionref.logs import configure

WORD = "quoted"


def fail(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as raised:
        return raised


def kinds(error: BaseException) -> list[str]:
    return [line for line in told(error).split("\n") if not line.startswith((" ", "Traceback"))]


def test_kind_and_place() -> None:
    first, place, source, *marks, kind = told(fail(ValueError(WORD))).split("\n")
    assert first == "Traceback (most recent call last):"
    assert place.startswith(f'  File "{__file__}", line ')
    assert source == "    raise error from cause"
    assert all(set(mark) <= {" ", "^", "~"} for mark in marks)
    assert kind == "builtins.ValueError"


def test_what_led_to_it_comes_first() -> None:
    assert kinds(fail(ValueError(WORD), fail(KeyError(WORD)))) == [
        "builtins.KeyError",
        "which led to",
        "builtins.ValueError",
    ]


def test_errors_of_several_tasks() -> None:
    group = ExceptionGroup(WORD, [fail(ValueError(WORD)), fail(TypeError(WORD))])
    assert kinds(group) == [
        "builtins.ExceptionGroup",
        "builtins.ValueError",
        "builtins.TypeError",
    ]


def test_errors_that_led_to_each_other_have_an_end() -> None:
    one, other = ValueError(WORD), KeyError(WORD)
    one.__context__, other.__context__ = other, one
    assert kinds(one) == ["builtins.KeyError", "which led to", "builtins.ValueError"]


def test_the_system_s_words_are_kept() -> None:
    with pytest.raises(FileNotFoundError) as missing:
        os.stat(f"/{WORD}")
    assert kinds(missing.value) == ["builtins.FileNotFoundError: No such file or directory"]
    assert kinds(OSError(WORD)) == ["builtins.OSError"]


def test_what_nobody_caught_is_told_without_its_words(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"

    async def fail_in_a_task() -> None:
        raise ValueError(WORD)

    async def run() -> None:
        outlet = configure(Config(roots=(), log_file=str(log)))
        task = asyncio.create_task(fail_in_a_task())
        await asyncio.wait((task,))
        del task  # nobody asks what became of it
        await outlet.flush()

    asyncio.run(run())
    lines = log.read_text().splitlines()
    assert lines[0].endswith(
        " ERROR sessionref.logs: Internal error: Task exception was never retrieved"
    )
    assert lines[-1] == "builtins.ValueError"
    assert WORD not in log.read_text()
