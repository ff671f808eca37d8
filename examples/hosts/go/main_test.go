package sessionref_test

// What the tests of a running sidecar share: starting it, waiting, and reading what it quotes.

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/sessionref"
	"example.com/sessionref/internal/testkit"
)

const patience = 60 * time.Second

var (
	agent = sessionref.Agent{ID: "agent", Cwd: testkit.Project}
	user  = testkit.User
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("FAKE_SIDECAR"); mode != "" {
		os.Exit(fake(mode))
	}
	os.Exit(m.Run())
}

// real is how the sidecar is started on a root.
func real(root string) sessionref.Options {
	return sessionref.Options{Command: testkit.Command(root), Env: testkit.Environment()}
}

// standIn is how this test's own stand-in is started.
func standIn(mode string) sessionref.Options {
	return sessionref.Options{
		Command: []string{os.Args[0]},
		Env:     testkit.Environment("FAKE_SIDECAR=" + mode),
	}
}

// start starts a sidecar that is closed with the test, and leaves nothing behind.
func start(t *testing.T, options sessionref.Options) *sessionref.Sidecar {
	t.Helper()
	if options.Log == nil {
		options.Log, _ = newLog(t)
	}
	sidecar, err := sessionref.Start(within(t), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sidecar.Close(context.Background())
		leavesNothing(t)
	})
	return sidecar
}

// leavesNothing fails the test if a goroutine of the package outlives it.
func leavesNothing(t *testing.T) {
	t.Helper()
	ours := regexp.MustCompile(`(?m)^example\.com/sessionref\.`)
	deadline := time.Now().Add(10 * time.Second)
	for {
		stacks := goroutines()
		if !ours.MatchString(stacks) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind:\n%s", stacks)
		}
		time.Sleep(time.Millisecond) // what has done its work may not have returned yet
	}
}

// goroutines is where each of them is.
func goroutines() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// lines collects what is logged.
type lines struct {
	mu    sync.Mutex
	text  strings.Builder
	heard chan struct{} // gets something after each line, if nobody has taken the last
}

func newLog(t *testing.T) (*log.Logger, *lines) {
	to := &lines{heard: make(chan struct{}, 1)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log:\n%s", to)
		}
	})
	return log.New(to, "", 0), to
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.heard <- struct{}{}:
	default:
	}
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until something is logged.
func (l *lines) await(t *testing.T, want string) {
	t.Helper()
	deadline := time.After(patience)
	for !strings.Contains(l.String(), want) {
		select {
		case <-l.heard:
		case <-deadline:
			t.Fatalf("never logged: %s", want)
		}
	}
}

// receive is what comes next, within bounds.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// events are those of a live session.
func events(rows ...testkit.Row) []sessionref.LiveEvent {
	made := []sessionref.LiveEvent{}
	for seq, line := range testkit.Lines(rows...) {
		made = append(made, sessionref.LiveEvent{Seq: int64(seq), JSON: line})
	}
	return made
}

// refer is a mention of a session whose label is its id.
func refer(ids ...sessionref.Text) []sessionref.Reference {
	made := []sessionref.Reference{}
	for _, id := range ids {
		made = append(made, sessionref.Reference{SessionID: id})
	}
	return made
}

type source struct {
	SessionID          string
	Label              string
	CapturedThroughSeq *int64
	Conversation       []struct{ Role, Text string }
}

// quoted is what a context message quotes.
func quoted(t *testing.T, context json.RawMessage) []source {
	t.Helper()
	var message sessionref.Message
	if err := json.Unmarshal(context, &message); err != nil {
		t.Fatal(err)
	}
	if message.Role != "user" || message.Source.Kind != sessionref.RecallKind {
		t.Fatalf("no context message: %s", context)
	}
	framed := regexp.MustCompile(`(?s)<referenced-sessions>\n(.*)\n</referenced-sessions>$`)
	var sources []source
	found := framed.FindStringSubmatch(string(message.Content[0].Text))
	if err := json.Unmarshal([]byte(found[1]), &sources); err != nil {
		t.Fatal(err)
	}
	return sources
}

// texts is what is quoted of each session.
func texts(t *testing.T, context json.RawMessage) string {
	t.Helper()
	var told []string
	for _, each := range quoted(t, context) {
		said := each.SessionID + ":"
		for _, item := range each.Conversation {
			said += " " + item.Text
		}
		told = append(told, said)
	}
	return strings.Join(told, "; ")
}
