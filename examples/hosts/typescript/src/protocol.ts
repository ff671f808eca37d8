// Made from schemas/ by scripts/generate.mjs. Do not edit: `npm run generate`.

export const PROTOCOL_VERSION = 1;

/** The codes of error answers. */
export const ErrorCode = {
  /** The line is not JSON, not UTF-8, or nested too deep. */
  PARSE: -32700,
  /** A bad envelope, a batch, a bad or reused id, or the wrong time. */
  INVALID_REQUEST: -32600,
  /** There is no such method. */
  METHOD_NOT_FOUND: -32601,
  /** A bad parameter; `data.field` names it. */
  INVALID_PARAMS: -32602,
  /** A bad candidate `limit`. */
  INVALID_LIMIT: -32602,
  /** Our fault. The traceback is in the log only. */
  INTERNAL: -32603,
  /** A bad value in a configuration. */
  INVALID_CONFIG: -32010,
  /** A malformed mention or reference. */
  INVALID_REFERENCE: -32011,
  /** A session cannot refer to itself. */
  SELF_REFERENCE: -32012,
  /** More sources than the limit allows. */
  TOO_MANY: -32013,
  /** One source could not be read; `data.cause` says why. */
  READ_FAILED: -32014,
  /** A source does not fit its byte budget even when its texts are emptied. */
  BUDGET_EXCEEDED: -32015,
  /** The request was cancelled by the host. */
  CANCELLED: -32800,
  /** A deadline passed, or we are shutting down. */
  TIMED_OUT: -32802,
  /** Too much is in flight or queued. */
  BUSY: -32000,
} as const;

/** What a host can ask the sidecar. */
export interface SidecarRequests {
  /** Agree on the protocol version and set ceilings. Optional on the line framing. */
  initialize: { params: InitializeParams; result: InitializeResult };
  /** Rewrite the mentions of the next step's messages and insert the snapshots. */
  preStep: { params: PreStepParams; result: PreStepResult };
  /** List the sessions that could be referred to, best first. */
  listCandidates: { params: ListCandidatesParams; result: ListCandidatesResult };
  /** Read the referenced sessions and make one context message of them. */
  prepare: { params: PrepareParams; result: PrepareResult };
  /** Say what `prepare` would keep, drop and answer, without a message or a word of a session. */
  preview: { params: PreviewParams; result: PreviewResult };
  /** Read what could be quoted of one session, in pages, to show it to people. */
  readSnapshot: { params: ReadSnapshotParams; result: ReadSnapshotResult };
  /** Tell which message each recall belongs to, and one line to show for each source. */
  describeTranscript: { params: DescribeTranscriptParams; result: DescribeTranscriptResult };
  /** Find the mentions in a text and make it readable. */
  parseText: { params: ParseTextParams; result: ParseTextResult };
  /** Write the mention of a session. */
  formatMention: { params: FormatMentionParams; result: FormatMentionResult };
  /** Say how the process and its roots are. */
  status: { params: EmptyParams; result: StatusResult };
  /** Settle what is in flight and refuse every later request. */
  shutdown: { params: EmptyParams; result: null };
}

/** What a host can tell the sidecar. */
export interface SidecarNotifications {
  /** End the process: with 0 after a shutdown, else with 1. */
  exit: { params: EmptyParams };
  /** Cancel one request by its id. */
  "$/cancelRequest": { params: CancelRequestParams };
  /** Cancel every request in flight that carries this `cancellationToken`. */
  "$/cancel": { params: CancelParams };
  /** Tell what the live sessions are now, so that nothing is asked until the next time. */
  "sessions/changed": { params: SessionsChangedParams };
}

/** What the sidecar can ask a host that said so in its capabilities. */
export interface HostRequests {
  /** Ask for the sessions in memory, of a host that declared `liveSessions`. */
  "host/listLiveSessions": { params: EmptyParams; result: ListLiveSessionsResult };
  /** Ask for a page of one; null where the host has no such session, then the disk is asked. */
  "host/readLiveSession": { params: ReadLiveSessionParams; result: ReadLiveSessionResult };
}

