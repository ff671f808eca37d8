"""`sessionref list [QUERY]`: the sessions that could be referred to from here, best first.

Asks what a host would ask with `listCandidates`, for nobody's session in the current directory,
and compares workspaces by what the folders are.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import UNSET

from sessionref.wording import age_in_words
from sessionref_protocol import types

from .choosing import listed, too_late
from .exits import Exit
from .options import config, seconds_to_wait, session_parser, whole_number
from .terminal import Column, complain, screen, write_json
from .wiring import Parts, ask, asker

_COLUMNS: Final = (
    Column("title", whole=False),
    Column("workspace", whole=False),
    Column("begun", whole=True),
    Column("id", whole=True),
)


def command_line() -> argparse.ArgumentParser:
    """What `list` can be told."""
    made = session_parser(
        "list",
        "The sessions that could be referred to from the current directory, best first. "
        "Where stdout is no terminal, a tab stands between title, workspace, age and id.",
    )
    made.add_argument("query", metavar="QUERY", nargs="?", help="a part of the id, folder or title")
    made.add_argument("--limit", metavar="N", help="at most N sessions")
    return made


def run(arguments: Sequence[str]) -> int:
    """0, also where there is no such session: that is an answer, too. 3 if something is missing."""
    made = command_line()
    options = made.parse_args(arguments)
    settled = config(options, os.environ, made)
    seconds = seconds_to_wait(made, options)
    limit = UNSET if options.limit is None else whole_number(made, "--limit", options.limit)
    params = types.ListCandidatesParams(
        agent=asker(options.agent),
        query=options.query,
        limit=limit,
        affinity="resolved",
    )

    async def question(parts: Parts) -> tuple[types.ListCandidatesResult, list[str]]:
        found = await listed(parts, params, seconds)
        roots = () if found.total else await parts.corpus.roots()
        return found, [f"{root.path}: {root.problem}" for root in roots if root.problem]

    found, problems = ask(settled, question)
    for problem in problems:
        complain("list", problem)
    if options.json:
        write_json(found)
    else:
        _show(found, is_limited=options.limit is not None)
    if not found.is_incomplete:
        return Exit.DONE
    complain("list", too_late(seconds))
    return Exit.LATE


def _show(found: types.ListCandidatesResult, *, is_limited: bool) -> None:
    if found.candidates:
        screen(sys.stdout).table(_COLUMNS, _rows(found.candidates))
    hidden = found.total - len(found.candidates)
    if hidden and not is_limited:
        complain("list", f"{hidden} more; --limit N shows up to N")
    elif not found.candidates and not found.is_incomplete:
        complain("list", "there is no such session")


def _rows(candidates: Sequence[types.Candidate]) -> Iterator[Sequence[str]]:
    now = time.time()
    for each in candidates:
        where = "" if each.display.cwd is None else each.display.cwd
        age = age_in_words(now - each.created_at / 1000)
        yield each.display_title, where, age, each.session_id
