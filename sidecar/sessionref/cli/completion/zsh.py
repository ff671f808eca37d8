"""The vocabulary as a completion script for zsh: for a folder of `$fpath`, or to be sourced.

What was typed need not begin the session's id: then the sessions take its place one by one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from .vocabulary import Command, Option, Value, Vocabulary

_SCRIPT: Final = r"""
#compdef sessionref

_sessionref_sessions() {
    local id title
    local -a ids shown
    while IFS=$'\t' read -r id title; do
        ids+=("$id")
        shown+=("$id${title:+  (${title[1,60]})}")
    done < <(sessionref _complete "${(@)typed}" 2>/dev/null)
    if ((! $#ids)) || [[ $ids[1] == "$PREFIX"* ]]; then
        compadd "$@" -V sessions -l -d shown -a ids
    else
        compstate[insert]=menu
        compadd "$@" -U -V sessions -l -d shown -a ids
    fi
}

_sessionref_commands() {
    local -a commands=(
@COMMANDS@
    )
    _describe command commands
}

_sessionref() {
    local -a typed=("${(@Q)words[1,CURRENT]}") common=(
@COMMON@
    )
    local chosen= place
    for ((place = 2; place < CURRENT; place++)); do
        case $words[place] in
            (@WITH_VALUE@) ((place++)) ;;
            (-*) ;;
            (*) chosen=$words[place]; words[place]=(); ((CURRENT--)); break ;;
        esac
    done
    case $chosen in
        ('') _arguments -S $common ':command:_sessionref_commands' ;;
@ARGUMENTS@
    esac
}

if [[ $funcstack[1] == _sessionref ]]; then
    _sessionref "$@"
else
    compdef _sessionref sessionref
fi
"""


def script(vocabulary: Vocabulary) -> str:
    """All of the script."""
    commands = vocabulary.commands
    described = (f"        {_quoted(f'{each.name}:{each.summary}')}" for each in commands)
    common = (f"        {spec}" for spec in _specs(vocabulary.common))
    return (
        _SCRIPT.lstrip("\n")
        .replace("@COMMANDS@", "\n".join(described))
        .replace("@COMMON@", "\n".join(common))
        .replace("@WITH_VALUE@", "|".join(vocabulary.with_value()))
        .replace("@ARGUMENTS@", "\n".join(map(_command, commands)))
    )


def _command(command: Command) -> str:
    specs = ["$common", *_specs(command.options)]
    if command.argument is not None:
        specs.append(_quoted(_value(command.argument)))
    arguments = " \\\n            ".join(specs)
    return f"        ({command.name}) _arguments -S {arguments} ;;"


def _specs(options: Sequence[Option]) -> Iterator[str]:
    """As `_arguments` takes them."""
    for option in options:
        explained = f"[{_escaped(option.help, '[]')}]"
        value = "" if option.value is None else _value(option.value)
        if len(option.names) > 1:
            assert not value
            yield f"'(- :)'{{{','.join(option.names)}}}{_quoted(explained)}"
        else:
            star, equals = "*" * option.repeats, "=" if value else ""
            yield _quoted(f"{star}{option.names[0]}{equals}{explained}{value}")


def _value(value: Value) -> str:
    match value.kind:
        case "words":
            action = f"({' '.join(value.words)})"
        case "folder":
            action = "_files -/"
        case "file":
            action = "_files"
        case "session":
            action = "_sessionref_sessions"
        case "anything":
            action = "()"  # and no message: one would keep an option from being completed
    return f":{_escaped(value.name, ':')}:{action}"


def _escaped(text: str, signs: str) -> str:
    """With a backslash before these signs, which would mean something there."""
    return "".join("\\" + sign if sign in signs + "\\" else sign for sign in text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