/** What the sidecar can tell a host. */
export interface HostNotifications {
  /** Cancel one request by its id. */
  "$/cancelRequest": { params: CancelRequestParams };
  /** Say how far a request with a `workDoneToken` is. */
  "$/progress": { params: ProgressParams };
}

/** The agent whose session asks: its own id is never a candidate nor a source. */
export interface Agent {
  id: string;
  cwd?: string | null;
}

/** Cancels every request in flight that carries this `cancellationToken`. */
export interface CancelParams {
  token: number | string;
}

/** Cancels the request with this id. */
export interface CancelRequestParams {
  id: number | string;
}

/** One session that could be referred to. Every field but `display` is exact. */
export interface Candidate {
  sessionId: string;
  label: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** The text to insert. */
  mention: string;
  display: Display;
  cwd?: string | null;
  /** What people call it: a sub-agent by the name its parent gave it, else the label. */
  displayTitle: string;
  /** The host holds it in memory. */
  live: boolean;
  /** It has a log on disk. */
  persisted: boolean;
  /** Whether it belongs to the agent's workspace, by the affinity asked for. */
  sameWorkspace: boolean;
  /** The generation of its log. */
  formatVersion: number;
  /** `subagent` for a session that another one started. */
  origin?: string | null;
  parentSession?: string | null;
  delegationDepth?: number | null;
  agentPreset?: string | null;
  /** Whether it was put away, where its home says so. */
  archived?: boolean | null;
  /** Whether its agent is at work, where the host tells. */
  running?: boolean | null;
  /** Set where the log holds more than this program knows how to read. */
  degraded?: Degraded | null;
  /** The first words of its first prompt, safe to show; only with `--index-previews`. */
  preview?: string | null;
}

/** Who the host is, for the log. */
export interface ClientInfo {
  name?: string | null;
  version?: string | null;
}

/**
 * A configuration: of the flags, of `initialize`, or of one request. Null means unset.
 *
 * Flags and `initialize` set ceilings; a request may only be stricter.
 */
export interface ConfigInput {
  /**
   * How many distinct sources one message may refer to.
   * From 1 to 3.
   */
  maxReferences?: number | null;
  /**
   * UTF-8 size of one source's serialized snapshot. Default 65536; see `contextWindow`.
   * At least 1.
   */
  maxReferenceBytes?: number | null;
  /**
   * Tokens that the model takes. Where `maxReferenceBytes` is unset, a source may take
   * max(65536, floor(contextWindow * 4 * 0.2)) bytes.
   * At least 1.
   */
  contextWindow?: number | null;
  /** True: a section behind the snapshots tells the model what was omitted, where anything was. */
  omissions?: boolean | null;
  /**
   * How many candidates one answer holds. Default 50.
   * At least 1.
   */
  candidateLimit?: number | null;
  /** False: messages pass untouched and no candidates are listed. */
  enabled?: boolean | null;
  /** True: a damaged log is answered from what precedes the damage, marked `degraded`. */
  salvage?: boolean | null;
  scope?: ScopeInput | null;
  /** Former workspace folders and what they are called today, for `affinity: resolved`. */
  renamedRoots?: Record<string, string> | null;
}

/** Why a reading is less than certain, although it could be made. */
export interface Degraded {
  reason: "damaged" | "newer_format" | "unknown_events";
  count?: number | null;
  version?: number | null;
  throughSeq?: number | null;
}

/** Messages as a host stored them, in order. */
export interface DescribeTranscriptParams {
  messages: Array<unknown>;
}

/** Every recall message of a transcript, in order. */
export interface DescribeTranscriptResult {
  recalls: Array<DescribedRecall>;
}

/** One recall message, to be shown as the lines of its references with its text folded away. */
export interface DescribedRecall {
  /** Its place in `messages`. */
  recallIndex: number;
  references: Array<DescribedReference>;
  /** The direct message that it belongs to: the neighbour that has its labels, if one has. */
  messageIndex?: number | null;
  /** Where it stands, seen from that message. */
  placement?: "after" | "before" | null;
}

