"""Where in a text something stands, as people and their editors count: lines and columns from 1.

Pure. Lines end at line feeds, columns count characters. Which mention a failure is about is told
by the error that preStep gives, as far as it does.
"""

from collections.abc import Sequence

from sessionref_protocol import types
from sessionref_protocol.errors import ErrorKind
from sessionref_protocol.mention import Hit, quote_for_error, scan


def place(text: str, index: int) -> str:
    """The place of a character in a text, in words."""
    line_start = text.rfind("\n", 0, index) + 1
    line = text.count("\n", 0, line_start) + 1
    return f"line {line}, column {index - line_start + 1}"


def explained(error: types.ErrorObject, text: str, max_references: int) -> str:
    """What is wrong with a message, after the place and the mention that it is about.

    `max_references`: of how many sessions the message could have had snapshots.
    """
    hits = list(scan(text))
    hit = _hit(error, hits, max_references)
    if hit is None:
        return error.message
    where = place(text, hit.start)
    if hit.session_id is None:  # then the message quotes it
        return f"{where}: {error.message}"
    return f"{where}: {quote_for_error(text[hit.start : hit.end])}: {error.message}"


def _hit(error: types.ErrorObject, hits: Sequence[Hit], max_references: int) -> Hit | None:
    """The first mention that has this fault."""
    name, session_id = error.data.code, error.data.session_id
    if name == ErrorKind.INVALID_REFERENCE.value.name:
        return next((hit for hit in hits if hit.session_id is None), None)
    if session_id is not None:
        return next((hit for hit in hits if hit.session_id == session_id), None)
    if name != ErrorKind.TOO_MANY.value.name:
        return None
    firsts: dict[str | None, Hit] = {}
    for hit in hits:
        firsts.setdefault(hit.session_id, hit)
    return list(firsts.values())[max_references]
