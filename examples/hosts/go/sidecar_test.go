package sessionref

import (
	"errors"
	"testing"
)

func TestNothingChangesAfterClose(t *testing.T) {
	before := &child{}
	s := &Sidecar{child: before, err: ErrClosed, changed: make(chan struct{})}
	if s.change(&child{}, nil) || s.child != before || !errors.Is(s.err, ErrClosed) {
		t.Error("a new process is asked")
	}
	if s.change(nil, ErrGaveUp) || !errors.Is(s.err, ErrClosed) {
		t.Error(s.err)
	}
}