/** One source of a recall message, as far as the message says. */
export interface DescribedReference {
  sessionId: string;
  label: string;
  inputIndex: number;
  /** For people, safe to show: `Fix login — 12 of 40 messages, 8.1 KB omitted`. */
  line: string;
  stats?: Stats | null;
  degraded?: Degraded | null;
}

/** The same, safe to show: control, bidirectional and zero-width characters are escaped. */
export interface Display {
  label: string;
  cwd?: string | null;
}

/** No parameters. */
export interface EmptyParams {
}

/** The `data` of an error. */
export interface ErrorInfo {
  retryable: boolean;
  code?: string | null;
  cause?: string | null;
  field?: string | null;
  sessionId?: string | null;
  messageIndex?: number | null;
  inputIndex?: number | null;
  start?: number | null;
  end?: number | null;
}

/** A failure inside an answer, shaped like a JSON-RPC error. */
export interface ErrorObject {
  code: number;
  message: string;
  data: ErrorInfo;
}

/** The session to mention. An absent label is the id. */
export interface FormatMentionParams {
  sessionId: string;
  label?: string | null;
}

/** The mention, and the bare URI. */
export interface FormatMentionResult {
  mention: string;
  uri: string;
}

/** What the host can be asked for. Unknown members are ignored. */
export interface HostCapabilities {
  liveSessions?: boolean | null;
}

/** Which kinds of sessions are listed besides ordinary ones. All, where nothing is said. */
export interface Include {
  subagents?: boolean | null;
  archived?: boolean | null;
}

/** What is remembered of sessions between reads. */
export interface IndexState {
  /** `disk`: in a file, too, for the next process; `memory`: as long as this one lives. */
  state: "disk" | "memory";
  /** How many there were when it was last looked. */
  sessions: number;
  /** Of how many is known what is in them, titles for example. */
  folded: number;
  /** Of how many that is to be found out, in the background or when it is asked for. */
  pending: number;
  /** The file, where there is one. */
  path?: string | null;
}

/** Optional on the line framing; then the first request, and sent once. */
export interface InitializeParams {
  protocolVersion: number;
  clientInfo?: ClientInfo | null;
  capabilities?: HostCapabilities | null;
  config?: ConfigInput | null;
}

/** The answer to `initialize`. A host that can't speak this version decides what to do. */
export interface InitializeResult {
  protocolVersion: number;
  serverInfo: ServerInfo;
  capabilities: ServerCapabilities;
  limits: Limits;
  roots: Array<Root>;
}

/** The bounds in force. */
export interface Limits {
  maxLineBytes: number;
  maxRequestsInFlight: number;
  maxQueuedOutputBytes: number;
  eofDrainSeconds: number;
  maxRecordBytes: number;
  maxRecordTokens: number;
  maxOddRecordBytes: number;
  maxReadSeconds: number;
  maxSessionBytes: number;
  maxTitleBytes: number;
  maxZstdWindowBytes: number;
  maxHeaderBytes: number;
  maxLineNesting: number;
  maxNesting: number;
  hostAnswerSeconds: number;
  maxPageBytes: number;
  maxConcurrentReads: number;
  maxAbandonedReads: number;
}

/** Which sessions could be referred to. */
export interface ListCandidatesParams {
  config?: ConfigInput | null;
  /** Names this request, and any other with the same token, for `$/cancel`. */
  cancellationToken?: number | string | null;
  /**
   * Milliseconds from receipt, after which the request answers -32802.
   * At least 1.
   */
  deadlineMs?: number | null;
  agent: Agent;
  /** Kept are sessions whose id, cwd or title contains it, letter case aside. */
  query?: string | null;
  /**
   * At most this many; wins over `config.candidateLimit`, not over a ceiling. Not null.
   * At least 1.
   */
  limit?: number;
  include?: Include | null;
  /** `same`: only sessions of the agent's own workspace. Default `any`. */
  workspace?: "any" | "same" | null;
  /**
   * How workspaces are compared: by the recorded string (default), or by what the folder is:
   * symbolic links, letter case, worktrees and renamed roots aside.
   */
  affinity?: "recorded" | "resolved" | null;
  /** Where given, `$/progress` notifications carry it. */
  workDoneToken?: number | string | null;
}

