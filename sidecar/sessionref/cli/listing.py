"""`sessionref list [QUERY]`: the sessions that could be referred to from here, best first.

Asks what a host would ask with `listCandidates`, for nobody's session in the current directory,
and compares workspaces by what the folders are.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import UNSET

from sessionref.wording import age_in_words
from sessionref_protocol import ecmascript, types

from .options import config, shell_parser, whole_number
from .terminal import Column, complain, screen, write
from .wiring import FROM_A_SHELL, Parts, ask, nobody

_COLUMNS: Final = (
    Column("title", whole=False),
    Column("workspace", whole=False),
    Column("begun", whole=True),
    Column("id", whole=True),
)


def run(arguments: Sequence[str]) -> int:
    """Always 0: that there is no such session is an answer, too."""
    made = shell_parser(
        "list",
        "The sessions that could be referred to from the current directory, best first. "
        "Where stdout is no terminal, a tab stands between title, workspace, age and id.",
    )
    made.add_argument("query", metavar="QUERY", nargs="?", help="a part of the id, folder or title")
    made.add_argument("--limit", metavar="N", help="at most N sessions")
    options = made.parse_args(arguments)
    settled = config(options, os.environ, made)
    limit = UNSET if options.limit is None else whole_number(made, "--limit", options.limit)
    params = types.ListCandidatesParams(
        agent=nobody(),
        query=options.query,
        limit=limit,
        affinity="resolved",
    )

    async def question(parts: Parts) -> tuple[types.ListCandidatesResult, list[str]]:
        found = await parts.handlers.list_candidates(params, FROM_A_SHELL)
        while found.is_incomplete:  # a host would ask again, too, but this one shows it only once
            found = await parts.handlers.list_candidates(params, FROM_A_SHELL)
        roots = () if found.total else await parts.corpus.roots()
        return found, [f"{root.path}: {root.problem}" for root in roots if root.problem]

    found, problems = ask(settled, question)
    for problem in problems:
        complain("list", problem)
    if options.json:
        write(ecmascript.encode(found) + b"\n")
        return 0
    if found.candidates:
        screen(sys.stdout).table(_COLUMNS, _rows(found.candidates))
    hidden = found.total - len(found.candidates)
    if hidden and options.limit is None:
        complain("list", f"{hidden} more; --limit N shows up to N")
    elif not found.candidates:
        complain("list", "there is no such session")
    return 0


def _rows(candidates: Sequence[types.Candidate]) -> Iterator[Sequence[str]]:
    now = time.time()
    for each in candidates:
        where = "" if each.display.cwd is None else each.display.cwd
        age = age_in_words(now - each.created_at / 1000)
        yield each.display_title, where, age, each.session_id
