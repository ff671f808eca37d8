"""The command line and the environment -> one `Config`. Every flag is also a variable.

Only argument parsing: it starts nothing and reads no session. Source: contract, section 6.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, TypeVar, get_args

from sessionref import __version__
from sessionref.config import (
    MAX_REFERENCES,
    Config,
    FramingMode,
    LogLevel,
    PolicyName,
    Scope,
    Settings,
    Workspaces,
    default_cache_folder,
    default_root,
)
from sessionref_protocol.display import printable

from . import commands, exits

T = TypeVar("T", bound=str)

MAX_COUNT: Final = 2**53 - 1

DEFAULT_WAIT: Final = 60
"""Seconds. An index of thousands of sessions is made in less; people lose patience before."""

_LONGEST_WAIT: Final = 10**6

_VARIABLES: Final = """\
Options are also environment variables: SESSIONREF_ROOTS (a path list),
SESSIONREF_FRAMING, SESSIONREF_POLICY, SESSIONREF_MAX_REFERENCES,
SESSIONREF_MAX_REFERENCE_BYTES, SESSIONREF_CANDIDATE_LIMIT, SESSIONREF_CONTEXT_WINDOW,
SESSIONREF_ONLY_WORKSPACES (a path list), and with 0 or 1 SESSIONREF_SALVAGE,
SESSIONREF_OMISSIONS, SESSIONREF_NO_ARCHIVED, SESSIONREF_NO_SUBAGENTS, SESSIONREF_NO_INDEX,
SESSIONREF_INDEX_PREVIEWS; SESSIONREF_LOG_LEVEL, SESSIONREF_LOG_FILE. An option wins over its
variable. SESSIONREF_CACHE_DIR is the folder of the index, by default where the system has caches.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(printable(message))  # it may quote what was pasted


def shell_parser(command: str, description: str) -> argparse.ArgumentParser:
    """The options of a command for people, who may be programs after all."""
    made = parser(command)
    made.description = description
    made.add_argument("--json", action="store_true", help="print one line of JSON, see schemas/")
    return made


def session_parser(command: str, description: str) -> argparse.ArgumentParser:
    """The options of a command for people that asks for sessions, and does so for a while only."""
    made = shell_parser(command, description)
    made.add_argument(
        "--agent", metavar="ID", help="the session that asks: it is not listed, nor referred to"
    )
    made.add_argument(
        "--wait", metavar="SECONDS", help=f"give up on what is not read by then ({DEFAULT_WAIT})"
    )
    return made


