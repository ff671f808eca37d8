package sessionref

// The params and results of the methods, as in schemas/. Members of params that are zero or nil are
// left out, unless they must be there. A test holds the names against the schemas.

import "encoding/json"

const protocolVersion = 1

type initializeParams struct {
	ProtocolVersion int          `json:"protocolVersion"`
	ClientInfo      ClientInfo   `json:"clientInfo"`
	Capabilities    capabilities `json:"capabilities"`
	Config          *Config      `json:"config,omitempty"`
}

type capabilities struct {
	LiveSessions bool `json:"liveSessions"`
}

func newInitializeParams(options *Options) *initializeParams {
	return &initializeParams{
		ProtocolVersion: protocolVersion,
		ClientInfo:      options.Client,
		Capabilities:    capabilities{LiveSessions: options.Live != nil},
		Config:          options.Config,
	}
}

// ClientInfo is who the host is.
type ClientInfo struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Config holds what may be set as ceilings at the start, or stricter by a request.
type Config struct {
	// MaxReferences is how many distinct sessions a message may refer to: 1 to 3.
	MaxReferences int `json:"maxReferences,omitempty"`
	// MaxReferenceBytes bounds the snapshot of each session. Default 65536; see ContextWindow.
	MaxReferenceBytes int64 `json:"maxReferenceBytes,omitempty"`
	// ContextWindow is how many tokens the model takes: a session may take a fifth of them, at four
	// bytes each, where MaxReferenceBytes is not set.
	ContextWindow int64 `json:"contextWindow,omitempty"`
	// Omissions tells the model what was left out of the snapshots.
	Omissions *bool `json:"omissions,omitempty"`
	// CandidateLimit is how many candidates an answer holds. Default 50.
	CandidateLimit int64 `json:"candidateLimit,omitempty"`
	// Enabled is nil or true; false lets all messages pass untouched.
	Enabled *bool `json:"enabled,omitempty"`
	// Salvage answers a damaged log from what precedes the damage.
	Salvage *bool `json:"salvage,omitempty"`
	// Scope says which sessions may be known of at all.
	Scope *Scope `json:"scope,omitempty"`
	// RenamedRoots maps former workspace folders to what they are called today.
	RenamedRoots map[string]string `json:"renamedRoots,omitempty"`
}

// Scope is which sessions may be known of. Others are as ones that do not exist.
type Scope struct {
	// Workspaces is nil for all, "same" for the agent's own, or a []string of folders.
	Workspaces any `json:"workspaces,omitempty"`
	// Archived and Subagents are nil or true, or false for none of these.
	Archived  *bool  `json:"archived,omitempty"`
	Subagents *bool  `json:"subagents,omitempty"`
	Deny      []Text `json:"deny,omitempty"`
}

// InitializeResult is what a sidecar says of itself.
type InitializeResult struct {
	ProtocolVersion int                `json:"protocolVersion"`
	ServerInfo      ServerInfo         `json:"serverInfo"`
	Capabilities    ServerCapabilities `json:"capabilities"`
	Limits          Limits             `json:"limits"`
	Roots           []Root             `json:"roots"`
}

// ServerInfo is the program.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ServerCapabilities is what it can be asked for.
type ServerCapabilities struct {
	Methods  []string `json:"methods"`
	Policies []string `json:"policies"`
}

// Limits are those of its bounds that a host may run into. `initialize` tells more of them.
type Limits struct {
	// MaxLineBytes and MaxLineNesting bound what is sent; what exceeds them fails here already.
	MaxLineBytes   int `json:"maxLineBytes"`
	MaxLineNesting int `json:"maxLineNesting"`
	// MaxRequestsInFlight is how many calls there may be at once; more are CodeBusy.
	MaxRequestsInFlight int `json:"maxRequestsInFlight"`
	// HostAnswerSeconds is how long a LiveSessions has for an answer.
	HostAnswerSeconds int `json:"hostAnswerSeconds"`
}

