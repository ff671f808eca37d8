"""Params and results of every method, and what the shell's commands print with `--json`.

Declared once; the schemas are generated from here. Wire shapes only: nothing here knows what a
session is on disk or how an answer is made. Members that are only passed on, or that are checked
item by item with errors of their own, are `Raw`. Source of the shapes: the contract, sections 5
and 6. Within protocol version 1 fields are only added.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from .errors import Cause

PROTOCOL_VERSION: Final = 1

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer that every ECMAScript host can count to."""

Token = int | str
"""A cancellation or progress token: compared by type and value, so 1 is not "1"."""

PositiveInt = Annotated[int, Meta(ge=1, le=MAX_SAFE_INTEGER)]
Json = Annotated[Raw, Meta(description="Any JSON value, passed on as it is.")]


class _In(msgspec.Struct, rename="camel", frozen=True):
    """What a peer sends us: unknown fields are ignored."""


class _Out(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """What we send: absent fields are left out."""


class ScopeInput(_In, frozen=True, kw_only=True):
    """Which sessions may be known of at all. A request may only narrow what a ceiling says.

    A session out of scope is as one that does not exist: `not_found`, and in no list.
    """

    workspaces: list[str] | Literal["same"] | None = None
    """Only sessions whose folder is one of these (or, `same`, the agent's own), compared by what
    the folders are, as `affinity: resolved` does."""
    archived: bool | None = None
    """False: no archived ones."""
    subagents: bool | None = None
    """False: none that another session started."""
    deny: list[str] | None = None
    """Ids of sessions that are never known of."""


class ConfigInput(_In, frozen=True, kw_only=True):
    """A configuration: of the flags, of `initialize`, or of one request. Null means unset.

    Flags and `initialize` set ceilings; a request may only be stricter.
    """

    max_references: Annotated[int, Meta(ge=1, le=3)] | None = None
    """How many distinct sources one message may refer to."""
    max_reference_bytes: PositiveInt | None = None
    """UTF-8 size of one source's serialized snapshot. Default 65536; see `contextWindow`."""
    context_window: PositiveInt | None = None
    """Tokens that the model takes. Where `maxReferenceBytes` is unset, a source may take
    max(65536, floor(contextWindow * 4 * 0.2)) bytes."""
    omissions: bool | None = None
    """True: a section behind the snapshots tells the model what was omitted, where anything was."""
    candidate_limit: PositiveInt | None = None
    """How many candidates one answer holds. Default 50."""
    enabled: bool | None = None
    """False: messages pass untouched and no candidates are listed."""
    salvage: bool | None = None
    """True: a damaged log is answered from what precedes the damage, marked `degraded`."""
    scope: ScopeInput | None = None
    renamed_roots: dict[str, str] | None = None
    """Former workspace folders and what they are called today, for `affinity: resolved`."""


class Agent(_In, frozen=True, kw_only=True):
    """The agent whose session asks: its own id is never a candidate nor a source."""

    id: str
    cwd: str | None = None


class _Call(_In, frozen=True, kw_only=True):
    """What every request about sessions may carry."""

    config: ConfigInput | None = None
    cancellation_token: Token | None = None
    """Names this request, and any other with the same token, for `$/cancel`."""
    deadline_ms: PositiveInt | None = None
    """Milliseconds from receipt, after which the request answers -32802."""


class ClientInfo(_In, frozen=True, kw_only=True):
    """Who the host is, for the log."""

    name: str | None = None
    version: str | None = None


class HostCapabilities(_In, frozen=True, kw_only=True):
    """What the host can be asked for. Unknown members are ignored."""

    live_sessions: bool | None = None


class InitializeParams(_In, frozen=True, kw_only=True):
    """Optional on the line framing; then the first request, and sent once."""

    protocol_version: int
    client_info: ClientInfo | None = None
    capabilities: HostCapabilities | None = None
    config: ConfigInput | None = None


class ServerInfo(_Out, frozen=True, kw_only=True):
    """This program."""

    name: str
    version: str


class ServerCapabilities(_Out, frozen=True, kw_only=True):
    """What this program can be asked for."""

    methods: list[str]
    """Every method that a host may call."""
    policies: list[str]
    """The names that `preStep` takes as `policy`."""


class Limits(_Out, frozen=True, kw_only=True):
    """The bounds in force."""

    max_line_bytes: int
    max_requests_in_flight: int
    max_queued_output_bytes: int
    eof_drain_seconds: int
    max_record_bytes: int
    max_record_tokens: int
    max_odd_record_bytes: int
    max_read_seconds: int
    max_session_bytes: int
    max_title_bytes: int
    max_zstd_window_bytes: int
    max_header_bytes: int
    max_line_nesting: int
    max_nesting: int
    host_answer_seconds: int
    max_page_bytes: int
    max_concurrent_reads: int
    max_abandoned_reads: int


class Root(_Out, frozen=True, kw_only=True):
    """One session root."""

    path: str
    sessions: int | None = None
    """How many sessions it holds, where that is known."""
    strangers: int | None = None
    """Files and folders in it that are no logs: ignored, and only counted."""
    problem: str | None = None
    """Why it cannot be listed, in words."""


class InitializeResult(_Out, frozen=True, kw_only=True):
    """The answer to `initialize`. A host that can't speak this version decides what to do."""

    protocol_version: int
    server_info: ServerInfo
    capabilities: ServerCapabilities
    limits: Limits
    roots: list[Root]


class PolicyInput(_In, frozen=True, kw_only=True):
    """Where the context goes, and what a failing message does."""

    placement: Literal["after", "before"]
    on_failure: Literal["terminate", "passthrough", "skip"]
    """`terminate`: the request is answered with the error of the first failing message.
    `passthrough`: a failing message goes on untouched, without a context. `skip`: references that
    fail are left out, and the message goes on with a context of the others, if there are any; but
    a message with a malformed mention goes on untouched."""


class PreStepParams(_Call, frozen=True, kw_only=True):
    """The decision of the host's own listeners about the next step."""

    agent: Agent
    decision: Annotated[
        Raw,
        Meta(
            description="{kind: 'enter', messages: [...]} or {kind: 'reject', ...}; members "
            "that we do not know are passed on."
        ),
    ]
    policy: Literal["native", "never-block"] | PolicyInput | None = None
    """`native` is after + terminate, `never-block` is before + passthrough."""


class ErrorInfo(_Out, frozen=True, kw_only=True):
    """The `data` of an error."""

    retryable: bool
    code: str | None = None
    cause: str | None = None
    field: str | None = None
    session_id: str | None = None
    message_index: int | None = None
    input_index: int | None = None
    start: int | None = None
    end: int | None = None


class ErrorObject(_Out, frozen=True, kw_only=True):
    """A failure inside an answer, shaped like a JSON-RPC error."""

    code: int
    message: str
    data: ErrorInfo


class Stats(_Out, frozen=True, kw_only=True):
    """What fitting a source into its budget kept and dropped. Bytes are UTF-8 bytes of text."""

    compacted: bool
    original_messages: int
    retained_messages: int
    omitted_messages: int
    omitted_bytes: int
    truncated: bool


class Degraded(_Out, frozen=True, kw_only=True):
    """Why a reading is less than certain, although it could be made."""

    reason: Literal["unknown_events", "newer_format", "damaged"]
    count: int | None = None
    version: int | None = None
    through_seq: int | None = None


class ReferenceOutcome(_Out, frozen=True, kw_only=True):
    """What became of one referenced session."""

    session_id: str
    label: str
    input_index: int
    """Its place among the distinct sessions, in order of first appearance."""
    status: Literal["prepared", "empty", "failed"]
    stats: Stats | None = None
    error: ErrorObject | None = None
    degraded: Degraded | None = None


class Outcome(_Out, frozen=True, kw_only=True):
    """What became of one direct message that has a mention, or a malformed one."""

    message_index: int
    """Index in the decision's `messages`, as they were sent."""
    status: Literal["prepared", "empty", "failed", "already"]
    references: list[ReferenceOutcome]
    message_id: Annotated[Raw, Meta(description="The message's own id.")] | UnsetType = UNSET
    context_id: str | None = None
    """Id of the context message that was inserted."""
    error: ErrorObject | None = None
    """Why it has no context. Of references that were left out of one, each tells its own."""


class PreStepResult(_Out, frozen=True, kw_only=True):
    """The decision to go on with, and what became of each message with a mention."""

    decision: Json
    outcomes: list[Outcome]


class Include(_In, frozen=True, kw_only=True):
    """Which kinds of sessions are listed besides ordinary ones. All, where nothing is said."""

    subagents: bool | None = None
    archived: bool | None = None


class ListCandidatesParams(_Call, frozen=True, kw_only=True):
    """Which sessions could be referred to."""

    agent: Agent
    query: str | None = None
    """Kept are sessions whose id, cwd or title contains it, letter case aside."""
    limit: PositiveInt | UnsetType = UNSET
    """At most this many; wins over `config.candidateLimit`, not over a ceiling. Not null."""
    include: Include | None = None
    workspace: Literal["any", "same"] | None = None
    """`same`: only sessions of the agent's own workspace. Default `any`."""
    affinity: Literal["recorded", "resolved"] | None = None
    """How workspaces are compared: by the recorded string (default), or by what the folder is:
    symbolic links, letter case, worktrees and renamed roots aside."""
    work_done_token: Token | None = None
    """Where given, `$/progress` notifications carry it."""


class Display(_Out, frozen=True, kw_only=True):
    """The same, safe to show: control, bidirectional and zero-width characters are escaped."""

    label: str
    cwd: str | None = None


class Candidate(_Out, frozen=True, kw_only=True):
    """One session that could be referred to. Every field but `display` is exact."""

    session_id: str
    label: str
    created_at: int
    """Milliseconds since the epoch."""
    mention: str
    """The text to insert."""
    display: Display
    cwd: str | None = None
    display_title: str
    """What people call it: a sub-agent by the name its parent gave it, else the label."""
    live: bool
    """The host holds it in memory."""
    persisted: bool
    """It has a log on disk."""
    same_workspace: bool
    """Whether it belongs to the agent's workspace, by the affinity asked for."""
    format_version: int
    """The generation of its log."""
    origin: str | None = None
    """`subagent` for a session that another one started."""
    parent_session: str | None = None
    delegation_depth: int | None = None
    agent_preset: str | None = None
    archived: bool | None = None
    """Whether it was put away, where its home says so."""
    running: bool | None = None
    """Whether its agent is at work, where the host tells."""
    degraded: Degraded | None = None
    """Set where the log holds more than this program knows how to read."""
    preview: str | None = None
    """The first words of its first prompt, safe to show; only with `--index-previews`."""


class ListCandidatesResult(_Out, frozen=True, kw_only=True):
    """Same cwd first, then no cwd, then others; newest first inside each."""

    candidates: list[Candidate]
    is_incomplete: bool
    """True only if something not read yet could change the answer."""
    total: int
    """Matches before the limit."""


class ReferenceInput(_In, frozen=True, kw_only=True):
    """One session to refer to. An absent label is the id; null is refused."""

    session_id: str
    label: str | UnsetType = UNSET


class PrepareParams(_Call, frozen=True, kw_only=True):
    """Content and the sessions that it refers to: all are read, or none."""

    agent: Agent
    content: Json
    references: list[Annotated[Raw, Meta(extra_json_schema={"$ref": "ReferenceInput.json"})]]


class PrepareResult(_Out, frozen=True, kw_only=True):
    """The content as it was given, and the context message to store beside it."""

    content: Json
    additional_context: (
        Annotated[Raw, Meta(description="A user message holding the snapshots.")] | UnsetType
    ) = UNSET


QUOTING: Final = (PreStepResult, PrepareResult)
"""Results that hold JSON of the host, which may have white space between its tokens."""


class ListLiveSessionsResult(_In, frozen=True, kw_only=True):
    """The sessions that the host holds in memory."""

    sessions: list[Annotated[Raw, Meta(extra_json_schema={"$ref": "LiveSessionHeader.json"})]]


class LiveSessionHeader(_In, frozen=True, kw_only=True):
    """The header of a session as its log has it, and what the host knows besides.

    A member of a wrong type counts as absent; a header without a good `id` and `createdAt` is no
    session.
    """

    id: str
    created_at: Annotated[int, Meta(ge=0)]
    """Milliseconds since the epoch."""
    version: int | None = None
    """The log format of its events. Default: the newest that this program knows."""
    cwd: str | None = None
    title: str | None = None
    """Its latest title. Where it is missing, the events are read for it."""
    running: bool | None = None
    """Whether its agent is at work."""
    origin: str | None = None
    parent_session: str | None = None
    delegation_depth: int | None = None
    agent_preset: str | None = None


class ReadLiveSessionParams(_Out, frozen=True, kw_only=True):
    """One page of a live session: the events after a seq, or its first ones."""

    session_id: str
    after_seq: int | None = None


class ReadLiveSessionResult(_In, frozen=True, kw_only=True):
    """A page of at most 8 MiB. Events that are not on the surface may be left out."""

    header: Annotated[Raw, Meta(extra_json_schema={"$ref": "LiveSessionHeader.json"})]
    events: list[Raw]
    """In the order of their seqs, shaped as in the log format of the header's version."""
    next_seq: int | None = None
    """Where there is more: the seq that the next page begins with, at the earliest."""


class SessionsChangedParams(_In, frozen=True, kw_only=True):
    """The host's live sessions are these now; or, without them, are to be asked for anew."""

    sessions: (
        list[Annotated[Raw, Meta(extra_json_schema={"$ref": "LiveSessionHeader.json"})]] | None
    ) = None


class PreviewReferenceInput(ReferenceInput, frozen=True, kw_only=True):
    """A reference, perhaps with what an earlier snapshot captured: `stale` compares with it."""

    captured_through_seq: int | UnsetType | None = UNSET
    """Of the earlier snapshot; null where that session had no events."""
    captured_format_version: int | UnsetType = UNSET
    """The format in which that seq counts. Absent: whichever."""


class PreviewParams(_Call, frozen=True, kw_only=True):
    """Either a text with mentions or references, not both."""

    agent: Agent
    text: str | None = None
    references: (
        list[Annotated[Raw, Meta(extra_json_schema={"$ref": "PreviewReferenceInput.json"})]] | None
    ) = None


class SourcePreview(_Out, frozen=True, kw_only=True):
    """One session as `prepare` would quote it at this moment, or why it would not."""

    session_id: str
    label: str
    input_index: int
    """Its place among the distinct sessions, in order of first appearance."""
    status: Literal["prepared", "empty", "failed"]
    """`failed` is what the policy `skip` would leave out; `error` says why."""
    stats: Stats | None = None
    bytes: int | None = None
    """UTF-8 size of its serialized snapshot."""
    estimated_tokens: int | None = None
    """ceil(bytes / 4): four bytes a token, whatever the model."""
    created_at: int | None = None
    """Milliseconds since the epoch."""
    age_ms: int | None = None
    """Milliseconds since then, by this machine's clock; never negative."""
    last_activity_at: int | None = None
    """Milliseconds since the epoch: the time of the last event in its log, if it tells one."""
    captured_through_seq: int | UnsetType | None = UNSET
    """The last seq, null for an empty log; absent where the source failed."""
    captured_format_version: int = 0
    degraded: Degraded | None = None
    stale: bool | None = None
    """Whether the session is another than at the `capturedThroughSeq` given for it, if any was."""
    error: ErrorObject | None = None


class PreviewTotals(_Out, frozen=True, kw_only=True):
    """The sums over the sources that are not `failed`."""

    sources: int
    bytes: int
    estimated_tokens: int
    original_messages: int
    retained_messages: int
    omitted_messages: int
    omitted_bytes: int


class PreviewResult(_Out, frozen=True, kw_only=True):
    """What `prepare` would do at this moment: numbers, and no word of any session."""

    sources: list[SourcePreview]
    """One for each distinct session; none where a mention or a reference is malformed."""
    totals: PreviewTotals
    errors: list[ErrorObject]
    """Empty where `prepare` would succeed. The first is what it would answer; the others are of
    sources that fail, too."""


class ReadSnapshotParams(_Call, frozen=True, kw_only=True):
    """A page of one session. What was captured is to be that of the page before, if given."""

    agent: Agent
    session_id: str
    offset: Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)] | None = None
    """How many items come before the page: 0, or the `nextOffset` of the page before."""
    limit: PositiveInt | None = None
    """At most this many items. The page is bounded in bytes as well, by `limits.maxPageBytes`."""
    captured_through_seq: int | UnsetType | None = UNSET
    """Where given and the session is another by now: READ_FAILED with cause `changed`."""
    captured_format_version: int | UnsetType = UNSET