def seconds_to_wait(made: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """What `--wait` says. Ends the process (2) at a bad value."""
    if options.wait is None:
        return DEFAULT_WAIT
    return whole_number(made, "--wait", options.wait, _LONGEST_WAIT)


def parser(command: str = "") -> argparse.ArgumentParser:
    """The options that every command takes."""
    made = _Parser(
        prog=f"sessionref {command}".strip(),
        description="Refer from one agent session to another.",
        epilog="\n".join((commands.table(), exits.table(), _VARIABLES)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"sessionref {__version__}")
    made.add_argument(
        "--root",
        metavar="DIR",
        action="append",
        help="a folder of sessions; may be repeated (default: $DSH_HOME/sessions, "
        "else ~/.dsh/sessions)",
    )
    made.add_argument("--framing", choices=get_args(FramingMode), help="default: auto")
    made.add_argument(
        "--stdio",
        dest="framing",
        action="store_const",
        const="content-length",
        help="as editors say it: --framing content-length",
    )
    made.add_argument("--policy", choices=get_args(PolicyName), help="default: native")
    made.add_argument("--max-references", metavar="N", help="sources a message, 1 to 3")
    made.add_argument("--max-reference-bytes", metavar="N", help="bytes a source (65536)")
    made.add_argument("--candidate-limit", metavar="N", help="candidates an answer (50)")
    made.add_argument(
        "--salvage",
        action="store_true",
        default=None,
        help="answer for a damaged log from what precedes the damage",
    )
    made.add_argument(
        "--renamed-root",
        metavar="OLD=NEW",
        action="append",
        help="a workspace folder that has another name today; may be repeated",
    )
    made.add_argument("--context-window", metavar="N", help="tokens of the agent's model")
    made.add_argument(
        "--omissions",
        action="store_true",
        default=None,
        help="list below a snapshot what was left out of it",
    )
    made.add_argument(
        "--only-workspace",
        metavar="DIR",
        action="append",
        help="know of no sessions but this folder's; may be repeated; `same` is the agent's own",
    )
    made.add_argument(
        "--no-archived", action="store_true", default=None, help="know of no archived sessions"
    )
    made.add_argument(
        "--no-subagents", action="store_true", default=None, help="know of no delegated sessions"
    )
    made.add_argument(
        "--deny", metavar="ID", action="append", help="never know of this session; repeatable"
    )
    made.add_argument(
        "--no-index",
        action="store_true",
        default=None,
        help="keep what is known of sessions in memory only",
    )
    made.add_argument(
        "--index-previews",
        action="store_true",
        default=None,
        help="keep and show the first words of sessions, too",
    )
    made.add_argument("--log-level", choices=get_args(LogLevel), help="default: warning")
    made.add_argument("--log-file", metavar="FILE", help="default: stderr")
    return made


def config(
    options: argparse.Namespace, environ: Mapping[str, str], made: argparse.ArgumentParser
) -> Config:
    """What options and environment say together. Ends the process (2) at a bad value."""

    def value(name: str) -> tuple[str, str | None]:
        flag = "--" + name.replace("_", "-")
        given: str | None = getattr(options, name)
        if given is not None:
            return flag, given
        variable = "SESSIONREF_" + name.upper()
        return variable, environ.get(variable) or None

    def one_of(name: str, choices: Sequence[T], default: T) -> T:
        source, text = value(name)
        if text is None:
            return default
        for choice in choices:
            if text == choice:
                return choice
        _refuse(made, source, text, "one of " + ", ".join(choices))

    def count(name: str, most: int) -> int | None:
        source, text = value(name)
        return None if text is None else whole_number(made, source, text, most)

    def switch(name: str) -> bool | None:
        variable = "SESSIONREF_" + name.upper()
        text = environ.get(variable) or None
        if text not in (None, "0", "1"):
            _refuse(made, variable, text, "0 or 1")
        return None if text is None else text == "1"

    return Config(
        roots=_distinct(options.root or _roots(environ)),
        settings=Settings(
            max_references=count("max_references", MAX_REFERENCES),
            max_reference_bytes=count("max_reference_bytes", MAX_COUNT),
            candidate_limit=count("candidate_limit", MAX_COUNT),
            salvage=options.salvage or switch("salvage"),
            context_window=count("context_window", MAX_COUNT),
            omissions=options.omissions or switch("omissions"),
            renamed_roots=_renamed(made, options.renamed_root or []),
            scope=Scope(
                workspaces=_workspaces(
                    made, options.only_workspace or _paths(environ, "ONLY_WORKSPACES")
                ),
                archived=not (options.no_archived or switch("no_archived")),
                subagents=not (options.no_subagents or switch("no_subagents")),
                deny=frozenset(options.deny or ()),
            ),
        ),
        policy=one_of("policy", get_args(PolicyName), "native"),
        framing=one_of("framing", get_args(FramingMode), "auto"),
        log_level=one_of("log_level", get_args(LogLevel), "warning"),
        log_file=value("log_file")[1],
        cache_folder=(
            None if options.no_index or switch("no_index") else default_cache_folder(environ)
        ),
        index_previews=bool(options.index_previews or switch("index_previews")),
    )


def whole_number(
    made: argparse.ArgumentParser, source: str, text: str, most: int = MAX_COUNT
) -> int:
    """The number from 1 to `most` that was given. Ends the process (2) at anything else."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:20]) <= most):
        _refuse(made, source, text, f"a whole number from 1 to {most}")
    return int(text)


def _paths(environ: Mapping[str, str], name: str) -> list[str]:
    return [path for path in environ.get("SESSIONREF_" + name, "").split(os.pathsep) if path]


def _distinct(roots: Sequence[str]) -> tuple[str, ...]:
    """Each folder once, however it is spelled: the same session twice would be a conflict."""
    places: dict[str, str] = {}
    for root in roots:
        path = os.path.expanduser(root)
        places.setdefault(os.path.realpath(path), path)
    return tuple(places.values())


def _roots(environ: Mapping[str, str]) -> list[str]:
    return _paths(environ, "ROOTS") or [default_root(environ)]


def _workspaces(made: argparse.ArgumentParser, given: Sequence[str]) -> tuple[Workspaces, ...]:
    """The one bound that the folders, or `same` alone, make together."""
    if "same" in given and len(given) > 1:
        _refuse(made, "--only-workspace", ", ".join(given), "either `same` or folders")
    if not given:
        return ()
    return ("same",) if given[0] == "same" else (frozenset(given),)


def _renamed(made: argparse.ArgumentParser, given: Sequence[str]) -> dict[str, str]:
    renamed: dict[str, str] = {}
    for pair in given:
        old, sign, new = pair.partition("=")
        if not (old and sign and new):
            _refuse(made, "--renamed-root", pair, "OLD=NEW")
        renamed[old] = new
    return renamed


def _refuse(made: argparse.ArgumentParser, source: str, text: str, wanted: str) -> NoReturn:
    made.error(f"{source}: {text[:80]!r} is not {wanted}")