// promisedLimits hold until a sidecar has told its own.
var promisedLimits = Limits{MaxLineBytes: 64 << 20, MaxLineNesting: 768}

// Root is one session root.
type Root struct {
	Path string `json:"path"`
	// Sessions is how many it holds, where that is known.
	Sessions  *int `json:"sessions,omitempty"`
	Strangers *int `json:"strangers,omitempty"`
	// Problem is why it cannot be listed, in words.
	Problem string `json:"problem,omitempty"`
}

// Agent is whose session asks: it is never a candidate nor a source.
type Agent struct {
	ID  Text `json:"id"`
	Cwd Text `json:"cwd,omitempty"`
}

// CallOptions are what every request about sessions may carry.
type CallOptions struct {
	// Config is this request's own, stricter than the ceilings.
	Config *Config `json:"config,omitempty"`
	// DeadlineMs is how long the sidecar may take, in milliseconds. Where a policy lets a message pass
	// that fails, it passes then; the deadline of a context ends the call without an answer.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
}

// PreStepParams: see PreStep.
type PreStepParams struct {
	CallOptions
	Agent    Agent    `json:"agent"`
	Decision Decision `json:"decision"`
	// Policy is nil for that of the sidecar's flags.
	Policy *Policy `json:"policy,omitempty"`
}

// PreStepResult is the decision to go on with, and what became of each message with a mention.
type PreStepResult struct {
	Decision Decision  `json:"decision"`
	Outcomes []Outcome `json:"outcomes"`
}

// Outcome is what became of one message with a mention, or with a malformed one.
type Outcome struct {
	// MessageIndex is its place in the decision as it was sent.
	MessageIndex int `json:"messageIndex"`
	// MessageID is as it stands in the message.
	MessageID json.RawMessage `json:"messageId,omitempty"`
	// Status is "prepared", "empty", "failed" or "already".
	Status string `json:"status"`
	// ContextID is the id of the context message that was inserted.
	ContextID  string             `json:"contextId,omitempty"`
	References []ReferenceOutcome `json:"references"`
	Error      *Error             `json:"error,omitempty"`
}

// ReferenceOutcome is what became of one referenced session.
type ReferenceOutcome struct {
	SessionID  Text `json:"sessionId"`
	Label      Text `json:"label"`
	InputIndex int  `json:"inputIndex"`
	// Status is "prepared", "empty" or "failed".
	Status   string    `json:"status"`
	Stats    *Stats    `json:"stats,omitempty"`
	Error    *Error    `json:"error,omitempty"`
	Degraded *Degraded `json:"degraded,omitempty"`
}

// Stats is what fitting a session into its budget kept and dropped.
type Stats struct {
	Compacted        bool  `json:"compacted"`
	OriginalMessages int64 `json:"originalMessages"`
	RetainedMessages int64 `json:"retainedMessages"`
	OmittedMessages  int64 `json:"omittedMessages"`
	OmittedBytes     int64 `json:"omittedBytes"`
	Truncated        bool  `json:"truncated"`
}

// Degraded is why a reading is less than certain.
type Degraded struct {
	// Reason is "unknown_events", "newer_format" or "damaged".
	Reason     string `json:"reason"`
	Count      *int64 `json:"count,omitempty"`
	Version    *int   `json:"version,omitempty"`
	ThroughSeq *int64 `json:"throughSeq,omitempty"`
}

// ListCandidatesParams: see ListCandidates.
type ListCandidatesParams struct {
	CallOptions
	Agent Agent `json:"agent"`
	// Query is what an id, a folder or a title must contain, letter case aside.
	Query   Text     `json:"query,omitempty"`
	Limit   int64    `json:"limit,omitempty"`
	Include *Include `json:"include,omitempty"`
	// Workspace is "any" (default) or "same".
	Workspace string `json:"workspace,omitempty"`
	// Affinity is "recorded" (default) or "resolved".
	Affinity string `json:"affinity,omitempty"`
}

