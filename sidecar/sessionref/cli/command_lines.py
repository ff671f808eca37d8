"""The command line of every command, by its name. Costs the imports of all of them."""

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from . import call, doctor, expand, listing, mention, serve, show
from .completion import command as completions

COMMAND_LINES: Final[Mapping[str, Callable[[], argparse.ArgumentParser]]] = {
    "serve": serve.command_line,
    "call": call.command_line,
    "list": listing.command_line,
    "show": show.command_line,
    "expand": expand.command_line,
    "mention": mention.command_line,
    "doctor": doctor.command_line,
    "completions": completions.command_line,
}
