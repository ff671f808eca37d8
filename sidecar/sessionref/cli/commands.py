"""Which commands there are, and which one a command line means.

A leaf that imports nothing, so that choosing a command costs nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple


class Command(NamedTuple):
    """One command as the help shows it."""

    usage: str
    summary: str


COMMANDS: Final[Mapping[str, Command]] = {
    "serve": Command("serve", "answer a host over stdin and stdout (the default)"),
    "call": Command(
        "call METHOD [JSON]", "send one request to a sidecar of its own and print the answer"
    ),
    "list": Command("list [QUERY]", "the sessions that could be referred to, best first"),
    "show": Command("show ID", "what a model would see of a session, and what was left out"),
    "expand": Command(
        "expand", "a message from stdin with its mentions replaced, and the snapshots"
    ),
    "mention": Command(
        "mention ID|QUERY", "what refers to a session, to be put into a message; or --last"
    ),
    "doctor": Command("doctor", "read every session, and explain what can't be read"),
    "completions": Command("completions SHELL", "what bash, zsh or fish needs for completion"),
}

_WITHOUT_VALUE: Final = frozenset(
    [
        "-h",
        "--help",
        "--version",
        "--json",
        "--last",
        "--id",
        "--copy",
        "--stdio",
        "--salvage",
        "--omissions",
        "--no-archived",
        "--no-subagents",
        "--no-index",
        "--index-previews",
    ]
)


def split(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The command and everything else: options may stand before the command, too."""
    place = 0
    while place < len(arguments):
        word = arguments[place]
        if not word.startswith("-"):
            return word, [*arguments[:place], *arguments[place + 1 :]]
        place += 1 if "=" in word or word in _WITHOUT_VALUE else 2
    return "serve", list(arguments)


def table() -> str:
    """The table as the help shows it."""
    width = max(len(command.usage) for command in COMMANDS.values())
    rows = (f"  {each.usage:{width}}  {each.summary}" for each in COMMANDS.values())
    return "commands:\n" + "\n".join(rows) + "\n"
