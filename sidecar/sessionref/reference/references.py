"""Which sessions a message or a request refers to, checked before anything is read.

Pure. The checks run item by item, so the first fault in the order of the input is the one that is
answered; only the number of sources is judged at the end. Knows nothing of how a session is read,
and of policies only that some go on without the references at fault. Source of the rule: the
contract, section 5 (`prepare`).
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


class LeftOut(msgspec.Struct, frozen=True):
    """One session that is not to be read, and why."""

    wanted: Wanted
    error: RpcError


class Sifted(msgspec.Struct, frozen=True, kw_only=True):
    """What was referred to, taken apart before anything is read."""

    wanted: tuple[Wanted, ...] = ()
    """The sessions that may be read, at most as many as are allowed."""
    left_out: tuple[LeftOut, ...] = ()
    """The agent's own session, which takes no place, and those beyond the limit."""
    error: RpcError | None = None
    """The first fault, for whoever wants all of them or none."""


def check_references(
    agent_id: str, references: Iterable[Reference], max_references: int
) -> tuple[Wanted, ...]:
    """The sessions to read. Raises `RpcError`: `SELF_REFERENCE`, then `TOO_MANY`.

    `references` may raise of its own while it is read; an earlier item's fault comes first.
    """
    sifted = sift(agent_id, references, max_references)
    if sifted.error is not None:
        raise sifted.error
    return sifted.wanted


def sift(agent_id: str, references: Iterable[Reference], max_references: int) -> Sifted:
    """The sessions to read, the others, and the first fault; raises nothing.

    Where `references` itself raises, nothing is known to be wanted.
    """
    read: list[Reference] = []
    own: RpcError | None = None
    try:
        for index, reference in enumerate(references):
            if own is None and reference.session_id == agent_id:
                own = _self_reference(agent_id, index)
            read.append(reference)
    except RpcError as fault:
        return Sifted(error=own or fault)
    sessions = distinct(read)
    others = [wanted for wanted in sessions if wanted.session_id != agent_id]
    excess = others[max_references:]
    return Sifted(
        wanted=tuple(others[:max_references]),
        left_out=(
            *(
                LeftOut(wanted, _self_reference(agent_id, wanted.input_index))
                for wanted in sessions
                if wanted.session_id == agent_id
            ),
            *(LeftOut(wanted, _beyond(wanted, len(others), max_references)) for wanted in excess),
        ),
        error=own or (_too_many(len(others), max_references) if excess else None),
    )


def distinct(references: Iterable[Reference]) -> tuple[Wanted, ...]:
    """Each session once, in order of first appearance and under its first label."""
    labels: dict[str, list[str]] = {}
    for reference in references:
        labels.setdefault(reference.session_id, []).append(reference.label)
    return tuple(
        Wanted(session_id, first, index, tuple(filter(may_be_taken, further)))
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


def may_be_taken(label: str) -> bool:
    """Whether the `@label` that a mention leaves behind could be taken for a mention."""
    return SCHEME in label


def _self_reference(agent_id: str, input_index: int) -> RpcError:
    return RpcError(
        ErrorKind.SELF_REFERENCE,
        "A session cannot refer to itself.",
        session_id=agent_id,
        input_index=input_index,
    )


def _too_many(number: int, max_references: int) -> RpcError:
    return RpcError(
        ErrorKind.TOO_MANY,
        f"{number} sessions are referred to, and at most {max_references} may be.",
    )


def _beyond(wanted: Wanted, number: int, max_references: int) -> RpcError:
    """The same, as the fault of one session beyond the limit."""
    error = _too_many(number, max_references)
    error.session_id, error.input_index = wanted.session_id, wanted.input_index
    return error