class SnapshotItem(_Out, frozen=True, kw_only=True):
    """One message of the conversation, or a part of a long one."""

    role: Literal["user", "assistant"]
    text: str
    checkpoint: bool = False
    """True: a compaction wrote it in place of what it summarises."""
    continues: bool = False
    """True: the message goes on in the next item."""


class ReadSnapshotResult(_Out, frozen=True, kw_only=True):
    """What a snapshot would quote of the session if nothing had to be left out, page by page.

    It is another session's: untrusted, for people to look at, and not framed for a model.
    """

    session_id: str
    items: list[SnapshotItem]
    captured_through_seq: int | None
    """To be given with the next page, so that all pages are of one reading."""
    captured_format_version: int = 0
    next_offset: int | None = None
    """Where there is more: the offset of the next page."""
    degraded: Degraded | None = None


class DescribeTranscriptParams(_In, frozen=True, kw_only=True):
    """Messages as a host stored them, in order."""

    messages: list[Raw]


class DescribedReference(_Out, frozen=True, kw_only=True):
    """One source of a recall message, as far as the message says."""

    session_id: str
    label: str
    input_index: int
    line: str
    """For people, safe to show: `Fix login — 12 of 40 messages, 8.1 KB omitted`."""
    stats: Stats | None = None
    degraded: Degraded | None = None


