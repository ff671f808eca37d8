"""What can be completed: commands, options and their values, as their parsers have them.

Knows no shell. What a value is, its metavar tells.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from sessionref.cli.command_lines import COMMAND_LINES
from sessionref.cli.commands import COMMANDS
from sessionref_protocol.methods import METHODS

Kind = Literal["words", "folder", "file", "session", "anything"]

_KINDS: Final[Mapping[str, Kind]] = {
    "DIR": "folder",
    "FILE": "file",
    "ID": "session",
    "ID|QUERY": "session",
}


_METHODS: Final = tuple(
    method.name
    for method in METHODS.values()
    if method.kind == "request" and method.direction == "host-to-sidecar"
)


class Value(NamedTuple):
    """What stands behind an option, or a command."""

    name: str
    kind: Kind
    words: tuple[str, ...] = ()


class Option(NamedTuple):
    """One option."""

    names: tuple[str, ...]
    help: str
    value: Value | None
    """None: it is a switch."""
    repeats: bool


class Command(NamedTuple):
    """One command with what it takes beyond what all of them take."""

    name: str
    summary: str
    options: tuple[Option, ...]
    argument: Value | None
    """The first argument."""


class Vocabulary(NamedTuple):
    """All of it."""

    common: tuple[Option, ...]
    """Options of every command."""
    commands: tuple[Command, ...]

    def with_value(self) -> list[str]:
        """The names of the options that have a value, of whatever command."""
        return [name for option in self.options() if option.value for name in option.names]

    def options(self) -> list[Option]:
        """Every option once, of whatever command."""
        own = [option for command in self.commands for option in command.options]
        return list(dict.fromkeys((*self.common, *own)))


def vocabulary() -> Vocabulary:
    """What this version of the program takes."""
    common = tuple(_options(COMMAND_LINES["serve"]()))
    return Vocabulary(
        common,
        tuple(_command(name, made(), common) for name, made in COMMAND_LINES.items()),
    )


def _command(name: str, parser: argparse.ArgumentParser, common: tuple[Option, ...]) -> Command:
    arguments = (_value(each) for each in parser._actions if not each.option_strings)
    return Command(
        name,
        COMMANDS[name].summary,
        tuple(option for option in _options(parser) if option not in common),
        next(arguments, None),
    )


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if action.option_strings:
            yield Option(
                tuple(action.option_strings),
                action.help or "",
                None if action.nargs == 0 else _value(action),
                isinstance(action, argparse._AppendAction),
            )


def _value(action: argparse.Action) -> Value:
    name = action.metavar or action.dest
    assert isinstance(name, str)  # none of ours takes several values
    if action.choices is not None:
        return Value(name, "words", tuple(map(str, action.choices)))
    if name == "METHOD":
        return Value(name, "words", _METHODS)
    return Value(name, _KINDS.get(name, "anything"))
