package sessionref

// The sessions that the host holds in memory: what the sidecar asks for, and how it is answered.

import (
	"context"
	"encoding/json"
	"fmt"
)

// LiveSessions are the sessions that a host holds in memory, ahead of their logs on disk. It is asked
// by several goroutines at once. ctx is done when nobody waits for the answer any more: return
// then. An error fails the one read, as retryable; its words go to Options.Log only.
type LiveSessions interface {
	// List tells all of them.
	List(ctx context.Context) ([]LiveSession, error)
	// Read gives the events of one after a seq (nil: from the first), as many as fit a page; see
	// Page. nil without an error: there is no such session, and the disk is asked.
	Read(ctx context.Context, id Text, after *int64) (*LivePage, error)
}

// LiveSession is the header of a session, as its log has it, and what is known besides.
type LiveSession struct {
	ID Text `json:"id"`
	// CreatedAt is in milliseconds since the epoch.
	CreatedAt int64 `json:"createdAt"`
	// Version is the log format of the events. Absent: the newest that the sidecar knows.
	Version *int  `json:"version,omitempty"`
	Cwd     *Text `json:"cwd,omitempty"`
	// Title saves the sidecar reading the session for it.
	Title           *Text `json:"title,omitempty"`
	Running         *bool `json:"running,omitempty"`
	Origin          *Text `json:"origin,omitempty"`
	ParentSession   *Text `json:"parentSession,omitempty"`
	DelegationDepth *int  `json:"delegationDepth,omitempty"`
	AgentPreset     *Text `json:"agentPreset,omitempty"`
}

// LivePage is a part of a session: events in the order of their seqs, each as its log would have it.
// Events that no snapshot needs (those without `surfaceOp`) may be left out.
type LivePage struct {
	Header LiveSession       `json:"header"`
	Events []json.RawMessage `json:"events"`
	// NextSeq is set where there is more: the seq that the next page begins with, at the earliest.
	NextSeq *int64 `json:"nextSeq,omitempty"`
}

// LiveEvent is one event, and the seq that it has in its JSON.
type LiveEvent struct {
	Seq  int64
	JSON json.RawMessage
}

// MaxPageBytes is what a page should not exceed.
const MaxPageBytes = 8 << 20

// Page is what to return of a session whose events are all at hand: those after a seq that fit.
func Page(header LiveSession, events []LiveEvent, after *int64) *LivePage {
	return page(header, events, after, MaxPageBytes)
}

func page(header LiveSession, events []LiveEvent, after *int64, maxBytes int) *LivePage {
	made := &LivePage{Header: header, Events: []json.RawMessage{}}
	room := maxBytes
	for _, event := range events {
		if after != nil && event.Seq <= *after {
			continue
		}
		room -= len(event.JSON)
		if room < 0 && len(made.Events) > 0 {
			seq := event.Seq
			made.NextSeq = &seq
			break
		}
		made.Events = append(made.Events, event.JSON)
	}
	return made
}

type liveSessionsResult struct {
	Sessions []LiveSession `json:"sessions"`
}

// newLiveSessionsResult tells none apart from nothing told.
func newLiveSessionsResult(sessions []LiveSession) liveSessionsResult {
	if sessions == nil {
		sessions = []LiveSession{}
	}
	return liveSessionsResult{sessions}
}

type readLiveSessionParams struct {
	SessionID Text   `json:"sessionId"`
	AfterSeq  *int64 `json:"afterSeq"`
}

// serveLive answers what a sidecar may ask. Without live sessions that is nothing.
func serveLive(live LiveSessions) server {
	return func(ctx context.Context, method string, params json.RawMessage) (any, error) {
		switch {
		case live != nil && method == "host/listLiveSessions":
			sessions, err := live.List(ctx)
			return newLiveSessionsResult(sessions), err
		case live != nil && method == "host/readLiveSession":
			var asked readLiveSessionParams
			if err := json.Unmarshal(params, &asked); err != nil {
				return nil, &Error{Code: CodeInvalidParams, Message: "The params have another shape."}
			}
			page, err := live.Read(ctx, asked.SessionID, asked.AfterSeq)
			if page != nil && page.Events == nil {
				page = &LivePage{Header: page.Header, Events: []json.RawMessage{}, NextSeq: page.NextSeq}
			}
			return page, err
		default:
			message := fmt.Sprintf("There is no method %.80q.", method)
			return nil, &Error{Code: CodeMethodNotFound, Message: message}
		}
	}
}
