"""The table of `SECURITY.md` says what the tests show, row by row."""

import importlib
from pathlib import Path

from faults import matrix

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "SECURITY.md"


def test_the_document_has_this_table() -> None:
    text = DOCUMENT.read_text()
    section = text.split("\n## Faults\n", 1)[1].split("\n## ", 1)[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    assert table == matrix.markdown()


def test_every_row_has_a_test() -> None:
    for path in HERE.glob("test_*.py"):
        importlib.import_module(f"faults.{path.stem}")
    assert matrix.shown == set(matrix.TABLE)
