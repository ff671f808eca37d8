package sessionref

// Every error that a caller may want to tell from others.

import (
	"errors"
	"fmt"
)

var (
	// ErrRetryable is what an error is, by errors.Is, if the same request may succeed later.
	ErrRetryable = errors.New("sessionref: may succeed later")
	// ErrGaveUp answers every request after the sidecar died too often; Start anew, if ever.
	ErrGaveUp = errors.New("sessionref: the sidecar keeps ending and is not started again")
	// ErrClosed answers every request after Close.
	ErrClosed = errors.New("sessionref: closed")
	// ErrKilled is returned by Close if the sidecar did not end by itself.
	ErrKilled = errors.New("sessionref: the sidecar did not end in time and was killed")
)

// CrashError answers the requests in flight when the sidecar died. All requests only read, so they
// may be sent again: the next one waits until the sidecar runs again.
type CrashError struct {
	// Reason is how it ended: an *exec.ExitError, or words.
	Reason error
}

func (e *CrashError) Error() string {
	return fmt.Sprintf("sessionref: the sidecar ended before it answered: %v", e.Reason)
}

func (e *CrashError) Unwrap() error { return e.Reason }

// Is makes it ErrRetryable.
func (e *CrashError) Is(target error) bool { return target == ErrRetryable }

// What Error.Code can be; see the table of errors in schemas/openrpc.json.
const (
	CodeParse            = -32700
	CodeInvalidRequest   = -32600
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602
	CodeInternal         = -32603
	CodeInvalidConfig    = -32010
	CodeInvalidReference = -32011
	CodeSelfReference    = -32012
	CodeTooMany          = -32013
	CodeReadFailed       = -32014
	CodeBudgetExceeded   = -32015
	CodeCancelled        = -32800
	CodeTimedOut         = -32802
	CodeBusy             = -32000
)

// Error is a failure as the sidecar tells it, of a request or inside a result.
type Error struct {
	Code    int       `json:"code"`
	Message string    `json:"message"`
	Data    ErrorInfo `json:"data"`
}

// ErrorInfo says what failed and why; members that say nothing are zero or nil.
type ErrorInfo struct {
	Retryable    bool   `json:"retryable"`
	Code         string `json:"code,omitempty"`
	Cause        string `json:"cause,omitempty"`
	Field        string `json:"field,omitempty"`
	SessionID    *Text  `json:"sessionId,omitempty"`
	MessageIndex *int   `json:"messageIndex,omitempty"`
	InputIndex   *int   `json:"inputIndex,omitempty"`
	Start        *int   `json:"start,omitempty"`
	End          *int   `json:"end,omitempty"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("sessionref: %s (%d)", e.Message, e.Code)
}

// Is makes it ErrRetryable where the sidecar calls it so.
func (e *Error) Is(target error) bool { return target == ErrRetryable && e.Data.Retryable }
