"""Which session is meant by what a person wrote, and the list that they choose from.

Asks what a host would ask, again and again where the answer is still incomplete, but never for
ever: a disk may hang.
"""

import anyio
import msgspec

from sessionref_protocol import ecmascript, mention, types
from sessionref_protocol.errors import ErrorKind, RpcError

from .wiring import Parts, call


def as_written(text: str) -> types.ReferenceInput:
    """The session that is meant: a text that is one mention and nothing else, or else an id."""
    pasted = text.strip()
    try:
        found = mention.parse(pasted).references
    except mention.MalformedMention:
        found = ()
    match found:
        case (only,) if only.start == 0 and only.end == ecmascript.utf16_length(pasted):
            return types.ReferenceInput(session_id=only.session_id, label=only.label)
    return types.ReferenceInput(session_id=text)


async def listed(
    parts: Parts, params: types.ListCandidatesParams, seconds: int
) -> types.ListCandidatesResult:
    """The list once nothing is missing from it, or what there is of it after so many seconds."""
    found = types.ListCandidatesResult(candidates=[], is_incomplete=True, total=0)
    until = anyio.current_time() + seconds
    while found.is_incomplete and (left := int((until - anyio.current_time()) * 1000)) > 0:
        asked = msgspec.structs.replace(params, deadline_ms=left)
        try:
            found = await parts.handlers.list_candidates(asked, call())
        except RpcError as error:
            if error.kind is not ErrorKind.TIMED_OUT:
                raise
    return found


def too_late(seconds: int) -> str:
    """Why a list lacks something, in words."""
    return f"not every session could be read within {seconds} s; --wait N waits for N seconds"
