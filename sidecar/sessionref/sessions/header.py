"""The first line of a log: who the session is, and whether the log lies where it says.

This module opens nothing and knows no events. Source: the contract, section 3 (header); the log
format, sections 1 and 2.
"""

import math
from typing import Final

import msgspec

from sessionref.config import LIMITS
from sessionref.sessions.model import Header, ReadError
from sessionref.sessions.paths import LogName, encode_segment, project_key
from sessionref.sessions.records import (
    BadRecordError,
    Members,
    NullRecordError,
    count,
    number,
    record_members,
    string,
)

MAX_HEADER_BYTES: Final = LIMITS.max_header_bytes
"""A first line longer than this is no header: real ones have some hundred bytes."""


class FirstLine(msgspec.Struct, frozen=True, gc=False):
    """The header of a log, and what is wrong with it although it could be read."""

    header: Header
    problem: ReadError | None


def read_header(line: bytes, name: LogName, project: str, folder: str) -> FirstLine:
    """The header in the first line of the log `name` in a session folder of a project folder.

    Fields that no snapshot depends on count as absent where they have a wrong type. Raises
    `ReadError` where the line is no header, or is that of a log in another place.
    """
    header, version = _parse(line)
    if not _lives_at(header, project, folder):
        reason = "the header names another place than that of its log"
        raise ReadError("corrupt", reason, claimed_id=header.id)
    if version != name.generation:
        reason = "the header has another format version than the name of its log"
        return FirstLine(header, ReadError("unsupported_format", reason))
    return FirstLine(header, None)


def _parse(line: bytes) -> tuple[Header, float]:
    try:
        members = record_members(line)
    except (BadRecordError, NullRecordError):
        raise ReadError("corrupt", "the first line is not a JSON object") from None
    session_id = string(members.get("id"))
    created_at = _created_at(members)
    version = _version(members)
    if string(members.get("type")) != "session" or session_id is None:
        raise ReadError("corrupt", "the first line is not the header of a session")
    if version is None or created_at is None:
        raise ReadError("corrupt", "the header has no valid version or time of creation")
    header = Header(
        id=session_id,
        created_at=created_at,
        version=math.floor(version),
        cwd=string(members.get("cwd")),
        origin=string(members.get("origin")),
        parent_session=string(members.get("parentSession")),
        delegation_depth=count(members.get("delegationDepth")),
        agent_preset=string(members.get("agentPreset")),
    )
    return header, version


def _created_at(members: Members) -> int | None:
    raw = members.get("createdAt", b"")
    return None if raw.startswith(b"-") else count(raw)  # `-0` is no time, though it equals 0


def _version(members: Members) -> float | None:
    value = number(members.get("version"))
    return value if value is not None and math.isfinite(value) else None


def _lives_at(header: Header, project: str, folder: str) -> bool:
    try:
        return encode_segment(header.id) == folder and project_key(header.cwd) == project
    except ValueError:  # an empty id or working directory lives nowhere
        return False