class DescribedRecall(_Out, frozen=True, kw_only=True):
    """One recall message, to be shown as the lines of its references with its text folded away."""

    recall_index: int
    """Its place in `messages`."""
    references: list[DescribedReference]
    message_index: int | None = None
    """The direct message that it belongs to: the neighbour that has its labels, if one has."""
    placement: Literal["after", "before"] | None = None
    """Where it stands, seen from that message."""


class DescribeTranscriptResult(_Out, frozen=True, kw_only=True):
    """Every recall message of a transcript, in order."""

    recalls: list[DescribedRecall]


class ParseTextParams(_In, frozen=True, kw_only=True):
    """A text that may hold mentions."""

    text: str


class ParsedReference(_Out, frozen=True, kw_only=True):
    """One mention. Offsets are UTF-16 code units in the input."""

    session_id: str
    label: str
    start: int
    end: int


class ParseTextResult(_Out, frozen=True, kw_only=True):
    """The text with each mention replaced by `@label`, and the mentions in order."""

    text: str
    references: list[ParsedReference]


class FormatMentionParams(_In, frozen=True, kw_only=True):
    """The session to mention. An absent label is the id."""

    session_id: str
    label: str | None = None


class FormatMentionResult(_Out, frozen=True, kw_only=True):
    """The mention, and the bare URI."""

    mention: str
    uri: str


