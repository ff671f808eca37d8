"""Folders that are gone after each test, and the table of what everything cost."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("hostile.cost", "hostile.table")

from hostile import table  # noqa: E402 (after the rewrite, so that its asserts explain)


@pytest.fixture
def brief_path(tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own, of which nothing is kept: some logs are large."""
    yield tmp_path
    shutil.rmtree(tmp_path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what each row of the table cost at most."""
    if table.measured:
        terminalreporter.section("hostile logs: peak memory, seconds of a processor")
        for row in table.TABLE:
            if row in table.measured:
                cost = table.measured[row]
                terminalreporter.write_line(
                    f"{cost.peak / 2**20:4.0f} MiB {cost.seconds:5.2f} s  {row.what}"
                )
