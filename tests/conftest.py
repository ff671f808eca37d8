"""Fixtures for every test, and the count of verdicts at the end of a run."""

import pytest

from support import verdicts
from support.roots import session_roots, sidecar_at

__all__ = ["session_roots", "sidecar_at"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how the recorded cases ended: equal, different on purpose, skipped."""
    if verdicts.judged:
        terminalreporter.section("recorded cases")
        for line in verdicts.summary():
            terminalreporter.write_line(line)
