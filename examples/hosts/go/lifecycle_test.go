//go:build unix

package sessionref_test

// How a sidecar is started, and how it is told to end.

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/sessionref"
	"example.com/sessionref/internal/testkit"
)

func TestWhatDoesNotStartSaysWhy(t *testing.T) {
	options := func(command ...string) sessionref.Options {
		return sessionref.Options{Command: command, Env: testkit.Environment()}
	}
	quick := standIn("silent")
	quick.StartTimeout = 50 * time.Millisecond
	for name, each := range map[string]struct {
		options sessionref.Options
		is      error
		says    string
	}{
		"no such file":    {options("/nowhere/sessionref"), fs.ErrNotExist, "/nowhere/sessionref"},
		"no such command": {options("no-such-sessionref"), exec.ErrNotFound, "no-such-sessionref"},
		"no program":      {options(t.TempDir()), fs.ErrPermission, "did not start"},
		"a bad flag": {options(testkit.Program(), "--no-such-flag"), nil,
			"exit status 2: sessionref serve: error: unrecognized arguments: --no-such-flag"},
		"another program": {options("true"), nil, "exit status 0"},
		"it greets":       {standIn("garbage"), nil, "no message"},
		"it is newer":     {standIn("newer"), nil, "speaks protocol version 2, not 1"},
		"it says nothing": {quick, context.DeadlineExceeded, "did not start"},
		"a bad config": {
			func() sessionref.Options {
				bad := real(t.TempDir())
				bad.Config = &sessionref.Config{MaxReferences: 4}
				return bad
			}(), nil, "maxReferences",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sidecar, err := sessionref.Start(within(t), each.options)
			if err == nil {
				sidecar.Close(within(t))
				t.Fatal("it started")
			}
			if each.is != nil && !errors.Is(err, each.is) || !strings.Contains(err.Error(), each.says) {
				t.Error(err)
			}
			if errors.Is(err, sessionref.ErrRetryable) {
				t.Errorf("retryable: %v", err)
			}
			leavesNothing(t)
		})
	}
}

func TestAStartCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	if _, err := sessionref.Start(ctx, standIn("silent")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	leavesNothing(t)
}

func TestStderrGoesToTheLogAndFillsNoPipe(t *testing.T) {
	options := standIn("chatty")
	logger, logged := newLog(t)
	options.Log = logger
	start(t, options) // it writes more than a pipe holds before it answers
	options = real(t.TempDir())
	options.Command = append(options.Command, "--no-such-flag")
	options.Log = logger
	if _, err := sessionref.Start(within(t), options); err == nil {
		t.Error("it started")
	}
	logged.await(t, "stderr: xxxx")
	logged.await(t, "--no-such-flag\n")
}

func TestTheTerminalsSignalsAreTheHosts(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	group, err := syscall.Getpgid(sidecar.Pid())
	if err != nil || group != sidecar.Pid() || group == syscall.Getpgrp() {
		t.Error(group, err)
	}
}

func TestCloseDoesNotWaitForARestart(t *testing.T) {
	sidecar := inBackoff(t)
	came := begin(within(t), sidecar, "login")
	if err := sidecar.Close(within(t)); err != nil {
		t.Error(err)
	}
	if err := receive(t, came); !errors.Is(err, sessionref.ErrClosed) {
		t.Error(err)
	}
	leavesNothing(t)
}

func TestCloseAnswersWhatIsInFlight(t *testing.T) {
	read, begun, ended := stall()
	sidecar := with(t, &memory{read: read})
	pid := sidecar.Pid()
	came := begin(within(t), sidecar, "login")
	receive(t, begun)
	if err := sidecar.Close(within(t)); err != nil {
		t.Error(err)
	}
	leavesNothing(t)
	var failure *sessionref.Error
	if err := receive(t, came); !errors.As(err, &failure) || failure.Code != sessionref.CodeTimedOut {
		t.Error(err)
	}
	receive(t, ended)
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process is there: %v", err)
	}
	if _, err := sidecar.Status(within(t)); !errors.Is(err, sessionref.ErrClosed) {
		t.Error(err)
	}
	if err := sidecar.LiveSessionsChanged(within(t)); !errors.Is(err, sessionref.ErrClosed) {
		t.Error(err)
	}
	if err := sidecar.Close(within(t)); err != nil {
		t.Error("the second time:", err)
	}
}

func TestCloseWaitsForWhoIsBeingAsked(t *testing.T) {
	begun, ended := make(chan struct{}, 1), false
	sidecar := with(t, &memory{read: func(
		ctx context.Context, _ sessionref.Text, _ *int64,
	) (*sessionref.LivePage, error) {
		begun <- struct{}{}
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond) // it takes a while to put things away
		ended = true
		return nil, ctx.Err()
	}})
	begin(within(t), sidecar, "login")
	receive(t, begun)
	if err := sidecar.Close(within(t)); err != nil || !ended {
		t.Error(err, ended)
	}
}

func TestShutdownComesBeforeExitAndNothingElse(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	sidecar := start(t, standIn("record:"+said))
	if err := sidecar.Call(within(t), "one", json.RawMessage(`{"a": 1}`), nil); err != nil {
		t.Error(err)
	}
	if err := sidecar.Close(within(t)); err != nil {
		t.Error(err)
	}
	const want = `{"jsonrpc":"2.0","id":2,"method":"one","params":{"a":1}}
{"jsonrpc":"2.0","id":3,"method":"shutdown"}
{"jsonrpc":"2.0","method":"exit"}
`
	if heard, err := os.ReadFile(said); err != nil || string(heard) != want {
		t.Errorf("%s (%v)", heard, err)
	}
}

func TestASidecarThatDoesNotEndIsKilled(t *testing.T) {
	for name, closeIt := range map[string]func(*sessionref.Sidecar) error{
		"after CloseTimeout": func(s *sessionref.Sidecar) error { return s.Close(context.Background()) },
		"when ctx is done": func(s *sessionref.Sidecar) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return s.Close(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := standIn("stubborn")
			options.CloseTimeout = 50 * time.Millisecond
			if strings.HasPrefix(name, "when") {
				options.CloseTimeout = time.Hour
			}
			sidecar := start(t, options)
			pid := sidecar.Pid()
			came := begin(within(t), sidecar, "login")
			if err := closeIt(sidecar); !errors.Is(err, sessionref.ErrKilled) {
				t.Error(err)
			}
			leavesNothing(t)
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the process is there: %v", err)
			}
			if err := receive(t, came); !errors.Is(err, sessionref.ErrClosed) {
				isKilled(t, err)
			}
		})
	}
}
