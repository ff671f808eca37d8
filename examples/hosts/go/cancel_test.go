package sessionref_test

// Cancellation, by the context of a call.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/sessionref"
)

func begin(ctx context.Context, sidecar *sessionref.Sidecar, ids ...sessionref.Text) chan error {
	came := make(chan error, 1)
	go func() {
		_, err := prepare(ctx, sidecar, ids...)
		came <- err
	}()
	return came
}

// settlesAt waits until so many requests are in flight.
func settlesAt(t *testing.T, sidecar *sessionref.Sidecar, count int) {
	t.Helper()
	for ctx := within(t); ; {
		status, err := sidecar.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if status.RequestsInFlight == count {
			return
		}
	}
}

func TestAStalledReadIsCancelledAllTheWay(t *testing.T) {
	read, begun, ended := stall()
	sidecar := with(t, &memory{read: read})
	ctx, cancel := context.WithCancel(within(t))
	came := begin(ctx, sidecar, "login")
	receive(t, begun)
	select {
	case err := <-came:
		t.Fatal("it did not wait:", err)
	default:
	}
	cancel()
	if err := receive(t, came); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	receive(t, ended) // the sidecar heard of it, and took its own question back
	settlesAt(t, sidecar, 0)
}

func TestPreStepIsCancelledWhateverThePolicy(t *testing.T) {
	read, begun, ended := stall()
	sidecar := with(t, &memory{read: read})
	ctx, cancel := context.WithCancel(within(t))
	came := make(chan error, 1)
	message := json.RawMessage(fmt.Sprintf(asking, missing))
	go func() {
		_, err := sidecar.PreStep(ctx, sessionref.PreStepParams{
			Agent:    agent,
			Decision: sessionref.Enter(message),
			Policy:   sessionref.NeverBlock,
		})
		came <- err
	}()
	receive(t, begun)
	cancel()
	if err := receive(t, came); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	receive(t, ended)
	settlesAt(t, sidecar, 0)
}

func TestTheDeadlineOfAContextEndsTheCall(t *testing.T) {
	read, _, _ := stall()
	sidecar := with(t, &memory{read: read})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := receive(t, begin(ctx, sidecar, "login")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	settlesAt(t, sidecar, 0)
}

func TestTheDeadlineOfARequestIsTheSidecars(t *testing.T) {
	read, _, _ := stall()
	sidecar := with(t, &memory{read: read})
	_, err := sidecar.Prepare(within(t), sessionref.PrepareParams{
		CallOptions: sessionref.CallOptions{DeadlineMs: 100},
		Agent:       agent, Content: json.RawMessage("[]"), References: refer("login"),
	})
	var failure *sessionref.Error
	if !errors.As(err, &failure) || failure.Code != sessionref.CodeTimedOut ||
		!errors.Is(err, sessionref.ErrRetryable) {
		t.Error(err)
	}
}

func TestOneCancelLeavesTheOthersAlone(t *testing.T) {
	read, begun, ended := stall()
	sidecar := with(t, &memory{read: read})
	one, cancelOne := context.WithCancel(within(t))
	two, cancelTwo := context.WithCancel(within(t))
	first, second := begin(one, sidecar, "login"), begin(two, sidecar, "other")
	receive(t, begun)
	receive(t, begun)
	cancelOne()
	if err := receive(t, first); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	receive(t, ended)
	settlesAt(t, sidecar, 1)
	cancelTwo()
	if err := receive(t, second); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