// Include says which kinds of sessions are listed besides ordinary ones. nil: all.
type Include struct {
	Subagents *bool `json:"subagents,omitempty"`
	Archived  *bool `json:"archived,omitempty"`
}

// ListCandidatesResult is the best of what matches.
type ListCandidatesResult struct {
	Candidates []Candidate `json:"candidates"`
	// IsIncomplete is true if something not read yet could change the answer.
	IsIncomplete bool `json:"isIncomplete"`
	// Total counts the matches before the limit.
	Total int64 `json:"total"`
}

// Candidate is one session that could be referred to. Only Display is safe to show as it is.
type Candidate struct {
	SessionID Text `json:"sessionId"`
	Label     Text `json:"label"`
	// CreatedAt is in milliseconds since the epoch.
	CreatedAt int64 `json:"createdAt"`
	// Mention is the text to insert.
	Mention         Text      `json:"mention"`
	Display         Display   `json:"display"`
	Cwd             *Text     `json:"cwd,omitempty"`
	DisplayTitle    Text      `json:"displayTitle"`
	Live            bool      `json:"live"`
	Persisted       bool      `json:"persisted"`
	SameWorkspace   bool      `json:"sameWorkspace"`
	FormatVersion   int       `json:"formatVersion"`
	Origin          *Text     `json:"origin,omitempty"`
	ParentSession   *Text     `json:"parentSession,omitempty"`
	DelegationDepth *int      `json:"delegationDepth,omitempty"`
	AgentPreset     *Text     `json:"agentPreset,omitempty"`
	Archived        *bool     `json:"archived,omitempty"`
	Running         *bool     `json:"running,omitempty"`
	Degraded        *Degraded `json:"degraded,omitempty"`
	Preview         *Text     `json:"preview,omitempty"`
}

// Display has control, bidirectional and zero-width characters escaped.
type Display struct {
	Label string `json:"label"`
	Cwd   string `json:"cwd,omitempty"`
}

// Reference is one session to refer to.
type Reference struct {
	SessionID Text `json:"sessionId"`
	// Label is nil for the id.
	Label *Text `json:"label,omitempty"`
}

// PrepareParams: see Prepare.
type PrepareParams struct {
	CallOptions
	Agent Agent `json:"agent"`
	// Content is passed on byte for byte.
	Content    json.RawMessage `json:"content"`
	References []Reference     `json:"references"`
}

// PrepareResult is the content as it was given, and the message to store beside it, if any.
type PrepareResult struct {
	Content           json.RawMessage `json:"content"`
	AdditionalContext json.RawMessage `json:"additionalContext,omitempty"`
}

// PreviewParams: see Preview. Either Text or References is set.
type PreviewParams struct {
	CallOptions
	Agent      Agent              `json:"agent"`
	Text       *Text              `json:"text,omitempty"`
	References []PreviewReference `json:"references,omitempty"`
}

// PreviewReference is a session to refer to, perhaps with what an earlier snapshot captured.
type PreviewReference struct {
	Reference
	// CapturedThroughSeq is as it stands in the earlier snapshot: a number, or null.
	CapturedThroughSeq    json.RawMessage `json:"capturedThroughSeq,omitempty"`
	CapturedFormatVersion *int            `json:"capturedFormatVersion,omitempty"`
}

// PreviewResult is what Prepare would do now.
type PreviewResult struct {
	Sources []SourcePreview `json:"sources"`
	Totals  PreviewTotals   `json:"totals"`
	// Errors is empty where Prepare would succeed; the first is what it would answer.
	Errors []*Error `json:"errors"`
}

