"""The least that something can cost: what every figure is compared with, taken in the same run.

- reading logs: decompress them with zstandard's stream reader, 1 MiB at a time, and count lines;
- a request: a Python process that echoes the same line;
- a start: a Python process that imports what the program can't do without.

Also a script, of which the measurements make processes: `floor.py echo`, `floor.py read LOG...`.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import zstandard

IMPORTS: Final = "import asyncio, msgspec, anyio, zstandard, sqlite3"

_READ_BYTES: Final = 1024 * 1024

START: Final = (sys.executable, "-c", IMPORTS)
ECHO: Final = (sys.executable, __file__, "echo")
READ: Final = (sys.executable, __file__, "read")


def count_lines(logs: Iterable[Path]) -> int:
    """How many lines compressed logs hold."""
    lines = 0
    decompressor = zstandard.ZstdDecompressor()
    for path in logs:
        with path.open("rb") as log:
            reader = decompressor.stream_reader(log, read_across_frames=True)
            while data := reader.read(_READ_BYTES):
                lines += data.count(b"\n")
    return lines


def echo() -> None:
    """Answer each line with itself."""
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def _read_then_echo(logs: Iterable[Path]) -> None:
    """With everything imported that the program imports, so that memory can be compared."""
    exec(IMPORTS)
    print(count_lines(logs), flush=True)
    echo()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["echo"]:
            echo()
        case ["read", *logs]:
            _read_then_echo(map(Path, logs))
