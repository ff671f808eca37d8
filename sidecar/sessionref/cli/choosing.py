"""Which session is meant by what a person wrote, and the list that they choose from.

Asks what a host would ask, again and again where the answer is still incomplete, but never for
ever: a disk may hang.
"""

from typing import Final, NamedTuple

import anyio
import msgspec

from sessionref.resolver import Label
from sessionref_protocol import ecmascript, mention, types
from sessionref_protocol.errors import ErrorKind, RpcError

from .wiring import Parts, call

_PAUSE_SECONDS: Final = 0.05
"""Between two questions: the answer to the first may have come at once, for all that it lacks."""


class Choice(NamedTuple):
    """The session that is meant, and how many others would have matched as well."""

    label: Label
    others: int = 0


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
    while (left := int((until - anyio.current_time()) * 1000)) > 0:
        asked = msgspec.structs.replace(params, deadline_ms=left)
        try:
            found = await parts.handlers.list_candidates(asked, call())
        except RpcError as error:
            if error.kind is not ErrorKind.TIMED_OUT:
                raise
        if not found.is_incomplete:
            break
        await anyio.sleep(_PAUSE_SECONDS)
    return found


async def choose(parts: Parts, agent: types.Agent, text: str, seconds: int) -> Choice:
    """The session that has this id, or that this mention refers to, else the first that is found.

    Raises `RpcError`: there is none, or that is not known after so many seconds.
    """
    session_id = as_written(text).session_id
    try:
        return Choice(await parts.handlers.label(agent, session_id, None))
    except RpcError as error:
        if error.cause != "not_found" or session_id != text:
            raise
    params = types.ListCandidatesParams(agent=agent, query=text, limit=1, affinity="resolved")
    return await _first(parts, params, seconds)


async def last(parts: Parts, agent: types.Agent, seconds: int) -> Choice:
    """The session begun last in the agent's folder, or where there is none, the best of the others.

    Nobody means a sub-agent by that, or what was put away. Raises `RpcError` as `choose` does.
    """
    params = types.ListCandidatesParams(
        agent=agent,
        limit=1,
        include=types.Include(subagents=False, archived=False),
        affinity="resolved",
    )
    return Choice((await _first(parts, params, seconds)).label)


async def _first(parts: Parts, params: types.ListCandidatesParams, seconds: int) -> Choice:
    found = await listed(parts, params, seconds)
    if found.is_incomplete:
        raise late(seconds)
    if not found.candidates:
        raise RpcError(ErrorKind.READ_FAILED, "there is no such session", cause="not_found")
    label = await parts.handlers.label(params.agent, found.candidates[0].session_id, None)
    return Choice(label, others=found.total - 1)


def late(seconds: int) -> RpcError:
    """The time is over, and who would be meant is not known."""
    return RpcError(ErrorKind.TIMED_OUT, too_late(seconds))


def too_late(seconds: int) -> str:
    """Why a list lacks something, in words."""
    return f"not every session could be read within {seconds} s; --wait N waits for N seconds"