// SourcePreview is one session as Prepare would quote it.
type SourcePreview struct {
	SessionID       Text   `json:"sessionId"`
	Label           Text   `json:"label"`
	InputIndex      int    `json:"inputIndex"`
	Status          string `json:"status"`
	Stats           *Stats `json:"stats,omitempty"`
	Bytes           *int64 `json:"bytes,omitempty"`
	EstimatedTokens *int64 `json:"estimatedTokens,omitempty"`
	CreatedAt       *int64 `json:"createdAt,omitempty"`
	AgeMs           *int64 `json:"ageMs,omitempty"`
	LastActivityAt  *int64 `json:"lastActivityAt,omitempty"`
	// CapturedThroughSeq is nil for an empty log, or where Status is "failed".
	CapturedThroughSeq    *int64    `json:"capturedThroughSeq,omitempty"`
	CapturedFormatVersion int       `json:"capturedFormatVersion"`
	Degraded              *Degraded `json:"degraded,omitempty"`
	Stale                 *bool     `json:"stale,omitempty"`
	Error                 *Error    `json:"error,omitempty"`
}

// PreviewTotals are the sums over the sources that did not fail.
type PreviewTotals struct {
	Sources          int64 `json:"sources"`
	Bytes            int64 `json:"bytes"`
	EstimatedTokens  int64 `json:"estimatedTokens"`
	OriginalMessages int64 `json:"originalMessages"`
	RetainedMessages int64 `json:"retainedMessages"`
	OmittedMessages  int64 `json:"omittedMessages"`
	OmittedBytes     int64 `json:"omittedBytes"`
}

type describeTranscriptParams struct {
	Messages []json.RawMessage `json:"messages"`
}

// DescribeTranscriptResult has every recall of a transcript, in order.
type DescribeTranscriptResult struct {
	Recalls []DescribedRecall `json:"recalls"`
}

// DescribedRecall is one context message, to be shown as the lines of its references.
type DescribedRecall struct {
	// RecallIndex is its place in the transcript.
	RecallIndex int                  `json:"recallIndex"`
	References  []DescribedReference `json:"references"`
	// MessageIndex is that of the message it belongs to, and Placement "after" or "before" it.
	MessageIndex *int   `json:"messageIndex,omitempty"`
	Placement    string `json:"placement,omitempty"`
}

// DescribedReference is one source of a context message. Line is safe to show.
type DescribedReference struct {
	SessionID  Text      `json:"sessionId"`
	Label      Text      `json:"label"`
	InputIndex int       `json:"inputIndex"`
	Line       string    `json:"line"`
	Stats      *Stats    `json:"stats,omitempty"`
	Degraded   *Degraded `json:"degraded,omitempty"`
}

type parseTextParams struct {
	Text Text `json:"text"`
}

// ParseTextResult is the text with each mention replaced by `@label`, and the mentions.
type ParseTextResult struct {
	Text       Text              `json:"text"`
	References []ParsedReference `json:"references"`
}

// ParsedReference is one mention. Start and End count UTF-16 units of the text that was given.
type ParsedReference struct {
	SessionID Text `json:"sessionId"`
	Label     Text `json:"label"`
	Start     int  `json:"start"`
	End       int  `json:"end"`
}

// FormatMentionResult is a mention and its bare URI.
type FormatMentionResult struct {
	Mention Text   `json:"mention"`
	URI     string `json:"uri"`
}

// StatusResult is how the process is.
type StatusResult struct {
	Version  string `json:"version"`
	UptimeMs int64  `json:"uptimeMs"`
	// RequestsInFlight does not count this one.
	RequestsInFlight  int        `json:"requestsInFlight"`
	QueuedOutputBytes int64      `json:"queuedOutputBytes"`
	AbandonedReads    int        `json:"abandonedReads"`
	Roots             []Root     `json:"roots"`
	Index             IndexState `json:"index"`
}

// IndexState is what is remembered of sessions between reads.
type IndexState struct {
	State    string `json:"state"`
	Sessions int64  `json:"sessions"`
	Folded   int64  `json:"folded"`
	Pending  int64  `json:"pending"`
	Path     string `json:"path,omitempty"`
}
