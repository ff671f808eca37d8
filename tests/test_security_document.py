"""SECURITY.md promises nothing that no test holds."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
LAST = "test"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def promises() -> Iterator[tuple[str, str]]:
    """The rows of every table whose last column names tests: what is promised first, and those."""
    rows: list[str] | None = None
    for line in (HERE / "SECURITY.md").read_text().splitlines():
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if not line.startswith("|"):
            rows = None
        elif cells[-1] == LAST:
            rows = []
        elif rows is not None and not set(line) <= set("|-:"):
            promise, *_, tests = cells
            yield promise, tests


PROMISES = dict(promises())


def names_in(file: Path) -> set[str]:
    """The names of the tests of one file, those of its classes included."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, kinds)}


def test_there_are_promises() -> None:
    assert len(PROMISES) == len(list(promises())) > 25


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_has_tests_that_exist(promise: str) -> None:
    named = TEST.findall(PROMISES[promise])
    assert named
    assert TEST.sub("", PROMISES[promise]).strip(" ,") == ""
    for file, test in named:
        assert test in names_in(HERE / file)
