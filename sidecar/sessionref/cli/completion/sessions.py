"""`sessionref _complete WORD...`: the sessions that the last word of a command line may mean.

The scripts' own question, in no help. A line for each session: its id, a tab, its title. It looks
where the command would look that is being typed. Whatever goes wrong, there is nothing to offer.
"""

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from sessionref.cli import commands, streams
from sessionref.cli.choosing import listed
from sessionref.cli.exits import Exit
from sessionref.cli.options import config, parser
from sessionref.cli.wiring import Parts, ask, asker
from sessionref_protocol import types
from sessionref_protocol.display import printable

_SECONDS: Final = 2
"""How long somebody who pressed TAB waits at most."""


def run(arguments: Sequence[str]) -> int:
    """Always 0, unless the options that were typed are wrong."""
    words = _words(arguments[1]) if arguments[:1] == ["--line"] else arguments
    if len(words) < 2:
        return Exit.DONE
    *before, word = words[1:]
    if before and before[-1].startswith("-"):
        before.pop()  # it has no value yet, if it takes one
    _, rest = commands.split(before)
    made = parser()
    options, _ = made.parse_known_args(rest)
    settled = config(options, os.environ, made)
    wanted = word.partition("=")[2] if word.startswith("-") else word
    params = types.ListCandidatesParams(agent=asker(None), query=wanted, affinity="resolved")

    async def question(parts: Parts) -> types.ListCandidatesResult:
        return await listed(parts, params, _SECONDS)

    found = list(_offered(ask(settled, question).candidates, wanted))
    streams.write("".join(f"{line}\n" for line in found).encode(), sys.stdout)
    return Exit.DONE


def _offered(candidates: Sequence[types.Candidate], wanted: str) -> Iterator[str]:
    """Those whose id begins as typed, or if there are none, all that were found."""
    begun = [each for each in candidates if each.session_id.startswith(wanted)]
    for each in begun or candidates:
        session_id, title = each.session_id, each.display_title
        if printable(session_id) == session_id and not session_id.startswith("-"):
            yield f"{session_id}\t{printable(title) if title != session_id else ''}"


def _words(line: str) -> list[str]:
    """The words of a line up to the cursor, without their quotes; the last may be empty."""
    for end in ("", "'", '"'):
        try:
            words = shlex.split(line + end)
        except ValueError:
            continue
        return [*words, ""] if line[-1:].isspace() and not end else words
    return []
