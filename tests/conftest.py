"""Fixtures for every test, and the count of verdicts at the end of a run."""

import logging
import os
from collections.abc import Iterator

import hypothesis
import pytest

# How long an example takes says more of the machine than of the code; `benchmarks/` measures. The
# examples are the same in each run, so that one that fails tells of a change; `make test EXPLORE=1`
# looks at others, and `make fuzz` at very many.
hypothesis.settings.register_profile(
    "sessionref", deadline=None, derandomize="EXPLORE" not in os.environ
)
hypothesis.settings.load_profile("sessionref")

pytest.register_assert_rewrite("support")

from support import verdicts  # noqa: E402 (after the rewrite, so that its asserts explain)
from support.roots import big_root, session_roots, sidecar_at  # noqa: E402

__all__ = ["big_root", "session_roots", "sidecar_at"]


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Leaves the loggers of the process as they were: a command sets them up as its own."""
    root, ours = logging.getLogger(), logging.getLogger("sessionref")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how the recorded cases ended: equal, different on purpose, skipped."""
    if verdicts.judged:
        terminalreporter.section("recorded cases")
        for line in verdicts.summary():
            terminalreporter.write_line(line)
