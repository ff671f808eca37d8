"""`sessionref completions SHELL`: the completion script of a shell."""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from sessionref.cli import streams
from sessionref.cli.exits import Exit
from sessionref.cli.options import parser

SHELLS: Final = ("bash", "zsh", "fish")


def command_line() -> argparse.ArgumentParser:
    """What `completions` can be told."""
    made = parser("completions")
    made.description = "Print what a shell needs to complete commands, options and sessions."
    made.add_argument("shell", choices=SHELLS)
    return made


def run(arguments: Sequence[str]) -> int:
    """Always 0."""
    options = command_line().parse_args(arguments)
    from . import bash, fish, zsh  # they need the command lines of all, of which this is one
    from .vocabulary import vocabulary

    made = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}[options.shell](
        vocabulary()
    )
    streams.write(made.encode(), sys.stdout)
    return Exit.DONE
