package sessionref_test

// Sessions in the host's memory.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.com/sessionref"
	"example.com/sessionref/internal/testkit"
)

// memory is a host's sessions, told in pages of at most two events. A question is counted before it
// is answered, and answered by `read` or `list` where that is set.
type memory struct {
	sessions []session
	list     func(context.Context) error
	read     func(context.Context, sessionref.Text, *int64) (*sessionref.LivePage, error)

	mu    sync.Mutex
	asked []string
}

type session struct {
	header sessionref.LiveSession
	events []sessionref.LiveEvent
}

func live(id sessionref.Text, label string, rows ...testkit.Row) session {
	version, cwd := 0, sessionref.Text(testkit.Project)
	header := sessionref.LiveSession{ID: id, CreatedAt: testkit.Created, Version: &version, Cwd: &cwd}
	if label != "" {
		header.Title = (*sessionref.Text)(&label)
	}
	return session{header, events(rows...)}
}

func (m *memory) note(question string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, question)
}

func (m *memory) questions() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.asked, " ")
}

func (m *memory) headers() []sessionref.LiveSession {
	var headers []sessionref.LiveSession
	for _, each := range m.sessions {
		headers = append(headers, each.header)
	}
	return headers
}

func (m *memory) List(ctx context.Context) ([]sessionref.LiveSession, error) {
	m.note("list")
	if m.list != nil {
		return nil, m.list(ctx)
	}
	return m.headers(), nil
}

func (m *memory) Read(
	ctx context.Context, id sessionref.Text, after *int64,
) (*sessionref.LivePage, error) {
	place := ""
	if after != nil {
		place = fmt.Sprint(">", *after)
	}
	m.note(fmt.Sprintf("%q%s", string(id), place))
	if m.read != nil {
		return m.read(ctx, id, after)
	}
	for _, each := range m.sessions {
		if each.header.ID != id {
			continue
		}
		page := sessionref.Page(each.header, each.events, after)
		if len(page.Events) > 2 {
			page.Events = page.Events[:2]
			next := each.events[0].Seq + 2
			if after != nil {
				next = *after + 3
			}
			page.NextSeq = &next
		}
		return page, nil
	}
	return nil, nil
}

// stall is a read that hangs until nobody waits for it any more. It says when it begins and ends.
func stall() (read func(context.Context, sessionref.Text, *int64) (*sessionref.LivePage, error),
	begun, ended chan struct{}) {
	begun, ended = make(chan struct{}, 64), make(chan struct{}, 64)
	read = func(ctx context.Context, _ sessionref.Text, _ *int64) (*sessionref.LivePage, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, ctx.Err()
	}
	return read, begun, ended
}

func with(t *testing.T, live *memory) *sessionref.Sidecar {
	t.Helper()
	options := real(testkit.Root(t))
	options.Live = live
	return start(t, options)
}

func prepare(
	ctx context.Context, sidecar *sessionref.Sidecar, ids ...sessionref.Text,
) (*sessionref.PrepareResult, error) {
	return sidecar.Prepare(ctx, sessionref.PrepareParams{
		Agent: agent, Content: json.RawMessage("[]"), References: refer(ids...),
	})
}

// failsAtTheHost is how a read ends that the host failed.
func failsAtTheHost(t *testing.T, err error) {
	t.Helper()
	var failure *sessionref.Error
	if !errors.As(err, &failure) || failure.Data.Cause != "host" || !errors.Is(err, sessionref.ErrRetryable) {
		t.Errorf("%v", err)
	}
}

func TestLiveSessionsAreAheadOfTheDiskAndComeInPages(t *testing.T) {
	odd := sessionref.Text("\xed\xa0\xbd/<live>")
	memory := &memory{sessions: []session{
		live("login", "Login now", user("as it is now")),
		live(odd, "Only live", user("1"), user("2"), user("3"), user("\ufeff<4>"), user("5")),
	}}
	sidecar := with(t, memory)
	result, err := prepare(within(t), sidecar, "login", odd, "other")
	if err != nil {
		t.Fatal(err)
	}
	const want = "login: as it is now; \ufffd/<live>: 1 2 3 \ufeff<4> 5; other: only on disk"
	if got := texts(t, result.AdditionalContext); got != want {
		t.Errorf("%q", got)
	}
	pages := 0
	for _, question := range strings.Fields(memory.questions()) {
		if strings.HasPrefix(question, `"\xed\xa0\xbd/<live>"`) {
			pages++
		}
	}
	if pages != 3 {
		t.Errorf("asked for %s", memory.questions())
	}
}

