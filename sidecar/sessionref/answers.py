"""What operations answer, as the wire has it: domain values in, results of `types` out.

Only shapes are translated here; nothing is decided, read or waited for, except that the age of a
session needs a clock. Source: the contract, sections 5 and 6.
"""

import time
from collections.abc import Sequence

import msgspec

from sessionref_protocol import codec, types
from sessionref_protocol.errors import RpcError

from .reference import candidates, prestep, retention, transcript
from .reference.preview import Preview, Prospect, estimated_tokens, totals
from .resolver import PageOfSession
from .sessions.model import Degraded, RootState


def candidate(found: candidates.Candidate) -> types.Candidate:
    """A session that could be referred to."""
    entry, header = found.entry, found.entry.header
    return types.Candidate(
        session_id=found.session_id,
        label=found.label,
        created_at=found.created_at,
        mention=found.mention,
        display=types.Display(label=found.display.label, cwd=found.display.cwd),
        cwd=found.cwd,
        display_title=found.display_title,
        same_workspace=found.same_workspace,
        format_version=header.version,
        origin=header.origin,
        parent_session=header.parent_session,
        delegation_depth=header.delegation_depth,
        agent_preset=header.agent_preset,
        archived=entry.archived,
        live=entry.live,
        persisted=entry.persisted,
        running=entry.running,
        degraded=_degraded(found.degraded),
        preview=found.preview,
    )


def outcome(found: prestep.Outcome) -> types.Outcome:
    """What became of a message."""
    return types.Outcome(
        message_index=found.message_index,
        message_id=found.message_id,
        status=found.status,
        context_id=found.context_id,
        references=[_reference_outcome(reference) for reference in found.references],
        error=None if found.error is None else codec.error_object(found.error),
    )


def preview(found: Preview) -> types.PreviewResult:
    """What would become of references."""
    now = int(time.time() * 1000)
    return types.PreviewResult(
        sources=[_source(prospect, now) for prospect in found.prospects],
        totals=msgspec.convert(totals(found.prospects), types.PreviewTotals, from_attributes=True),
        errors=[codec.error_object(error) for error in found.errors],
    )


def page(session_id: str, found: PageOfSession) -> types.ReadSnapshotResult:
    """Some messages of a session."""
    return types.ReadSnapshotResult(
        session_id=session_id,
        items=[
            types.SnapshotItem(
                role=part.role,
                text=part.text,
                checkpoint=part.checkpoint,
                continues=part.continues,
            )
            for part in found.page.parts
        ],
        captured_through_seq=found.reading.captured_through_seq,
        captured_format_version=found.reading.header.version,
        next_offset=found.page.next_offset,
        degraded=_degraded(found.reading.degraded),
    )


def described(found: Sequence[transcript.Described]) -> types.DescribeTranscriptResult:
    """The recall messages of a transcript."""
    return types.DescribeTranscriptResult(
        recalls=[
            types.DescribedRecall(
                recall_index=each.recall_index,
                message_index=each.message_index,
                placement=each.placement,
                references=[
                    types.DescribedReference(
                        session_id=recalled.wanted.session_id,
                        label=recalled.wanted.label,
                        input_index=recalled.wanted.input_index,
                        line=transcript.line(recalled),
                        stats=_stats(recalled.stats),
                        degraded=_degraded(recalled.degraded),
                    )
                    for recalled in each.recall.references
                ],
            )
            for each in found
        ]
    )


def roots(states: Sequence[RootState]) -> list[types.Root]:
    """The session roots."""
    return [
        types.Root(
            path=root.path,
            sessions=root.sessions,
            strangers=root.strangers,
            problem=root.problem,
        )
        for root in states
    ]


def _reference_outcome(reference: prestep.ReferenceOutcome) -> types.ReferenceOutcome:
    return types.ReferenceOutcome(
        session_id=reference.session_id,
        label=reference.label,
        input_index=reference.input_index,
        status=reference.status,
        stats=_stats(reference.stats),
        error=None if reference.error is None else codec.error_object(reference.error),
        degraded=_degraded(reference.degraded),
    )


def _source(prospect: Prospect, now: int) -> types.SourcePreview:
    wanted, result = prospect.wanted, prospect.result
    if isinstance(result, RpcError):
        return types.SourcePreview(
            session_id=wanted.session_id,
            label=wanted.label,
            input_index=wanted.input_index,
            status="failed",
            error=codec.error_object(result),
        )
    return types.SourcePreview(
        session_id=wanted.session_id,
        label=wanted.label,
        input_index=wanted.input_index,
        status=prestep.status_of(result.stats),
        stats=_stats(result.stats),
        bytes=prospect.bytes,
        estimated_tokens=estimated_tokens(prospect.bytes),
        created_at=result.created_at,
        age_ms=max(0, now - result.created_at),
        last_activity_at=result.last_activity_at,
        captured_through_seq=result.captured_through_seq,
        captured_format_version=result.captured_format_version,
        degraded=_degraded(result.degraded),
        stale=prospect.stale,
    )


def _stats(stats: retention.Stats | None) -> types.Stats | None:
    return None if stats is None else msgspec.convert(stats, types.Stats, from_attributes=True)


def _degraded(degraded: Degraded | None) -> types.Degraded | None:
    if degraded is None:
        return None
    return msgspec.convert(degraded, types.Degraded, from_attributes=True)
