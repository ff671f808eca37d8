package sessionref

// The methods, one function each. What they do is told in the README of the program; where a failure
// is the sidecar's answer, the error is an *Error.

import (
	"context"
	"encoding/json"
)

// PreStep rewrites the mentions of the next step's messages and inserts the snapshots.
func (s *Sidecar) PreStep(ctx context.Context, params PreStepParams) (*PreStepResult, error) {
	return ask[PreStepResult](ctx, s, "preStep", params)
}

// Prepare makes one context message of the given sessions, for hosts that find mentions themselves.
func (s *Sidecar) Prepare(ctx context.Context, params PrepareParams) (*PrepareResult, error) {
	if params.References == nil {
		params.References = []Reference{}
	}
	return ask[PrepareResult](ctx, s, "prepare", params)
}

// ListCandidates lists the sessions that could be referred to, best first.
func (s *Sidecar) ListCandidates(
	ctx context.Context, params ListCandidatesParams,
) (*ListCandidatesResult, error) {
	return ask[ListCandidatesResult](ctx, s, "listCandidates", params)
}

// Preview tells what Prepare would keep, drop or answer, in numbers.
func (s *Sidecar) Preview(ctx context.Context, params PreviewParams) (*PreviewResult, error) {
	return ask[PreviewResult](ctx, s, "preview", params)
}

// DescribeTranscript tells which message each recall in a transcript belongs to, and a line to show for
// each of its sources.
func (s *Sidecar) DescribeTranscript(
	ctx context.Context, messages []json.RawMessage,
) (*DescribeTranscriptResult, error) {
	params := describeTranscriptParams{append([]json.RawMessage{}, messages...)}
	return ask[DescribeTranscriptResult](ctx, s, "describeTranscript", params)
}

// ParseText finds the mentions in a text and makes it readable.
func (s *Sidecar) ParseText(ctx context.Context, text Text) (*ParseTextResult, error) {
	return ask[ParseTextResult](ctx, s, "parseText", parseTextParams{text})
}

// FormatMention writes the mention of a session. Without a label that is the id.
func (s *Sidecar) FormatMention(
	ctx context.Context, reference Reference,
) (*FormatMentionResult, error) {
	return ask[FormatMentionResult](ctx, s, "formatMention", reference)
}

// Status tells how the process and its roots are.
func (s *Sidecar) Status(ctx context.Context) (*StatusResult, error) {
	return ask[StatusResult](ctx, s, "status", nil)
}

// PushLiveSessions says which sessions you hold in memory now. From then on the sidecar believes it and
// does not ask your LiveSessions for the list, until LiveSessionsChanged. Push anew when they
// change; a sidecar that was started again asks until the next push.
func (s *Sidecar) PushLiveSessions(ctx context.Context, sessions []LiveSession) error {
	return s.tell(ctx, "sessions/changed", newLiveSessionsResult(sessions))
}

// LiveSessionsChanged says that your LiveSessions is to be asked for the list again.
func (s *Sidecar) LiveSessionsChanged(ctx context.Context) error {
	return s.tell(ctx, "sessions/changed", nil)
}

// ask is Call with the type of the result.
func ask[R any](ctx context.Context, s *Sidecar, method string, params any) (*R, error) {
	result := new(R)
	if err := s.Call(ctx, method, params, result); err != nil {
		return nil, err
	}
	return result, nil
}

func (s *Sidecar) tell(ctx context.Context, method string, params any) error {
	current, err := s.running(ctx)
	if err != nil {
		return err
	}
	return current.notify(ctx, method, params)
}
