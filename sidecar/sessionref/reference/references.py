"""Which sessions a message or a request refers to, checked before anything is read.

Pure. The checks run item by item, so the first fault in the order of the input is the one that is
answered; only the number of sources is judged at the end. Knows nothing of how a session is read.
Source of the rule: the contract, section 5 (`prepare`).
"""

from collections.abc import Iterable, Iterator

import msgspec

from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.mention import SCHEME, MalformedMention, quote_for_error


class Reference(msgspec.Struct, frozen=True):
    """One reference as it was written; the same session may be referred to again."""

    session_id: str
    label: str


class Wanted(msgspec.Struct, frozen=True):
    """One session to take a snapshot of."""

    session_id: str
    label: str
    input_index: int
    """Its place among the distinct sessions, in order of first appearance."""
    further_labels: tuple[str, ...] = ()
    """Its other labels, of those only that could be taken for a mention."""


def check_references(
    agent_id: str, references: Iterable[Reference], max_references: int
) -> tuple[Wanted, ...]:
    """The sessions to read. Raises `RpcError`: `SELF_REFERENCE`, then `TOO_MANY`.

    `references` may raise of its own while it is read; an earlier item's fault comes first.
    """
    wanted = distinct(_without_self(agent_id, references))
    if len(wanted) > max_references:
        raise RpcError(
            ErrorKind.TOO_MANY,
            f"{len(wanted)} sessions are referred to, and at most {max_references} may be.",
        )
    return wanted


def distinct(references: Iterable[Reference]) -> tuple[Wanted, ...]:
    """Each session once, in order of first appearance and under its first label."""
    labels: dict[str, list[str]] = {}
    for reference in references:
        labels.setdefault(reference.session_id, []).append(reference.label)
    return tuple(
        Wanted(session_id, first, index, tuple(label for label in further if SCHEME in label))
        for index, (session_id, (first, *further)) in enumerate(labels.items())
    )


def read_references(values: Iterable[object]) -> Iterator[Reference]:
    """References from JSON values `{sessionId, label?}`, one by one. An absent label is the id.

    Raises `RpcError` (`INVALID_REFERENCE`) at the first value of another shape.
    """
    for index, value in enumerate(values):
        session_id = value.get("sessionId") if isinstance(value, dict) else None
        label = value.get("label", session_id) if isinstance(value, dict) else None
        if not isinstance(session_id, str) or not isinstance(label, str):
            raise RpcError(
                ErrorKind.INVALID_REFERENCE,
                "A reference is an object with a string sessionId and, perhaps, a string label.",
                field=f"references[{index}]",
                input_index=index,
            )
        yield Reference(session_id, label)


def invalid_mention(error: MalformedMention, *, field: str | None = None) -> RpcError:
    """A malformed mention as an error that shows it and where it stands in the text `field`."""
    return RpcError(
        ErrorKind.INVALID_REFERENCE,
        f"Malformed mention: {quote_for_error(error.mention)}",
        field=field,
        start=error.start,
        end=error.end,
    )


def _without_self(agent_id: str, references: Iterable[Reference]) -> Iterator[Reference]:
    for index, reference in enumerate(references):
        if reference.session_id == agent_id:
            raise RpcError(
                ErrorKind.SELF_REFERENCE,
                "A session cannot refer to itself.",
                session_id=agent_id,
                input_index=index,
            )
        yield reference