/** Same cwd first, then no cwd, then others; newest first inside each. */
export interface ListCandidatesResult {
  candidates: Array<Candidate>;
  /** True only if something not read yet could change the answer. */
  isIncomplete: boolean;
  /** Matches before the limit. */
  total: number;
}

/** The sessions that the host holds in memory. */
export interface ListLiveSessionsResult {
  sessions: Array<LiveSessionHeader>;
}

/**
 * The header of a session as its log has it, and what the host knows besides.
 *
 * A member of a wrong type counts as absent; a header without a good `id` and `createdAt` is no
 * session.
 */
export interface LiveSessionHeader {
  id: string;
  /**
   * Milliseconds since the epoch.
   * At least 0.
   */
  createdAt: number;
  /** The log format of its events. Default: the newest that this program knows. */
  version?: number | null;
  cwd?: string | null;
  /** Its latest title. Where it is missing, the events are read for it. */
  title?: string | null;
  /** Whether its agent is at work. */
  running?: boolean | null;
  origin?: string | null;
  parentSession?: string | null;
  delegationDepth?: number | null;
  agentPreset?: string | null;
}

/** What became of one direct message that has a mention, or a malformed one. */
export interface Outcome {
  /** Index in the decision's `messages`, as they were sent. */
  messageIndex: number;
  status: "already" | "empty" | "failed" | "prepared";
  references: Array<ReferenceOutcome>;
  /** The message's own id. */
  messageId?: unknown;
  /** Id of the context message that was inserted. */
  contextId?: string | null;
  /** Why it has no context. Of references that were left out of one, each tells its own. */
  error?: ErrorObject | null;
}

/** A text that may hold mentions. */
export interface ParseTextParams {
  text: string;
}

/** The text with each mention replaced by `@label`, and the mentions in order. */
export interface ParseTextResult {
  text: string;
  references: Array<ParsedReference>;
}

/** One mention. Offsets are UTF-16 code units in the input. */
export interface ParsedReference {
  sessionId: string;
  label: string;
  start: number;
  end: number;
}

/** Where the context goes, and what a failing message does. */
export interface PolicyInput {
  placement: "after" | "before";
  /**
   * `terminate`: the request is answered with the error of the first failing message.
   * `passthrough`: a failing message goes on untouched, without a context. `skip`: references that
   * fail are left out, and the message goes on with a context of the others, if there are any; but
   * a message with a malformed mention goes on untouched.
   */
  onFailure: "passthrough" | "skip" | "terminate";
}

/** The decision of the host's own listeners about the next step. */
export interface PreStepParams {
  config?: ConfigInput | null;
  /** Names this request, and any other with the same token, for `$/cancel`. */
  cancellationToken?: number | string | null;
  /**
   * Milliseconds from receipt, after which the request answers -32802.
   * At least 1.
   */
  deadlineMs?: number | null;
  agent: Agent;
  /** {kind: 'enter', messages: [...]} or {kind: 'reject', ...}; members that we do not know are passed on. */
  decision: unknown;
  /** `native` is after + terminate, `never-block` is before + passthrough. */
  policy?: "native" | "never-block" | PolicyInput | null;
}

/** The decision to go on with, and what became of each message with a mention. */
export interface PreStepResult {
  /** Any JSON value, passed on as it is. */
  decision: unknown;
  outcomes: Array<Outcome>;
}

/** Content and the sessions that it refers to: all are read, or none. */
export interface PrepareParams {
  config?: ConfigInput | null;
  /** Names this request, and any other with the same token, for `$/cancel`. */
  cancellationToken?: number | string | null;
  /**
   * Milliseconds from receipt, after which the request answers -32802.
   * At least 1.
   */
  deadlineMs?: number | null;
  agent: Agent;
  /** Any JSON value, passed on as it is. */
  content: unknown;
  references: Array<ReferenceInput>;
}

