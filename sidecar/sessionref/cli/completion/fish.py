"""The vocabulary as a completion script for fish.

fish offers only what resembles the word that was typed, so a title is offered as such where a
command takes one, and the sessions' ids elsewhere.
"""

from collections.abc import Iterator
from typing import Final

from .vocabulary import Option, Value, Vocabulary

_SCRIPT: Final = r"""
function __sessionref_is
    set -l chosen none
    set -l is_value no
    for word in (commandline -opc)[2..-1]
        if test $is_value = yes
            set is_value no
            continue
        end
        switch $word
            case @WITH_VALUE@
                set is_value yes
            case '-*'
            case '*'
                set chosen $word
                break
        end
    end
    contains -- $chosen $argv
end

function __sessionref_sessions
    set -l word (commandline -ct)
    set -l found (sessionref _complete (commandline -opc) $word 2>/dev/null)
    set -l begun '^'(string escape --style=regex -- $word)
    if __sessionref_is mention; and not string match -qr -- $begun $found
        set found (string replace -r '^([^\t]*)\t(.+)$' '$2\t$1' -- $found)
    end
    printf '%s\n' $found
end

complete -c sessionref -f
"""


def script(vocabulary: Vocabulary) -> str:
    """All of the script."""
    head = _SCRIPT.lstrip("\n").replace("@WITH_VALUE@", " ".join(vocabulary.with_value()))
    return head + "".join(f"complete -c sessionref {line}\n" for line in _lines(vocabulary))


def _lines(vocabulary: Vocabulary) -> Iterator[str]:
    for option in vocabulary.common:
        yield _option(option)
    for command in vocabulary.commands:
        yield f"-n '__sessionref_is none' -a {command.name} -d {_quoted(command.summary)}"
        when = f"-n '__sessionref_is {command.name}'"
        for option in command.options:
            yield f"{when} {_option(option)}"
        if command.argument is not None and command.argument.kind != "anything":
            yield f"{when} {_value(command.argument)}"


def _option(option: Option) -> str:
    names = " ".join(
        f"-l {name[2:]}" if name[1] == "-" else f"-s {name[1]}" for name in option.names
    )
    value = "" if option.value is None else f" -r {_value(option.value)}"
    return f"{names}{value} -d {_quoted(option.help)}"


def _value(value: Value) -> str:
    match value.kind:
        case "words":
            return f"-f -a {_quoted(' '.join(value.words))}"
        case "folder":
            return "-f -a '(__fish_complete_directories (commandline -ct))'"
        case "file":
            return "-F"
        case "session":
            return "-f -k -a '(__sessionref_sessions)'"
        case "anything":
            return "-f"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
