"""What preparing references would come to, without a message and without a word of a session.

Pure. Takes the very results that a context would be made of, so that both say the same. Knows
nothing of clocks or of reading. Source of the rule: the contract, sections 4 and 5 (`prepare`).
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sessionref_protocol.ecmascript import utf8_length
from sessionref_protocol.errors import ErrorKind, RpcError

from .references import Sifted, Wanted
from .retention import Count, Stats
from .snapshot import Snapshot


class Captured(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How far an earlier snapshot of a session went."""

    captured_through_seq: Count | None
    captured_format_version: Count | None = None
    """The format in which that seq counts, where it is known: a new format may count anew."""

    def is_stale(self, through_seq: int | None, format_version: int) -> bool:
        """Whether a log that now ends at `through_seq` has moved on since."""
        return self.captured_through_seq != through_seq or (
            self.captured_format_version not in (None, format_version)
        )


class Prospect(msgspec.Struct, frozen=True, kw_only=True):
    """One source as it would be prepared, or why it would not."""

    wanted: Wanted
    result: Snapshot | RpcError
    stale: bool | None = None
    """Whether it is another than an earlier snapshot, where one was given to compare."""

    @property
    def bytes(self) -> int:
        """UTF-8 bytes of its serialized snapshot; 0 where there would be none."""
        return 0 if isinstance(self.result, RpcError) else utf8_length(self.result.json)


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The sum over the sources that can be prepared."""

    sources: int
    bytes: int
    estimated_tokens: int
    original_messages: int
    retained_messages: int
    omitted_messages: int
    omitted_bytes: int


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of all references."""

    prospects: tuple[Prospect, ...] = ()
    """In the order of their sessions."""
    errors: tuple[RpcError, ...] = ()
    """Why a `prepare` would fail: the first is what it would answer."""


def estimated_tokens(size: int) -> int:
    """How many tokens so many bytes are likely to be: four bytes each, rounded up."""
    return -(-size // 4)


def preview(
    sifted: Sifted, results: Sequence[Snapshot | RpcError], captured: Mapping[str, Captured]
) -> Preview:
    """One prospect for each distinct session, read or not.

    `results` has one result per wanted session, in their order; `captured` has earlier snapshots,
    by session id.
    """
    found: list[tuple[Wanted, Snapshot | RpcError]] = [
        *zip(sifted.wanted, results, strict=True),
        *((each.wanted, each.error) for each in sifted.left_out),
    ]
    failures = [result for result in results if isinstance(result, RpcError)]
    return Preview(
        prospects=tuple(
            Prospect(wanted=wanted, result=result, stale=_is_stale(wanted, result, captured))
            for wanted, result in sorted(found, key=lambda each: each[0].input_index)
        ),
        errors=tuple(failures) if sifted.error is None else (sifted.error,),
    )


def totals(prospects: Iterable[Prospect]) -> Totals:
    """What the prepared sources come to together."""
    sizes: list[int] = []
    kept: list[Stats] = []
    for prospect in prospects:
        if isinstance(prospect.result, Snapshot):
            sizes.append(prospect.bytes)
            kept.append(prospect.result.stats)
    return Totals(
        sources=len(kept),
        bytes=sum(sizes),
        estimated_tokens=sum(map(estimated_tokens, sizes)),
        original_messages=sum(stats.original_messages for stats in kept),
        retained_messages=sum(stats.retained_messages for stats in kept),
        omitted_messages=sum(stats.omitted_messages for stats in kept),
        omitted_bytes=sum(stats.omitted_bytes for stats in kept),
    )


def read_captured(values: Iterable[object]) -> dict[str, Captured]:
    """Earlier snapshots, by session id, of those references that tell one; the first counts.

    Values of another shape than a reference's are somebody else's fault to find. Raises `RpcError`
    (`INVALID_PARAMS`) where a reference is one and what it captured is no seq.
    """
    captured: dict[str, Captured] = {}
    for index, value in enumerate(values):
        if not isinstance(value, dict) or "capturedThroughSeq" not in value:
            continue
        session_id = value.get("sessionId")
        try:
            told = msgspec.convert(value, Captured)
        except msgspec.ValidationError:
            raise RpcError(
                ErrorKind.INVALID_PARAMS,
                "What was captured is a seq or null, and perhaps a format version.",
                field=f"references[{index}].capturedThroughSeq",
            ) from None
        if isinstance(session_id, str):
            captured.setdefault(session_id, told)
    return captured


def _is_stale(
    wanted: Wanted, result: Snapshot | RpcError, captured: Mapping[str, Captured]
) -> bool | None:
    earlier = captured.get(wanted.session_id)
    if earlier is None or isinstance(result, RpcError):
        return None
    return earlier.is_stale(result.captured_through_seq, result.captured_format_version)
