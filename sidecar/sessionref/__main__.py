"""`sessionref`, also `python -m sessionref`: choose the command and hand over.

Imports stay inside the commands: what one does not need must not slow its start.
"""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

_WITHOUT_VALUE: Final = frozenset(
    [
        "-h",
        "--help",
        "--version",
        "--json",
        "--stdio",
        "--salvage",
        "--omissions",
        "--no-archived",
        "--no-subagents",
        "--no-index",
        "--index-previews",
    ]
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    command, rest = _split(list(sys.argv[1:] if arguments is None else arguments))
    gc.disable()  # what imports make stays, so looking for garbage in it only takes time
    match command:
        case "serve":
            _leave_on_signals()
            from .cli.serve import run
        case "call":
            from .cli.call import run
        case "list":
            from .cli.listing import run
        case "show":
            from .cli.show import run
        case "doctor":
            from .cli.doctor import run
        case _:
            from .cli.options import parser

            parser().error(f"there is no command {command[:80]!r}; see sessionref --help")
    gc.freeze()
    gc.enable()
    try:
        return run(rest)
    except KeyboardInterrupt:
        return 130


def _leave_on_signals() -> None:
    """Until the dispatcher takes over, nobody waits for an answer: a signal just ends it."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))


def _split(arguments: list[str]) -> tuple[str, list[str]]:
    """The command and everything else: options may stand before the command, too."""
    place = 0
    while place < len(arguments):
        word = arguments[place]
        if not word.startswith("-"):
            return word, arguments[:place] + arguments[place + 1 :]
        place += 1 if "=" in word or word in _WITHOUT_VALUE else 2
    return "serve", arguments


if __name__ == "__main__":
    sys.exit(main())
