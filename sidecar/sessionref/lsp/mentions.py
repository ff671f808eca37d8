"""The mentions of a message that is being written, and what is the matter with them.

Pure. What of a document is the message is decided elsewhere.
Source: issue "`@` completion in every editor", 3.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from lsprotocol import types as lsp

from sessionref.reference.expansion import message_of
from sessionref_protocol import types
from sessionref_protocol.ecmascript import encode
from sessionref_protocol.errors import ErrorKind
from sessionref_protocol.mention import Hit, quote_for_error, scan

from .documents import Document
from .settings import SECTION


def mentions_of(document: Document) -> tuple[Hit, ...]:
    """Every mention of the message, malformed ones included."""
    return tuple(scan(message_of(document.source)))


def references(hits: Sequence[Hit]) -> list[msgspec.Raw]:
    """What well-formed mentions refer to, as requests take it."""
    return [
        msgspec.Raw(encode({"sessionId": hit.session_id, "label": _label(hit, hit.session_id)}))
        for hit in hits
        if hit.session_id is not None
    ]


def _label(hit: Hit, session_id: str) -> str:
    return session_id if hit.label is None else hit.label


def mention_at(document: Document, position: lsp.Position) -> Hit | None:
    """The mention that a position is in."""
    offset = document.offset_at_position(position)
    return next((hit for hit in mentions_of(document) if hit.start <= offset <= hit.end), None)


def mentions_in(document: Document, range_: lsp.Range) -> list[Hit]:
    """The mentions that a range touches."""
    start = document.offset_at_position(range_.start)
    end = document.offset_at_position(range_.end)
    return [hit for hit in mentions_of(document) if hit.start <= end and start <= hit.end]


class Judged(msgspec.Struct, frozen=True):
    """A mention and what is the matter with it."""

    hit: Hit
    diagnostic: lsp.Diagnostic


def judge(
    document: Document, hits: Sequence[Hit], sources: Mapping[str, types.SourcePreview]
) -> Iterator[Judged]:
    """Those mentions that something is the matter with. `sources` is by session id."""
    for hit in hits:
        found = _malformed(document, hit) if hit.session_id is None else _fault(sources, hit)
        if found is not None:
            severity, code, message = found
            diagnostic = lsp.Diagnostic(
                range=document.range(hit.start, hit.end),
                message=message,
                severity=severity,
                code=code,
                source=SECTION,
            )
            yield Judged(hit, diagnostic)


_Fault = tuple[lsp.DiagnosticSeverity, str | None, str]


def _malformed(document: Document, hit: Hit) -> _Fault:
    code = ErrorKind.INVALID_REFERENCE.value.name
    return lsp.DiagnosticSeverity.Error, code, malformed(document, hit)


def malformed(document: Document, hit: Hit) -> str:
    """What is wrong with a mention that refers to nothing."""
    return f"Malformed mention: {quote_for_error(document.source[hit.start : hit.end])}"


def _fault(sources: Mapping[str, types.SourcePreview], hit: Hit) -> _Fault | None:
    source = sources.get(hit.session_id or "")
    if source is None:
        return None
    if source.error is not None:
        code = source.error.data.code
        return lsp.DiagnosticSeverity.Error, code, source.error.message
    if source.degraded is not None:
        reason = source.degraded.reason
        return lsp.DiagnosticSeverity.Warning, reason, _DEGRADED[reason]
    return None


_DEGRADED = {
    "unknown_events": "The session holds events of a kind that is not known here; "
    "a snapshot may lack something.",
    "newer_format": "The session's log has a newer format than is known here; "
    "a snapshot may lack something.",
    "damaged": "The session's log is damaged; a snapshot ends before the damage.",
}
