"""What `doctor` finds: every session of every root is read whole, as a snapshot of it would be.

Reads only; nothing is repaired, and damage is looked for without salvaging. The report names
files, causes and what people can do; how it is shown is not decided here.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import anyio
import msgspec

from sessionref.resolver import Report
from sessionref.sessions.model import Degraded, Listing, Problem, ReadError, Store, Summary
from sessionref_protocol import types
from sessionref_protocol.errors import Cause

ADVICE: Final[dict[Cause, str]] = {
    "not_found": "It went away while it was looked at; run doctor again.",
    "corrupt": "Put back a copy from before the damage, if there is one; if the first line is "
    "whole, --salvage still refers to what precedes the damage.",
    "unsupported_format": "Upgrade sessionref; if that does not help, only the program that wrote "
    "the log can tell what it holds.",
    "conflict": "Find out which of these files is the session, and move the others out of the "
    "root; until then none of them is used.",
    "io": "Look at what is there, and at the disk that it is on: only regular files are read.",
    "changed": "Run doctor again when nothing writes to the session.",
    "denied": "Let the user that runs sessionref read it.",
    "host": "Ask the host that holds the session in its memory.",
}
"""What to do about a session that can't be read, in one sentence for each cause."""

_MISPLACED: Final = "Move it back to where it was written; no program finds it where it is."
_ONE_FOLDER: Final = "Several roots lead to this one file; name its folder as a root only once."

Outcome = Summary | ReadError
"""What became of reading one session."""


class _Session(NamedTuple):
    """One id that was seen."""

    root: str
    """The first one where it was seen."""
    files: list[str]
    failures: list[Problem]
    """What was found in its place besides what a listing can tell of."""


class Survey(NamedTuple):
    """What one root holds, before anything is read whole."""

    root: str
    listing: Listing
    problem: str | None

    def session_ids(self) -> set[str]:
        """Of all that is in it."""
        ids = {entry.header.id for entry in self.listing.entries}
        return ids | {known for each in self.listing.problems if (known := _id(each)) is not None}


async def examine(
    roots: Sequence[str], stores: Sequence[Store], corpus: Store, at_once: int, report: Report
) -> types.DoctorReport:
    """Look at every session of `stores`, one a root, of which `corpus` is the union.

    At most `at_once` are read at one time; `report` is told how many have been.
    """
    surveys = [await _survey(root, store) for root, store in zip(roots, stores, strict=True)]
    sessions = _sessions(surveys)
    outcomes = await _read_all(corpus, list(sessions), at_once, report)
    problems = list(_unlisted(surveys))
    notes: list[types.DoctorNote] = []
    for session_id, session in sessions.items():
        outcome = outcomes[session_id]
        if isinstance(outcome, ReadError):
            problems.append(_problem(session_id, session, outcome))
        else:
            notes += _notes(session_id, session, outcome)
    order = {root: place for place, root in enumerate(roots)}
    return types.DoctorReport(
        roots=[_root(survey, outcomes) for survey in surveys],
        problems=sorted(problems, key=lambda each: (order[each.root], each.files)),
        notes=sorted(notes, key=lambda each: (order[each.root], each.files)),
    )


async def _survey(root: str, store: Store) -> Survey:
    try:
        listing = await store.list()
    except ReadError as error:
        listing = Listing(entries=(), problems=(Problem(path=root, error=error),))
    problem = None
    if not listing.entries:  # so that looking at the root once more costs nothing
        problem = next((state.problem for state in await store.roots()), None)
    return Survey(root, listing, problem)


def _sessions(surveys: Iterable[Survey]) -> dict[str, _Session]:
    """What was seen of each id, over all roots."""
    sessions: dict[str, _Session] = {}
    for root, listing, _ in surveys:
        for entry in listing.entries:
            session = sessions.setdefault(entry.header.id, _Session(root, [], []))
            session.files.append(entry.path or root)
        for problem in listing.problems:
            session_id = _id(problem)
            if session_id is not None:
                session = sessions.setdefault(session_id, _Session(root, [], []))
                session.files.append(problem.path)
                session.failures.append(problem)
    return sessions


