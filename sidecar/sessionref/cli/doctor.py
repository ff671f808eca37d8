"""`sessionref doctor`: reads every session, and explains which can't be read. Repairs nothing.

What is found is `checkup`'s concern; here it is put in words for people, or in JSON.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence

from sessionref_protocol import types

from .checkup import examine
from .exits import Exit
from .options import config, shell_parser
from .terminal import Screen, progress, screen, write_json
from .wiring import Parts, ask


def command_line() -> argparse.ArgumentParser:
    """What `doctor` can be told."""
    return shell_parser("doctor", "Read every session, and explain what can't be read.")


def run(arguments: Sequence[str]) -> int:
    """0 where every session can be read, else 1."""
    made = command_line()
    options = made.parse_args(arguments)
    settled = config(options, os.environ, made)

    async def question(parts: Parts) -> types.DoctorReport:
        with progress("Reading sessions") as report:
            return await examine(
                settled.roots,
                parts.stores,
                parts.corpus,
                settled.limits.max_concurrent_reads,
                report,
            )

    report = ask(settled, question)
    if options.json:
        write_json(report)
    else:
        _show(report, screen(sys.stdout))
    return Exit.FAILED if report.problems else Exit.DONE


def _show(report: types.DoctorReport, on: Screen) -> None:
    for root in report.roots:
        on.facts(root.path, _of_root(root))
    for problem in report.problems:
        on.facts(problem.files[0], _of_problem(problem))
    for note in report.notes:
        on.facts(note.files[0], _of_note(note))
    on.line(_verdict(report), bad=bool(report.problems))


def _of_root(root: types.DoctorRoot) -> Iterator[tuple[str, str]]:
    if root.problem is not None:
        yield "problem", root.problem
    yield "sessions", _with_part(root.sessions, root.unreadable, "can't be read")
    if root.sessions:
        yield "generations", _numbers(root.generations)
        yield "encodings", _numbers(root.encodings)
        yield "with a title", str(root.titled)
        yield "archived", "not known" if root.archived is None else str(root.archived)
        yield "sub-agents", str(root.subagents)
        yield "uncertain", str(root.degraded)
    yield "other files", str(root.strangers)


def _of_problem(problem: types.DoctorProblem) -> Iterator[tuple[str, str]]:
    for file in problem.files[1:]:
        yield "and also", file
    if problem.session_id is not None:
        yield "session", problem.session_id
    yield "can't be read", f"{problem.reason} ({problem.cause})"
    yield "what to do", problem.advice


def _of_note(note: types.DoctorNote) -> Iterator[tuple[str, str]]:
    yield "session", note.session_id
    yield "can be read", note.reason


def _verdict(report: types.DoctorReport) -> str:
    sessions = sum(root.sessions for root in report.roots)
    unreadable = len(report.problems)
    if not unreadable:
        return f"{_counted(sessions, 'session')}, and nothing that can't be read."
    return f"{_counted(unreadable, 'problem')} in {_counted(sessions, 'session')}."


def _with_part(whole: int, part: int, what: str) -> str:
    return f"{whole} ({part} {what})" if part else str(whole)


def _numbers(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "none"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
