"""The vocabulary as a completion script for bash, from version 3.2 on.

bash takes `=` for a word of its own, replaces what was typed by what all candidates begin with,
and has no descriptions: those stand behind the candidates, as long as there are several.
"""

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Final

from .vocabulary import Command, Option, Value, Vocabulary

_SCRIPT: Final = r"""
_sessionref_words() {
    COMPREPLY=($(compgen -W "$1" -- "$current"))
}

_sessionref_paths() {
    local path
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        COMPREPLY+=("$path")
    done < <(compgen "$1" -- "$current")
}

_sessionref_sessions() {
    local line=${COMP_LINE:0:COMP_POINT} id title is_begun=yes ids=() shown=()
    local typed=${line##*[[:space:]]}
    while IFS=$'\t' read -r id title; do
        ids+=("$(printf %q "$id")")
        shown+=("$id${title:+  (${title:0:60})}")
        [[ $id == "$typed"* ]] || is_begun=
    done < <(sessionref _complete --line "$line" 2>/dev/null)
    compopt -o nosort 2>/dev/null
    if [[ ${#ids[@]} -lt 2 || $COMP_TYPE == 37 || $COMP_TYPE == 42 ]]; then # or one by one
        COMPREPLY=("${ids[@]}")
    else
        COMPREPLY=("${shown[@]}")
        [[ $is_begun ]] || COMPREPLY+=(' ') # what was typed begins none of them, and stays
    fi
    local before=${typed%"$current"} # where a colon, say, begins a new word
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}

_sessionref() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= place
    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}
    [[ $current == = ]] && current=
    COMPREPLY=()
    for ((place = 1; place < COMP_CWORD; place++)); do
        case ${COMP_WORDS[place]} in
            @WITH_VALUE@)
                [[ ${COMP_WORDS[place+1]} == = ]] && ((place++))
                ((place++)) ;;
            -* | =) ;;
            *) command=${COMP_WORDS[place]}; break ;;
        esac
    done
    case $previous in
@VALUES@
    esac
    if [[ $current == -* ]]; then
        case $command in
@OPTIONS@
        esac
        return
    fi
    case $command in
@ARGUMENTS@
    esac
}

complete -F _sessionref sessionref
"""


def script(vocabulary: Vocabulary) -> str:
    """All of the script."""
    commands = vocabulary.commands
    return (
        _SCRIPT.lstrip("\n")
        .replace("@WITH_VALUE@", " | ".join(vocabulary.with_value()))
        .replace("@VALUES@", "\n".join(_values(vocabulary.options())))
        .replace("@OPTIONS@", "\n".join(_option_words(vocabulary.common, commands)))
        .replace("@ARGUMENTS@", "\n".join(_arguments(commands)))
    )


def _values(options: Sequence[Option]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for option in options:
        if option.value is not None:
            names.setdefault(_candidates(option.value), []).extend(option.names)
    for candidates, alike in names.items():
        yield f"        {' | '.join(alike)}) {candidates}; return ;;"


def _option_words(common: Sequence[Option], commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        if command.options:
            yield f"            {command.name}) {_names((*common, *command.options))} ;;"
    yield f"            *) {_names(common)} ;;"


def _names(options: Sequence[Option]) -> str:
    return f"_sessionref_words {quote(' '.join(name for each in options for name in each.names))}"


def _arguments(commands: Sequence[Command]) -> Iterator[str]:
    yield f"        '') _sessionref_words {quote(' '.join(each.name for each in commands))} ;;"
    for command in commands:
        if command.argument is not None and command.argument.kind != "anything":
            yield f"        {command.name}) {_candidates(command.argument)} ;;"


def _candidates(value: Value) -> str:
    """The call that completes a value."""
    match value.kind:
        case "words":
            return f"_sessionref_words {quote(' '.join(value.words))}"
        case "folder":
            return "_sessionref_paths -d"
        case "file":
            return "_sessionref_paths -f"
        case "session":
            return "_sessionref_sessions"
        case "anything":
            return ":"