class EmptyParams(_In, frozen=True, kw_only=True):
    """No parameters."""


class IndexState(_Out, frozen=True, kw_only=True):
    """What is remembered of sessions between reads."""

    state: Literal["disk", "memory"]
    """`disk`: in a file, too, for the next process; `memory`: as long as this one lives."""
    sessions: int
    """How many there were when it was last looked."""
    folded: int
    """Of how many is known what is in them, titles for example."""
    pending: int
    """Of how many that is to be found out, in the background or when it is asked for."""
    path: str | None = None
    """The file, where there is one."""


class StatusResult(_Out, frozen=True, kw_only=True):
    """How the process is."""

    version: str
    uptime_ms: int
    requests_in_flight: int
    """This request not counted."""
    queued_output_bytes: int
    abandoned_reads: int
    """Cancelled reads that have not come back."""
    roots: list[Root]
    index: IndexState


class CancelRequestParams(_In, frozen=True, kw_only=True):
    """Cancels the request with this id."""

    id: Token


class CancelParams(_In, frozen=True, kw_only=True):
    """Cancels every request in flight that carries this `cancellationToken`."""

    token: Token


class ProgressValue(_Out, frozen=True, kw_only=True):
    """How far a long request is."""

    kind: Literal["begin", "report", "end"]
    message: str | None = None
    done: int | None = None
    total: int | None = None