/** The content as it was given, and the context message to store beside it. */
export interface PrepareResult {
  /** Any JSON value, passed on as it is. */
  content: unknown;
  /** A user message holding the snapshots. */
  additionalContext?: unknown;
}

/** Either a text with mentions or references, not both. */
export interface PreviewParams {
  config?: ConfigInput | null;
  /** Names this request, and any other with the same token, for `$/cancel`. */
  cancellationToken?: number | string | null;
  /**
   * Milliseconds from receipt, after which the request answers -32802.
   * At least 1.
   */
  deadlineMs?: number | null;
  agent: Agent;
  text?: string | null;
  references?: Array<PreviewReferenceInput> | null;
}

/** A reference, perhaps with what an earlier snapshot captured: `stale` compares with it. */
export interface PreviewReferenceInput {
  sessionId: string;
  label?: string;
  /** Of the earlier snapshot; null where that session had no events. */
  capturedThroughSeq?: number | null;
  /** The format in which that seq counts. Absent: whichever. */
  capturedFormatVersion?: number;
}

/** What `prepare` would do at this moment: numbers, and no word of any session. */
export interface PreviewResult {
  /** One for each distinct session; none where a mention or a reference is malformed. */
  sources: Array<SourcePreview>;
  totals: PreviewTotals;
  /**
   * Empty where `prepare` would succeed. The first is what it would answer; the others are of
   * sources that fail, too.
   */
  errors: Array<ErrorObject>;
}

/** The sums over the sources that are not `failed`. */
export interface PreviewTotals {
  sources: number;
  bytes: number;
  estimatedTokens: number;
  originalMessages: number;
  retainedMessages: number;
  omittedMessages: number;
  omittedBytes: number;
}

/** Sent for requests with a `workDoneToken`. */
export interface ProgressParams {
  token: number | string;
  value: ProgressValue;
}

/** How far a long request is. */
export interface ProgressValue {
  kind: "begin" | "end" | "report";
  message?: string | null;
  done?: number | null;
  total?: number | null;
}

/** One page of a live session: the events after a seq, or its first ones. */
export interface ReadLiveSessionParams {
  sessionId: string;
  afterSeq?: number | null;
}

/** A page of at most 8 MiB. Events that are not on the surface may be left out. */
export interface ReadLiveSessionResult {
  header: LiveSessionHeader;
  /** In the order of their seqs, shaped as in the log format of the header's version. */
  events: Array<unknown>;
  /** Where there is more: the seq that the next page begins with, at the earliest. */
  nextSeq?: number | null;
}

/** A page of one session. What was captured is to be that of the page before, if given. */
export interface ReadSnapshotParams {
  config?: ConfigInput | null;
  /** Names this request, and any other with the same token, for `$/cancel`. */
  cancellationToken?: number | string | null;
  /**
   * Milliseconds from receipt, after which the request answers -32802.
   * At least 1.
   */
  deadlineMs?: number | null;
  agent: Agent;
  sessionId: string;
  /**
   * How many items come before the page: 0, or the `nextOffset` of the page before.
   * At least 0.
   */
  offset?: number | null;
  /**
   * At most this many items. The page is bounded in bytes as well, by `limits.maxPageBytes`.
   * At least 1.
   */
  limit?: number | null;
  /** Where given and the session is another by now: READ_FAILED with cause `changed`. */
  capturedThroughSeq?: number | null;
  capturedFormatVersion?: number;
}

/**
 * What a snapshot would quote of the session if nothing had to be left out, page by page.
 *
 * It is another session's: untrusted, for people to look at, and not framed for a model.
 */
export interface ReadSnapshotResult {
  sessionId: string;
  items: Array<SnapshotItem>;
  /** To be given with the next page, so that all pages are of one reading. */
  capturedThroughSeq: number | null;
  capturedFormatVersion?: number;
  /** Where there is more: the offset of the next page. */
  nextOffset?: number | null;
  degraded?: Degraded | null;
}