def _id(problem: Problem) -> str | None:
    """Whose log it is: as its place says, else as the log itself does."""
    return problem.error.claimed_id if problem.session_id is None else problem.session_id


async def _read_all(
    corpus: Store, session_ids: Sequence[str], at_once: int, report: Report
) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    left = iter(session_ids)

    async def read_some() -> None:
        for session_id in left:
            try:
                outcomes[session_id] = Summary.of(await corpus.read(session_id))
            except ReadError as error:
                outcomes[session_id] = error
            report(len(outcomes), len(session_ids))

    report(0, len(session_ids))
    async with anyio.create_task_group() as tasks:
        for _ in range(at_once):
            tasks.start_soon(read_some)
    return outcomes


def _unlisted(surveys: Iterable[Survey]) -> Iterable[types.DoctorProblem]:
    """What can't be read, and is no session as far as can be told."""
    for root, listing, _ in surveys:
        for problem in listing.problems:
            if _id(problem) is None:
                error = problem.error
                yield types.DoctorProblem(
                    root=root,
                    files=[problem.path],
                    cause=error.cause,
                    reason=error.reason,
                    advice=ADVICE[error.cause],
                )


def _problem(session_id: str, session: _Session, error: ReadError) -> types.DoctorProblem:
    if error.cause == "not_found" and session.failures:
        error = session.failures[0].error  # nothing is found under an id that only the log says
    if error.cause == "conflict":
        files = sorted({*session.files, *error.rivals})
    else:
        files = [error.path or session.files[0]]
    return types.DoctorProblem(
        root=session.root,
        files=files,
        cause=error.cause,
        reason=error.reason,
        advice=_advice(error, files),
        session_id=session_id,
    )


def _advice(error: ReadError, files: Sequence[str]) -> str:
    if error.claimed_id is not None:
        return _MISPLACED
    if error.cause == "conflict" and len(set(map(os.path.realpath, files))) == 1:
        return _ONE_FOLDER
    return ADVICE[error.cause]


def _notes(session_id: str, session: _Session, summary: Summary) -> Iterable[types.DoctorNote]:
    if summary.degraded is not None:
        yield types.DoctorNote(
            root=session.root,
            files=session.files[:1],
            reason=uncertainty(summary.degraded),
            session_id=session_id,
            degraded=msgspec.convert(summary.degraded, types.Degraded, from_attributes=True),
        )
    for failure in session.failures:
        yield types.DoctorNote(
            root=session.root,
            files=[failure.path],
            reason=f"{failure.error.reason}; another log of the session is read instead",
            session_id=session_id,
        )


def uncertainty(degraded: Degraded) -> str:
    """Why a reading is less than certain, in words."""
    match degraded.reason:
        case "unknown_events":
            return f"{degraded.count} of its events are of types that this version does not know"
        case "newer_format":
            return f"its format, v{degraded.version}, is newer than those that this version knows"
        case "damaged":
            return f"it is damaged after event {degraded.through_seq}"


def _root(survey: Survey, outcomes: dict[str, Outcome]) -> types.DoctorRoot:
    entries = survey.listing.entries
    ids = survey.session_ids()
    read = [outcome for each in ids if isinstance(outcome := outcomes[each], Summary)]
    accounts = [entry.archived for entry in entries]
    return types.DoctorRoot(
        path=survey.root,
        sessions=len(ids),
        unreadable=len(ids) - len(read),
        generations=_counted(f"v{entry.header.version}" for entry in entries),
        encodings=_counted(entry.encoding or "unknown" for entry in entries),
        titled=sum(summary.title is not None for summary in read),
        subagents=sum(entry.header.is_subagent for entry in entries),
        degraded=sum(summary.degraded is not None for summary in read),
        strangers=survey.listing.strangers,
        archived=None if None in accounts else sum(map(bool, accounts)),
        problem=survey.problem,
    )


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda pair: (len(pair[0]), pair[0])))