class ProgressParams(_Out, frozen=True, kw_only=True):
    """Sent for requests with a `workDoneToken`."""

    token: Token
    value: ProgressValue


class DoctorRoot(_Out, frozen=True, kw_only=True):
    """What `sessionref doctor` found in one root. Counted are sessions, but for strangers."""

    path: str
    sessions: int
    """All of which the id is known, those that can't be read included."""
    unreadable: int
    generations: dict[str, int]
    """By the generation of their log, `v0` and so on; only where the header can be read."""
    encodings: dict[str, int]
    """By how their log is stored, `zstd` or `none`; only where the header can be read."""
    titled: int
    subagents: int
    degraded: int
    strangers: int
    """Files and folders in it that are no logs."""
    archived: int | None = None
    """Left out where the home keeps no account of it."""
    problem: str | None = None
    """Why it cannot be listed, in words. One that is missing counts as empty."""


class DoctorProblem(_Out, frozen=True, kw_only=True):
    """A session that can't be read, or a folder of sessions that can't be listed."""

    root: str
    files: list[str]
    """The file or folder; of a conflict every log that claims to be the session."""
    cause: Cause
    reason: str
    """What is wrong, in words."""
    advice: str
    """What to do about it, in words."""
    session_id: str | None = None
    """Left out where it is not known."""


class DoctorNote(_Out, frozen=True, kw_only=True):
    """Something that keeps no session from being read, and is yet worth knowing."""

    root: str
    files: list[str]
    reason: str
    """In words."""
    session_id: str
    degraded: Degraded | None = None
    """Set where the session is read with less than certainty."""


class DoctorReport(_Out, frozen=True, kw_only=True):
    """What `sessionref doctor --json` prints. It exits with 1 if there are problems."""

    roots: list[DoctorRoot]
    problems: list[DoctorProblem]
    notes: list[DoctorNote]


class ShowReport(_Out, frozen=True, kw_only=True):
    """What `sessionref show ID --json` prints."""

    additional_context: Annotated[
        Raw, Meta(description="The user message that holds the snapshot, as `prepare` has it.")
    ]
    stats: Stats
    degraded: Degraded | None = None


class MentionReport(_Out, frozen=True, kw_only=True):
    """What `sessionref mention --json` prints."""

    session_id: str
    label: str
    """The title, else the name of the workspace's folder, else the id."""
    mention: str
    """The text that refers to the session."""
    uri: str