/** One session to refer to. An absent label is the id; null is refused. */
export interface ReferenceInput {
  sessionId: string;
  label?: string;
}

/** What became of one referenced session. */
export interface ReferenceOutcome {
  sessionId: string;
  label: string;
  /** Its place among the distinct sessions, in order of first appearance. */
  inputIndex: number;
  status: "empty" | "failed" | "prepared";
  stats?: Stats | null;
  error?: ErrorObject | null;
  degraded?: Degraded | null;
}

/** One session root. */
export interface Root {
  path: string;
  /** How many sessions it holds, where that is known. */
  sessions?: number | null;
  /** Files and folders in it that are no logs: ignored, and only counted. */
  strangers?: number | null;
  /** Why it cannot be listed, in words. */
  problem?: string | null;
}

/**
 * Which sessions may be known of at all. A request may only narrow what a ceiling says.
 *
 * A session out of scope is as one that does not exist: `not_found`, and in no list.
 */
export interface ScopeInput {
  /**
   * Only sessions whose folder is one of these (or, `same`, the agent's own), compared by what
   * the folders are, as `affinity: resolved` does.
   */
  workspaces?: Array<string> | "same" | null;
  /** False: no archived ones. */
  archived?: boolean | null;
  /** False: none that another session started. */
  subagents?: boolean | null;
  /** Ids of sessions that are never known of. */
  deny?: Array<string> | null;
}

/** What this program can be asked for. */
export interface ServerCapabilities {
  /** Every method that a host may call. */
  methods: Array<string>;
  /** The names that `preStep` takes as `policy`. */
  policies: Array<string>;
}

/** This program. */
export interface ServerInfo {
  name: string;
  version: string;
}

/** The host's live sessions are these now; or, without them, are to be asked for anew. */
export interface SessionsChangedParams {
  sessions?: Array<LiveSessionHeader> | null;
}

/** One message of the conversation, or a part of a long one. */
export interface SnapshotItem {
  role: "assistant" | "user";
  text: string;
  /** True: a compaction wrote it in place of what it summarises. */
  checkpoint?: boolean;
  /** True: the message goes on in the next item. */
  continues?: boolean;
}

/** One session as `prepare` would quote it at this moment, or why it would not. */
export interface SourcePreview {
  sessionId: string;
  label: string;
  /** Its place among the distinct sessions, in order of first appearance. */
  inputIndex: number;
  /** `failed` is what the policy `skip` would leave out; `error` says why. */
  status: "empty" | "failed" | "prepared";
  stats?: Stats | null;
  /** UTF-8 size of its serialized snapshot. */
  bytes?: number | null;
  /** ceil(bytes / 4): four bytes a token, whatever the model. */
  estimatedTokens?: number | null;
  /** Milliseconds since the epoch. */
  createdAt?: number | null;
  /** Milliseconds since then, by this machine's clock; never negative. */
  ageMs?: number | null;
  /** Milliseconds since the epoch: the time of the last event in its log, if it tells one. */
  lastActivityAt?: number | null;
  /** The last seq, null for an empty log; absent where the source failed. */
  capturedThroughSeq?: number | null;
  capturedFormatVersion?: number;
  degraded?: Degraded | null;
  /** Whether the session is another than at the `capturedThroughSeq` given for it, if any was. */
  stale?: boolean | null;
  error?: ErrorObject | null;
}

/** What fitting a source into its budget kept and dropped. Bytes are UTF-8 bytes of text. */
export interface Stats {
  compacted: boolean;
  originalMessages: number;
  retainedMessages: number;
  omittedMessages: number;
  omittedBytes: number;
  truncated: boolean;
}

/** How the process is. */
export interface StatusResult {
  version: string;
  uptimeMs: number;
  /** This request not counted. */
  requestsInFlight: number;
  queuedOutputBytes: number;
  /** Cancelled reads that have not come back. */
  abandonedReads: number;
  roots: Array<Root>;
  index: IndexState;
}
