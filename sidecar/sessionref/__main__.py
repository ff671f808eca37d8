"""`sessionref`, also `python -m sessionref`: choose the command and hand over.

Imports stay inside the commands: what one does not need must not slow its start.
"""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from types import TracebackType

from .cli import commands, streams
from .cli.exits import Exit


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    streams.claim()
    try:
        return _run(*commands.split(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    finally:
        streams.flush()


def _run(command: str, rest: Sequence[str]) -> int:
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
        case "expand":
            from .cli.expand import run
        case "mention":
            from .cli.mention import run
        case "doctor":
            from .cli.doctor import run
        case "completions":
            from .cli.completion.command import run
        case "_complete":
            from .cli.completion.sessions import run
        case _:
            from .cli.options import parser

            parser().error(f"there is no command {command[:80]!r}; see sessionref --help")
    gc.freeze()
    gc.enable()
    sys.excepthook = _confess
    return run(rest)


def _confess(_: type[BaseException], error: BaseException, __: TracebackType | None) -> None:
    """A fault of ours that nobody caught. What it says may be of a transcript."""
    from sessionref.faults import told

    print(told(error), file=sys.stderr)


def _leave_on_signals() -> None:
    """Until the dispatcher takes over, nobody waits for an answer: a signal just ends it."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(Exit.DONE))
    signal.signal(signal.SIGINT, lambda *_: os._exit(Exit.INTERRUPTED))


if __name__ == "__main__":
    sys.exit(main())
