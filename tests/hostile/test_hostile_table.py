"""The table of `SECURITY.md` says what the tests show, row by row."""

import re
from pathlib import Path

from hostile import table
from hostile.logs import CASES

DOCUMENT = Path(__file__).parents[2] / "SECURITY.md"
FIGURES = re.compile(r"\| (\d+) MiB \| (\d+\.\d) \| ")


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_document_has_this_table() -> None:
    """But for the figures, which differ from run to run, and are within the bounds."""
    section = DOCUMENT.read_text().split("\n## Hostile logs\n", 1)[1].split("\n## ", 1)[0]
    told = rows(section)
    assert [FIGURES.sub("| ", line) for line in told] == [
        FIGURES.sub("| ", line) for line in table.markdown()
    ]
    figures = FIGURES.findall(section)
    assert len(figures) == len(table.TABLE)
    for peak, seconds in figures:
        assert 0 < int(peak) * 2**20 <= table.MAX_BYTES
        assert 0 < float(seconds) <= table.MAX_SECONDS


def test_every_row_of_logs_has_some() -> None:
    test = table.BOMBS.test
    assert {case.row for case in CASES} == {row for row in table.TABLE if row.test == test}
