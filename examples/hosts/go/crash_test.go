//go:build unix

package sessionref_test

// A sidecar that dies or hangs.

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/sessionref"
	"example.com/sessionref/internal/testkit"
)

// soon restarts at once, and counts for as long as a test may take.
func soon(limit int) sessionref.Restart {
	return sessionref.Restart{Limit: limit, Window: time.Hour, FirstDelay: time.Millisecond}
}

func signal(t *testing.T, pid int, which syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, which); err != nil {
		t.Fatal(err)
	}
}

// killAndAskAgain is what a host does about a crash: it asks again as long as that may help.
func killAndAskAgain(t *testing.T, sidecar *sessionref.Sidecar) {
	t.Helper()
	pid := sidecar.Pid()
	signal(t, pid, syscall.SIGKILL)
	for ctx := within(t); ; {
		_, err := sidecar.Status(ctx)
		if err == nil && sidecar.Pid() != pid {
			return
		}
		if err != nil && !errors.Is(err, sessionref.ErrRetryable) {
			t.Fatal(err)
		}
	}
}

// isKilled is how a request ends that was in flight when its sidecar was killed.
func isKilled(t *testing.T, err error) {
	t.Helper()
	var crash *sessionref.CrashError
	var exit *exec.ExitError
	if !errors.As(err, &crash) || !errors.Is(err, sessionref.ErrRetryable) || !errors.As(err, &exit) ||
		!strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("%v", err)
	}
}

func TestACrashFailsWhatIsInFlightAndTheNextRequestWorks(t *testing.T) {
	read, begun, ended := stall()
	memory := &memory{read: read}
	options := real(testkit.Root(t))
	options.Live, options.Restart = memory, soon(2)
	options.Config = &sessionref.Config{MaxReferences: 1}
	sidecar := start(t, options)
	for round := 1; round <= 2; round++ {
		pid := sidecar.Pid()
		one, two := begin(within(t), sidecar, "login"), begin(within(t), sidecar, "other")
		receive(t, begun)
		receive(t, begun)
		signal(t, pid, syscall.SIGKILL)
		isKilled(t, receive(t, one))
		isKilled(t, receive(t, two))
		receive(t, ended) // nobody is there any more who could be answered
		receive(t, ended)
		tooMany(t, sidecar) // it is another one, and was told the same at its start
		if sidecar.Pid() == pid {
			t.Error("the same process")
		}
	}
	memory.read, memory.sessions = nil, []session{live("login", "", user("as it is now"))}
	result, err := prepare(within(t), sidecar, "login")
	if err != nil || texts(t, result.AdditionalContext) != "login: as it is now" {
		t.Errorf("%+v (%v)", result, err)
	}
}

func TestAfterTooManyCrashesItIsNotStartedAgain(t *testing.T) {
	options := real(testkit.Root(t))
	options.Restart = soon(2)
	logger, logged := newLog(t)
	options.Log = logger
	sidecar := start(t, options)
	killAndAskAgain(t, sidecar)
	killAndAskAgain(t, sidecar)
	signal(t, sidecar.Pid(), syscall.SIGKILL)
	logged.await(t, "the sidecar ended (signal: killed) and is not started again")
	_, err := sidecar.Status(within(t))
	const want = "sessionref: the sidecar keeps ending and is not started again; " +
		"the last time: signal: killed"
	if !errors.Is(err, sessionref.ErrGaveUp) || errors.Is(err, sessionref.ErrRetryable) ||
		err.Error() != want {
		t.Error(err)
	}
	if err := sidecar.Close(within(t)); err != nil {
		t.Error(err)
	}
	if _, err := sidecar.Status(within(t)); !errors.Is(err, sessionref.ErrGaveUp) {
		t.Error(err)
	}
}

func TestWhoWaitsForARestartThatFailsIsTold(t *testing.T) {
	options := standIn("once:" + filepath.Join(t.TempDir(), "started"))
	options.Restart = soon(3)
	sidecar := start(t, options)
	signal(t, sidecar.Pid(), syscall.SIGKILL)
	for {
		_, err := sidecar.Status(within(t))
		if errors.Is(err, sessionref.ErrRetryable) {
			continue // it went to the one that was dying
		}
		if !errors.Is(err, sessionref.ErrGaveUp) || !strings.HasSuffix(err.Error(), ": exit status 3") {
			t.Error(err)
		}
		return
	}
}

