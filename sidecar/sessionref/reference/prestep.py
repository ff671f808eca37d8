"""The step before a step: which messages need a context, and the decision with contexts in place.

Pure: `plan` says what to read, somebody reads, `assemble` puts the results together. Knows nothing
of sessions on disk, of time or of cancellation; whatever went wrong while reading comes in as an
error of its reference. Source of the rule: the contract, section 5 (`preStep`).
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessionref.sessions.model import Degraded
from sessionref_protocol.ecmascript import encode
from sessionref_protocol.errors import ErrorKind, RpcError
from sessionref_protocol.mention import SCHEME

from .message import (
    DirectMessage,
    Members,
    Mentions,
    direct_message,
    elements_of,
    find_mentions,
    has_mentions,
    may_spell,
    members_of,
    string_of,
    with_texts,
)
from .recall import RecallMessage, is_own, recall_message
from .references import LeftOut, Wanted, distinct, may_be_taken, sift
from .retention import Stats
from .snapshot import ContextMessage, Snapshot, context_message

Placement = Literal["after", "before"]
OnFailure = Literal["terminate", "passthrough", "skip"]


class Policy(msgspec.Struct, frozen=True):
    """Where a context goes, and what a failing message does to the request."""

    placement: Placement
    on_failure: OnFailure
    """`skip`: references that fail are left out, and the message goes on with the others."""

    @property
    def terminates(self) -> bool:
        """Whether the first failing message fails the request."""
        return self.on_failure == "terminate"

    @property
    def skips(self) -> bool:
        """Whether references that fail are left out of their message's context."""
        return self.on_failure == "skip"


NATIVE: Final = Policy("after", "terminate")
NEVER_BLOCK: Final = Policy("before", "passthrough")
POLICIES: Final[Mapping[str, Policy]] = {"native": NATIVE, "never-block": NEVER_BLOCK}


class ReferenceOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one referenced session.

    `failed` always says why, with the error of its message where it was never read. The others
    keep their own status, also in a failed message, so that the one at fault can be told.
    """

    session_id: str
    label: str
    input_index: int
    status: Literal["prepared", "empty", "failed"]
    stats: Stats | None = None
    error: RpcError | None = None
    degraded: Degraded | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one direct message that has a mention, or a malformed one."""

    message_index: int
    """Its place in the messages as they came in."""
    message_id: Raw | UnsetType
    status: Literal["prepared", "empty", "failed", "already"]
    """`empty`: none of its sources has a message to quote; its context is inserted nevertheless."""
    references: tuple[ReferenceOutcome, ...] = ()
    context_id: str | None = None
    error: RpcError | None = None
    """Why it has no context; what was left out of one is told by its reference."""


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A direct message whose sources are to be read."""

    message_index: int
    message_id: Raw | UnsetType
    wanted: tuple[Wanted, ...]
    left_out: tuple[LeftOut, ...]
    """References that fail without being read. None, unless the policy skips them."""
    rewritten: Raw
    """The message as it goes on with a context."""
    fallback: Raw
    """The message as it goes on without one."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision needs. Ends at the first message that is known to fail the request."""

    decision: Raw
    members: Members
    messages: Sequence[Raw]
    policy: Policy
    steps: Sequence[Pending | Outcome]

    @property
    def pending(self) -> tuple[Pending, ...]:
        """The messages for which `assemble` needs results."""
        return tuple(step for step in self.steps if isinstance(step, Pending))


class Assembled(msgspec.Struct, frozen=True):
    """The answer: the decision to go on with, and what became of each message with a mention."""

    decision: Raw
    outcomes: tuple[Outcome, ...]


def plan(decision: Raw, *, policy: Policy, agent_id: str, max_references: int) -> Plan:
    """Find the mentions of a decision, and everything that can be said before reading.

    A `reject` needs nothing. Raises `RpcError` (`INVALID_PARAMS`) for what is no decision.
    """
    members = members_of(decision)
    if members is None:
        raise _no_decision("decision", "an object")
    kind = string_of(members.get("kind"))
    if kind not in ("enter", "reject"):
        raise _no_decision("decision.kind", '"enter" or "reject"')
    messages = elements_of(members.get("messages")) if kind == "enter" else []
    if messages is None:
        raise _no_decision("decision.messages", "a list")
    steps: list[Pending | Outcome] = []
    for index in range(len(messages)):
        step = _step(messages, index, policy, agent_id, max_references)
        if step is None:
            continue
        steps.append(step)
        if policy.terminates and isinstance(step, Outcome) and step.error is not None:
            break
    return Plan(decision=decision, members=members, messages=messages, policy=policy, steps=steps)


def assemble(
    plan: Plan,
    results: Mapping[int, Sequence[Snapshot | RpcError]],
    *,
    omissions: bool = False,
) -> Assembled:
    """The decision with its contexts in place; the very same bytes where nothing changes.

    `results` has, for the message index of each pending message, one result per wanted session, in
    their order. An error among them belongs to that result alone: it is told its message here.
    `omissions` is as for a context message. Raises the `RpcError` of the first failing message
    where the policy says `terminate`.
    """
    outcomes: list[Outcome] = []
    settled: dict[int, tuple[Raw | ContextMessage, ...]] = {}
    for step in plan.steps:
        if isinstance(step, Pending):
            found = _found(step, results[step.message_index])
            context = _context(found, plan.policy, omissions=omissions)
            outcome = _outcome(step, found, context)
            if context is not None:
                settled[step.message_index] = step.rewritten, context
            elif step.fallback is not plan.messages[step.message_index]:
                settled[step.message_index] = (step.fallback,)
        else:
            outcome = step
        if plan.policy.terminates and outcome.error is not None:
            raise outcome.error
        outcomes.append(outcome)
    if not settled:
        return Assembled(plan.decision, tuple(outcomes))
    messages: list[Raw | ContextMessage] = []
    for index, message in enumerate(plan.messages):
        pair = settled.get(index, (message,))
        messages.extend(pair if plan.policy.placement == "after" else reversed(pair))
    return Assembled(Raw(encode({**plan.members, "messages": messages})), tuple(outcomes))