func TestCandidatesSayWhereASessionIs(t *testing.T) {
	yes := true
	memory := &memory{sessions: []session{live("login", "Login now"), live("live", "Only live")}}
	memory.sessions[1].header.Running = &yes
	result, err := with(t, memory).ListCandidates(within(t), sessionref.ListCandidatesParams{Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, each := range result.Candidates {
		told = append(told, fmt.Sprintf("%s %s %v %v %v", each.SessionID, each.Label, each.Live,
			each.Persisted, each.Running != nil && *each.Running))
	}
	want := "live Only live true false true|login Login now true true false|other Other false true false"
	if got := strings.Join(told, "|"); got != want || memory.questions() != "list" {
		t.Errorf("%s; asked for %s", got, memory.questions())
	}
}

func TestAHostThatPushesIsNotAskedUntilItSaysSo(t *testing.T) {
	memory := &memory{sessions: []session{live("live", "One")}}
	sidecar := with(t, memory)
	label := func() string {
		result, err := sidecar.ListCandidates(within(t), sessionref.ListCandidatesParams{Agent: agent})
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range result.Candidates {
			if each.SessionID == "live" {
				return string(each.Label)
			}
		}
		return ""
	}
	push := func(sessions []sessionref.LiveSession) {
		if err := sidecar.PushLiveSessions(within(t), sessions); err != nil {
			t.Fatal(err)
		}
	}
	push(memory.headers())
	if got := label(); got != "One" || memory.questions() != "" {
		t.Errorf("%q; asked for %q", got, memory.questions())
	}
	push(nil)
	if got := label(); got != "" || memory.questions() != "" {
		t.Errorf("%q; asked for %q", got, memory.questions())
	}
	if err := sidecar.LiveSessionsChanged(within(t)); err != nil {
		t.Fatal(err)
	}
	if got := label(); got != "One" || memory.questions() != "list" {
		t.Errorf("%q; asked for %q", got, memory.questions())
	}
}

func TestAReadThatFailsInTheHostIsRetryableAndItsWordsStayThere(t *testing.T) {
	memory := &memory{read: func(
		context.Context, sessionref.Text, *int64,
	) (*sessionref.LivePage, error) {
		return nil, errors.New("a secret")
	}}
	options := real(testkit.Root(t))
	options.Live = memory
	logger, logged := newLog(t)
	options.Log = logger
	sidecar := start(t, options)
	_, err := prepare(within(t), sidecar, "login")
	failsAtTheHost(t, err)
	if strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	logged.await(t, "host/readLiveSession: a secret")
}

func TestAPageThatIsNoneFailsThatRead(t *testing.T) {
	header := live("live", "").header
	for name, page := range map[string]*sessionref.LivePage{
		"no JSON":         {Header: header, Events: []json.RawMessage{json.RawMessage(`{"seq":`)}},
		"another session": {Header: live("other", "").header},
	} {
		page := page
		t.Run(name, func(t *testing.T) {
			memory := &memory{read: func(
				context.Context, sessionref.Text, *int64,
			) (*sessionref.LivePage, error) {
				return page, nil
			}}
			_, err := prepare(within(t), with(t, memory), "live")
			failsAtTheHost(t, err)
		})
	}
}

func TestAnEmptyPageIsAnEmptySession(t *testing.T) {
	memory := &memory{read: func(
		context.Context, sessionref.Text, *int64,
	) (*sessionref.LivePage, error) {
		return &sessionref.LivePage{Header: live("live", "").header}, nil
	}}
	result, err := prepare(within(t), with(t, memory), "live")
	if err != nil || texts(t, result.AdditionalContext) != "live:" {
		t.Errorf("%+v (%v)", result, err)
	}
}

func TestAHostWithoutLiveSessionsIsNotAsked(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	result, err := prepare(within(t), sidecar, "login")
	if err != nil || texts(t, result.AdditionalContext) != "login: The cookie has no path." {
		t.Errorf("%+v (%v)", result, err)
	}
}

func TestAListThatNeverComesIsNotWaitedFor(t *testing.T) {
	ended := make(chan struct{}, 1)
	memory := &memory{list: func(ctx context.Context) error {
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	}}
	result, err := with(t, memory).ListCandidates(within(t), sessionref.ListCandidatesParams{
		CallOptions: sessionref.CallOptions{DeadlineMs: 3000}, Agent: agent,
	})
	if err != nil || !result.IsIncomplete || result.Total != 2 {
		t.Errorf("%+v (%v)", result, err)
	}
	receive(t, ended)
}

func TestALiveSessionMayAskTheSidecarItself(t *testing.T) {
	memory := &memory{}
	sidecar := with(t, memory)
	memory.read = func(
		ctx context.Context, id sessionref.Text, _ *int64,
	) (*sessionref.LivePage, error) {
		result, err := sidecar.ParseText(ctx, "said by @[x](dsh-session:ImxvZ2luIg)")
		if err != nil {
			return nil, err
		}
		each := live(id, "", user(string(result.Text)))
		return sessionref.Page(each.header, each.events, nil), nil
	}
	result, err := prepare(within(t), sidecar, "live")
	if err != nil || texts(t, result.AdditionalContext) != "live: said by @x" {
		t.Errorf("%+v (%v)", result, err)
	}
}

func TestPagesAreBounded(t *testing.T) {
	each := live("live", "", user(strings.Repeat("a", 5<<20)), user(strings.Repeat("b", 5<<20)),
		user(strings.Repeat("c", 2<<20)), user(strings.Repeat("d", 9<<20)))
	var after *int64
	var told []string
	for {
		page := sessionref.Page(each.header, each.events, after)
		if page.NextSeq == nil {
			told = append(told, fmt.Sprint(len(page.Events)))
			break
		}
		told = append(told, fmt.Sprint(len(page.Events), "<", *page.NextSeq))
		last := *page.NextSeq - 1
		after = &last
	}
	if got := strings.Join(told, ", "); got != "1<1, 2<3, 1" {
		t.Error(got)
	}
}