// inBackoff is a sidecar that died and will be started again when nobody can wait for it.
func inBackoff(t *testing.T) *sessionref.Sidecar {
	t.Helper()
	options := real(testkit.Root(t))
	options.Restart = sessionref.Restart{FirstDelay: time.Hour, MaxDelay: time.Hour}
	logger, logged := newLog(t)
	options.Log = logger
	sidecar := start(t, options)
	signal(t, sidecar.Pid(), syscall.SIGKILL)
	logged.await(t, "the sidecar ended (signal: killed); it is started again in 1h0m0s")
	return sidecar
}

func TestWhoWaitsForARestartCanCancel(t *testing.T) {
	sidecar := inBackoff(t)
	ctx, cancel := context.WithCancel(within(t))
	came := begin(ctx, sidecar, "login")
	cancel()
	if err := receive(t, came); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// isStuck tells whether a write hangs, and so many calls.
func isStuck(calls int) bool {
	stacks := goroutines()
	return strings.Contains(stacks, "os.(*File).Write(") &&
		strings.Count(stacks, "sessionref.(*conversation).call(") == calls
}

func TestASidecarThatDoesNotReadHoldsUpNobodyWhoCancels(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	pid := sidecar.Pid()
	signal(t, pid, syscall.SIGSTOP)
	ctx, cancel := context.WithCancel(within(t))
	var all []chan error
	for i := 0; i < 10; i++ {
		came := make(chan error, 1)
		all = append(all, came)
		go func() {
			_, err := sidecar.ParseText(ctx, sessionref.Text(bytes.Repeat([]byte("x"), 1<<20)))
			came <- err
		}()
	}
	for deadline := time.Now().Add(patience); !isStuck(len(all)); {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	for _, came := range all {
		if err := receive(t, came); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	signal(t, pid, syscall.SIGCONT)
	if result, err := sidecar.ParseText(within(t), "fine"); err != nil || result.Text != "fine" {
		t.Errorf("%+v (%v)", result, err)
	}
	if sidecar.Pid() != pid {
		t.Error("it was started again")
	}
}

func TestAProcessThatIsOfNoUseIsReplaced(t *testing.T) {
	orphans := filepath.Join(t.TempDir(), "orphans")
	t.Cleanup(func() { killAll(t, orphans) })
	for mode, want := range map[string]string{
		"mute":              "it closed its output",
		"deaf":              "signal: killed",
		"orphan:" + orphans: "exit status 6",
	} {
		t.Run(want, func(t *testing.T) {
			options := standIn(mode)
			options.Restart = soon(1)
			sidecar := start(t, options)
			for round := 0; round < 2; round++ {
				_, err := sidecar.Status(within(t))
				var crash *sessionref.CrashError
				if !errors.As(err, &crash) || crash.Reason.Error() != want {
					t.Error(err)
				}
			}
			if _, err := sidecar.Status(within(t)); !errors.Is(err, sessionref.ErrGaveUp) {
				t.Error(err)
			}
			sidecar.Close(within(t))
			leavesNothing(t) // also while an orphan holds the other ends
		})
	}
}

// killAll ends the processes that a file names.
func killAll(t *testing.T, file string) {
	pids, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	for _, each := range strings.Fields(string(pids)) {
		if pid, err := strconv.Atoi(each); err == nil {
			signal(t, pid, syscall.SIGKILL)
		}
	}
}

func TestNoDescriptorIsLeftOpen(t *testing.T) {
	const folder = "/proc/self/fd"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there is no " + folder + " to look at")
	}
	count := func() int {
		open, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		return len(open)
	}
	conversation := func() {
		options := real(testkit.Root(t))
		options.Restart = soon(2)
		sidecar := start(t, options)
		killAndAskAgain(t, sidecar)
		if err := sidecar.Close(within(t)); err != nil {
			t.Error(err)
		}
		nowhere := sessionref.Options{Command: []string{"/nowhere"}}
		if _, err := sessionref.Start(within(t), nowhere); err == nil {
			t.Error("it started")
		}
	}
	conversation() // the runtime opens some for itself, once
	before := count()
	conversation()
	if after := count(); after != before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}