def _step(
    messages: Sequence[Raw], index: int, policy: Policy, agent_id: str, max_references: int
) -> Pending | Outcome | None:
    """What one message needs; None for one that is none of our business."""
    recall = _recall_beside(messages, index, policy)
    if recall is None and not may_spell(messages[index], SCHEME):
        return None
    message = direct_message(messages[index])
    if message is None:
        return None
    message_id = message.members.get("id", UNSET)
    found = _find(message, index)
    if recall is not None and is_own(recall, message):
        return _already(index, message_id, recall)
    if isinstance(found, RpcError):
        return _failed(index, message_id, found)
    if not found.references:
        return None
    sifted = sift(agent_id, found.references, max_references)
    if sifted.error is not None and not policy.skips:
        return _failed(index, message_id, sifted.error, distinct(found.references))
    rewritten = with_texts(message, found.texts)
    # A label may look like a mention. Without a context beside it, it would be taken for one later.
    stays_readable = policy.skips and not has_mentions(found.texts.values())
    return Pending(
        message_index=index,
        message_id=message_id,
        wanted=sifted.wanted,
        left_out=sifted.left_out,
        rewritten=rewritten,
        fallback=rewritten if stays_readable else messages[index],
    )


def _find(message: DirectMessage, index: int) -> Mentions | RpcError:
    try:
        return find_mentions(message)
    except RpcError as error:
        error.field = f"decision.messages[{index}].{error.field}"
        return error


def _recall_beside(messages: Sequence[Raw], index: int, policy: Policy) -> RecallMessage | None:
    beside = index + 1 if policy.placement == "after" else index - 1
    return recall_message(messages[beside]) if 0 <= beside < len(messages) else None


def _already(index: int, message_id: Raw | UnsetType, recall: RecallMessage) -> Outcome:
    return Outcome(
        message_index=index,
        message_id=message_id,
        status="already",
        references=tuple(
            _reference(
                recalled.wanted,
                status_of(recalled.stats),
                stats=recalled.stats,
                degraded=recalled.degraded,
            )
            for recalled in recall.references
        ),
        context_id=recall.id,
    )


def _failed(
    index: int, message_id: Raw | UnsetType, error: RpcError, unread: Sequence[Wanted] = ()
) -> Outcome:
    """A message that failed before anything was read."""
    error.message_index = index
    return Outcome(
        message_index=index,
        message_id=message_id,
        status="failed",
        references=tuple(_reference(wanted, "failed", error=error) for wanted in unread),
        error=error,
    )


_Found = tuple[Wanted, Snapshot | RpcError]
"""One reference of a message, and what came of it."""


def _found(step: Pending, results: Sequence[Snapshot | RpcError]) -> list[_Found]:
    """What came of every reference of a message, in the order of its sessions."""
    left_out: list[_Found] = [(each.wanted, each.error) for each in step.left_out]
    found = [*zip(step.wanted, results, strict=True), *left_out]
    for _, result in found:
        if isinstance(result, RpcError):
            result.message_index = step.message_index
    return sorted(found, key=lambda each: each[0].input_index)


def _context(found: Sequence[_Found], policy: Policy, *, omissions: bool) -> ContextMessage | None:
    """A context of all references; where the policy skips those that failed, of the others."""
    snapshots = [result for _, result in found if isinstance(result, Snapshot)]
    failed = [wanted for wanted, result in found if isinstance(result, RpcError)]
    if not snapshots or (failed and not policy.skips):
        return None
    labels = (label for wanted in failed for label in (wanted.label, *wanted.further_labels))
    return context_message(
        snapshots, omissions=omissions, left_out_labels=tuple(filter(may_be_taken, labels))
    )


def _outcome(step: Pending, found: Sequence[_Found], context: ContextMessage | None) -> Outcome:
    """What became of a message whose sources were read."""
    references = tuple(_settled(wanted, result) for wanted, result in found)
    errors = [result for _, result in found if isinstance(result, RpcError)]
    is_prepared = any(reference.status == "prepared" for reference in references)
    return Outcome(
        message_index=step.message_index,
        message_id=step.message_id,
        status="failed" if context is None else "prepared" if is_prepared else "empty",
        references=references,
        context_id=None if context is None else context.id,
        error=errors[0] if context is None else None,
    )


def _settled(wanted: Wanted, result: Snapshot | RpcError) -> ReferenceOutcome:
    if isinstance(result, RpcError):
        return _reference(wanted, "failed", error=result)
    return _reference(wanted, status_of(result.stats), stats=result.stats, degraded=result.degraded)


def _reference(
    wanted: Wanted,
    status: Literal["prepared", "empty", "failed"],
    *,
    stats: Stats | None = None,
    error: RpcError | None = None,
    degraded: Degraded | None = None,
) -> ReferenceOutcome:
    return ReferenceOutcome(
        session_id=wanted.session_id,
        label=wanted.label,
        input_index=wanted.input_index,
        status=status,
        stats=stats,
        error=error,
        degraded=degraded,
    )


def status_of(stats: Stats | None) -> Literal["prepared", "empty"]:
    """`empty` for a snapshot of no messages. Without stats there is nothing that says so."""
    return "empty" if stats is not None and stats.original_messages == 0 else "prepared"


def _no_decision(field: str, wanted: str) -> RpcError:
    return RpcError(ErrorKind.INVALID_PARAMS, f"`{field}` must be {wanted}.", field=field)
