"""One frozen configuration and the one table of limits, read once and passed explicitly.

Nothing here reads session files or knows the wire. Sources: the contract, section 6 (the command,
`config`, rule 9) and the log format, section 8 (where a DSH home is).
"""

import os
import sys
from collections.abc import Mapping
from typing import Final, Literal, TypeVar

import msgspec

KIB: Final = 1024
MIB: Final = 1024 * KIB

_Ordered = TypeVar("_Ordered", int, bool)

FramingMode = Literal["auto", "line", "content-length"]
PolicyName = Literal["native", "never-block"]
LogLevel = Literal["debug", "info", "warning", "error"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Every bound of the program, in one place; `initialize` answers with this table."""

    max_line_bytes: int = 64 * MIB
    """One frame on the wire, in bytes without its line feed."""
    max_requests_in_flight: int = 1024
    max_queued_output_bytes: int = 256 * MIB
    eof_drain_seconds: int = 30
    """How long requests in flight may go on after the end of the input."""
    max_record_bytes: int = 64 * MIB
    """One line of a session log, decompressed."""
    max_record_tokens: int = 512 * KIB
    """Strings, containers and commas in a record of more than 1 MiB."""
    max_odd_record_bytes: int = 8 * MIB
    """A record of a shape that is not quite as it should be, or not known."""
    max_read_seconds: int = 6
    """Of a processor, for reading one log once."""
    max_session_bytes: int = 80 * MIB
    """What is kept in memory of one session: the texts of its surface, and some for each node."""
    max_title_bytes: int = 64 * KIB
    """JSON of a title, or of what a sub-agent is called; a longer one counts as absent."""
    max_zstd_window_bytes: int = 128 * MIB
    max_header_bytes: int = 1 * MIB
    """The first line of a session log; real ones have some hundred bytes."""
    max_line_nesting: int = 768
    """Depth of JSON in the params of a request, whatever they hold."""
    max_nesting: int = 512
    """Depth of JSON that is promised to be read, wherever we look."""
    host_answer_seconds: int = 30
    """How long the host gets to answer a request of ours."""
    max_page_bytes: int = 256 * KIB
    """JSON of the messages in one page of a session."""
    max_concurrent_reads: int = 8
    """Blocking reads that run at one time, in worker threads."""
    max_abandoned_reads: int = 32
    """Reads that were cancelled and have not come back; beyond it new reads are refused."""


LIMITS: Final = Limits()

MAX_REFERENCES: Final = 3
DEFAULT_REFERENCE_BYTES: Final = 65_536
DEFAULT_CANDIDATES: Final = 50


Workspaces = frozenset[str] | Literal["same"]
"""Folders, any of which may be a session's workspace; or the agent's own."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions that may be known of. By default all."""

    workspaces: tuple[Workspaces, ...] = ()
    """All of these must hold: each ceiling and the request add one at most."""
    archived: bool = True
    subagents: bool = True
    deny: frozenset[str] = frozenset()

    def narrowed(self, other: "Scope") -> "Scope":
        """The sessions that are in both scopes."""
        return Scope(
            workspaces=tuple(dict.fromkeys((*self.workspaces, *other.workspaces))),
            archived=self.archived and other.archived,
            subagents=self.subagents and other.subagents,
            deny=self.deny | other.deny,
        )

    @property
    def asks_for_header(self) -> bool:
        """Whether an id alone does not decide."""
        return bool(self.workspaces) or not self.archived or not self.subagents


EVERYTHING: Final = Scope()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What flags, `initialize` and a request may each set. None means unset."""

    max_references: int | None = None
    max_reference_bytes: int | None = None
    candidate_limit: int | None = None
    enabled: bool | None = None
    salvage: bool | None = None
    context_window: int | None = None
    """Tokens that the model takes."""
    omissions: bool | None = None
    renamed_roots: Mapping[str, str] | None = None
    scope: Scope = EVERYTHING
    """What may be known of at all."""

    def stricter(self, other: "Settings") -> "Settings":
        """Both together: for each value the stricter one wins; renamed roots add up."""
        return Settings(
            max_references=_lower(self.max_references, other.max_references),
            max_reference_bytes=_lower(self.max_reference_bytes, other.max_reference_bytes),
            candidate_limit=_lower(self.candidate_limit, other.candidate_limit),
            enabled=_lower(self.enabled, other.enabled),
            salvage=_lower(self.salvage, other.salvage),
            context_window=_lower(self.context_window, other.context_window),
            omissions=_lower(self.omissions, other.omissions),
            renamed_roots={**(self.renamed_roots or {}), **(other.renamed_roots or {})},
            scope=self.scope.narrowed(other.scope),
        )

    @property
    def is_enabled(self) -> bool:
        """False only where somebody said so."""
        return self.enabled is not False

    @property
    def references(self) -> int:
        """How many distinct sources one message may refer to."""
        return self.max_references or MAX_REFERENCES

    @property
    def reference_bytes(self) -> int:
        """The byte budget of one source.

        Where none is given, a fifth of the model's context at four bytes a token, but never less
        than by default (log format, section 7).
        """
        if self.max_reference_bytes is not None:
            return self.max_reference_bytes
        return max(DEFAULT_REFERENCE_BYTES, (self.context_window or 0) * 4 // 5)

    def candidates(self, limit: int | None, ceiling: "Settings") -> int:
        """How many candidates to answer.

        A request's own `limit` wins over the `candidateLimit` beside it, which is only what holds
        where no limit is given (as in the defining system); the ceiling bounds both.
        """
        asked = limit or self.candidate_limit or DEFAULT_CANDIDATES
        return asked if ceiling.candidate_limit is None else min(asked, ceiling.candidate_limit)


def _lower(one: _Ordered | None, other: _Ordered | None) -> _Ordered | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the command line and the environment decide."""

    roots: tuple[str, ...]
    settings: Settings = Settings()
    policy: PolicyName = "native"
    framing: FramingMode = "auto"
    log_level: LogLevel = "warning"
    log_file: str | None = None
    cache_folder: str | None = None
    """Where the index of sessions is kept. None: in memory only."""
    index_previews: bool = False
    """The first words of sessions are kept and shown, too."""
    limits: Limits = LIMITS


def default_cache_folder(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """Where this program keeps what it can make again: where the system has such things."""
    given = environ.get("SESSIONREF_CACHE_DIR")
    if given:
        return os.path.abspath(given)
    if platform == "win32":
        local = environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return os.path.join(local, "sessionref", "Cache")
    shared = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(shared):
        own = ("Library", "Caches") if platform == "darwin" else (".cache",)
        shared = os.path.join(os.path.expanduser("~"), *own)
    return os.path.join(shared, "sessionref")


def default_root(environ: Mapping[str, str]) -> str:
    """Where DSH keeps its sessions: `$DSH_HOME/sessions`, else `~/.dsh/sessions`."""
    home = environ.get("DSH_HOME", "").strip() or os.path.join("~", ".dsh")
    return os.path.join(os.path.expanduser(home), "sessions")
