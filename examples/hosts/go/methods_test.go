package sessionref_test

// The methods, asked of the installed sidecar over real pipes.

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

func TestItSaysWhatItIs(t *testing.T) {
	root := testkit.Root(t)
	info := start(t, real(root)).Info()
	if info.ProtocolVersion != 1 || info.ServerInfo.Name != "sessionref" || info.ServerInfo.Version == "" {
		t.Errorf("%+v", info)
	}
	if len(info.Roots) != 1 || info.Roots[0].Path != root || info.Roots[0].Problem != "" {
		t.Errorf("%+v", info.Roots)
	}
	if info.Limits.MaxLineBytes != 64<<20 || info.Limits.MaxLineNesting != 768 {
		t.Errorf("%+v", info.Limits)
	}
}

func TestCandidates(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	all, err := sidecar.ListCandidates(within(t), sessionref.ListCandidatesParams{Agent: agent})
	if err != nil || all.Total != 2 || all.IsIncomplete {
		t.Fatal(all, err)
	}
	found, err := sidecar.ListCandidates(within(t), sessionref.ListCandidatesParams{
		Agent: agent, Query: "LOGIN", Limit: 1,
	})
	if err != nil || len(found.Candidates) != 1 {
		t.Fatal(found, err)
	}
	first := found.Candidates[0]
	if first.SessionID != "login" || first.Label != "Fix login" || first.CreatedAt != testkit.Created ||
		first.Mention != "@[Fix login](dsh-session:ImxvZ2luIg)" || *first.Cwd != testkit.Project ||
		first.Display.Label != "Fix login" || !first.Persisted || first.Live || !first.SameWorkspace {
		t.Errorf("%+v", first)
	}
}

// What a host may have in its messages: everything but the text of a mention comes back as it is.
const (
	strange = `"1":1.0,"big":123456789012345678901234567890,"huge":1e400,"half":"\ud83d","html":"<b>&é/"`
	plain   = `{"zeta":{` + strange + `},"id":"m1","role":"user","source":{"kind":"user","x":[1.50]},` +
		`"content":[{"type":"text","text":"no mention <here>"}],"alpha":null}`
	foreign = `{"role":"assistant","source":{"kind":"model"},` + strange +
		`,"content":[{"text":"@[x](dsh-session:bad)","type":"text"}]}`
	asking = `{"id":"m3","role":"user",` + strange + `,"source":{"kind":"user","via":-0.0},` +
		`"content":[{"type":"image","data":"…",` + strange + `},{"more":1E2,"type":"text","text":"%s"}],"z":{}}`
)

func TestPreStepWithAMention(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	result, err := sidecar.PreStep(within(t), sessionref.PreStepParams{
		Agent: agent,
		Decision: sessionref.Enter(json.RawMessage(plain), json.RawMessage(foreign), json.RawMessage(
			fmt.Sprintf(asking, `like \ud83d @[Fix login](dsh-session:ImxvZ2luIg) & <so>`))),
	})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := result.Decision.Messages()
	if err != nil || len(messages) != 4 {
		t.Fatalf("%s (%v)", result.Decision.RawMessage, err)
	}
	readable := fmt.Sprintf(asking, `like \ud83d @Fix login & <so>`)
	for i, want := range []string{plain, foreign, readable} {
		if string(messages[i]) != want {
			t.Errorf("message %d is %s\nnot %s", i, messages[i], want)
		}
	}
	if got := texts(t, messages[3]); got != "login: The cookie has no path." {
		t.Error(got)
	}
	outcome := result.Outcomes[0]
	var context sessionref.Message
	if err := json.Unmarshal(messages[3], &context); err != nil {
		t.Fatal(err)
	}
	if len(result.Outcomes) != 1 || outcome.MessageIndex != 2 || string(outcome.MessageID) != `"m3"` ||
		outcome.Status != "prepared" || outcome.ContextID == "" || string(context.ID) != outcome.ContextID {
		t.Errorf("%+v", result.Outcomes)
	}
	described, err := sidecar.DescribeTranscript(within(t), messages)
	if err != nil || len(described.Recalls) != 1 || described.Recalls[0].RecallIndex != 3 ||
		*described.Recalls[0].MessageIndex != 2 || described.Recalls[0].Placement != "after" ||
		described.Recalls[0].References[0].Line != "Fix login — 1 message" {
		t.Errorf("%+v (%v)", described, err)
	}
	reference := outcome.References[0]
	if reference.SessionID != "login" || reference.Label != "Fix login" || reference.Status != "prepared" ||
		reference.Stats.RetainedMessages != 1 || reference.Error != nil {
		t.Errorf("%+v", reference)
	}
}

func TestATranscriptWithoutMessages(t *testing.T) {
	result, err := start(t, real(testkit.Root(t))).DescribeTranscript(within(t), nil)
	if err != nil || len(result.Recalls) != 0 {
		t.Errorf("%+v (%v)", result, err)
	}
}

func TestARejectComesBackAsItIs(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	reject := `{"reason":"<no>","kind":"reject",` + strange + `}`
	result, err := sidecar.PreStep(within(t), sessionref.PreStepParams{
		Agent: agent, Decision: sessionref.Decision{RawMessage: json.RawMessage(reject)},
	})
	if err != nil || string(result.Decision.RawMessage) != reject || len(result.Outcomes) != 0 {
		t.Errorf("%+v (%v)", result, err)
	}
	if messages, err := result.Decision.Messages(); err != nil || len(messages) != 0 {
		t.Error(messages, err)
	}
}

// missing mentions a session that does not exist, and one that does.
const missing = "@[gone](dsh-session:ImdvbmUi) and @[Fix login](dsh-session:ImxvZ2luIg)"

func TestThePolicyDecidesAboutAFailure(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	message := json.RawMessage(fmt.Sprintf(asking, missing))
	step := func(policy *sessionref.Policy) ([]json.RawMessage, []sessionref.Outcome, error) {
		result, err := sidecar.PreStep(within(t), sessionref.PreStepParams{
			Agent: agent, Decision: sessionref.Enter(message), Policy: policy,
		})
		if err != nil {
			return nil, nil, err
		}
		messages, err := result.Decision.Messages()
		return messages, result.Outcomes, err
	}
	for _, policy := range []*sessionref.Policy{nil, sessionref.Native} {
		_, _, err := step(policy)
		var failure *sessionref.Error
		if !errors.As(err, &failure) || failure.Code != sessionref.CodeReadFailed ||
			failure.Data.Cause != "not_found" || *failure.Data.SessionID != "gone" ||
			*failure.Data.MessageIndex != 0 || errors.Is(err, sessionref.ErrRetryable) {
			t.Errorf("%v", err)
		}
	}
	messages, outcomes, err := step(sessionref.NeverBlock)
	if err != nil || len(messages) != 1 || string(messages[0]) != string(message) ||
		outcomes[0].Status != "failed" || outcomes[0].Error.Code != sessionref.CodeReadFailed {
		t.Errorf("%s %+v %v", messages, outcomes, err)
	}
	messages, outcomes, err = step(&sessionref.Policy{Placement: "before", OnFailure: "skip"})
	if err != nil || len(messages) != 2 || texts(t, messages[0]) != "login: The cookie has no path." ||
		string(messages[1]) != fmt.Sprintf(asking, "@gone and @Fix login") ||
		outcomes[0].References[0].Status != "failed" || outcomes[0].References[1].Status != "prepared" {
		t.Errorf("%s %+v %v", messages, outcomes, err)
	}
}

func TestPrepareAndItsPreview(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	label := sessionref.Text("that <one>")
	params := sessionref.PrepareParams{
		Agent:      agent,
		Content:    json.RawMessage(`[{"type":"text","text":"<é>"},{` + strange + `}]`),
		References: append(refer("other"), sessionref.Reference{SessionID: "login", Label: &label}),
	}
	result, err := sidecar.Prepare(within(t), params)
	if err != nil || string(result.Content) != string(params.Content) {
		t.Fatalf("%+v (%v)", result, err)
	}
	sources := quoted(t, result.AdditionalContext)
	if got := texts(t, result.AdditionalContext); got != "other: only on disk; login: The cookie has no path." ||
		sources[1].Label != "that <one>" || *sources[1].CapturedThroughSeq != 1 {
		t.Errorf("%s %+v", got, sources)
	}
	preview, err := sidecar.Preview(within(t), sessionref.PreviewParams{
		Agent: agent,
		References: []sessionref.PreviewReference{
			{Reference: refer("login")[0], CapturedThroughSeq: json.RawMessage("0")},
			{Reference: refer("gone")[0], CapturedThroughSeq: json.RawMessage("null")},
		},
	})
	if err != nil || len(preview.Sources) != 2 || len(preview.Errors) != 1 {
		t.Fatalf("%+v (%v)", preview, err)
	}
	first, second := preview.Sources[0], preview.Sources[1]
	if first.Status != "prepared" || !*first.Stale || *first.CapturedThroughSeq != 1 ||
		*first.Bytes != preview.Totals.Bytes || preview.Totals.RetainedMessages != 1 {
		t.Errorf("%+v %+v", first, preview.Totals)
	}
	if second.Status != "failed" || second.Error.Data.Cause != "not_found" || second.CapturedThroughSeq != nil {
		t.Errorf("%+v", second)
	}
	alone, err := sidecar.Prepare(within(t), sessionref.PrepareParams{Agent: agent, Content: params.Content})
	if err != nil || alone.AdditionalContext != nil || string(alone.Content) != string(params.Content) {
		t.Errorf("%+v (%v)", alone, err)
	}
}

func TestAFailureTellsWhose(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	for id, want := range map[sessionref.Text]struct {
		code  int
		name  string
		cause string
	}{
		"agent":            {sessionref.CodeSelfReference, "SESSION_REFERENCE_SELF_REFERENCE", ""},
		"\xed\xa0\xbdgone": {sessionref.CodeReadFailed, "SESSION_REFERENCE_READ_FAILED", "not_found"},
	} {
		_, err := sidecar.Prepare(within(t), sessionref.PrepareParams{
			Agent: agent, Content: json.RawMessage("[]"), References: refer(id),
		})
		var failure *sessionref.Error
		if !errors.As(err, &failure) || failure.Code != want.code || failure.Data.Code != want.name ||
			failure.Data.Cause != want.cause || *failure.Data.SessionID != id {
			t.Errorf("%q: %v", string(id), err)
		}
	}
}

func TestMentionsOfAnyIdSurviveTheWayThereAndBack(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	for _, id := range []sessionref.Text{
		"login", "", "\xed\xa0\xbd", "a\xed\xb8\x80\xed\xa0\xbdb", "😀/\"\\\x00\n\u2028",
		sessionref.Text(strings.Repeat("长", 5000)),
	} {
		label := "l]\\" + id
		made, err := sidecar.FormatMention(within(t), sessionref.Reference{SessionID: id, Label: &label})
		if err != nil || !strings.HasPrefix(made.URI, "dsh-session:") {
			t.Fatalf("%+v (%v)", made, err)
		}
		const before = "😀 "
		found, err := sidecar.ParseText(within(t), before+made.Mention+" <&>")
		if err != nil || len(found.References) != 1 {
			t.Fatalf("%+v (%v)", found, err)
		}
		reference := found.References[0]
		if reference.SessionID != id || reference.Label != label || reference.Start != 3 ||
			found.Text != before+"@"+label+" <&>" {
			t.Errorf("%+q became %+v", string(id), found)
		}
	}
	bare, err := sidecar.FormatMention(within(t), sessionref.Reference{SessionID: "login"})
	if err != nil || bare.Mention != "@[login](dsh-session:ImxvZ2luIg)" || bare.URI != "dsh-session:ImxvZ2luIg" {
		t.Errorf("%+v (%v)", bare, err)
	}
	_, err = sidecar.ParseText(within(t), "see @[x](dsh-session:bad)")
	var failure *sessionref.Error
	if !errors.As(err, &failure) || failure.Code != sessionref.CodeInvalidReference || *failure.Data.Start != 4 {
		t.Error(err)
	}
}

func TestLongLines(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	text := sessionref.Text(strings.Repeat("é<>", 2_000_000))
	result, err := sidecar.ParseText(within(t), text)
	if err != nil || result.Text != text {
		t.Errorf("%d bytes came back (%v)", len(result.Text), err)
	}
}

// nested is content as deep as said, in which nobody looks.
func nested(levels int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", levels) + strings.Repeat("]", levels))
}

func TestWhatWouldBeRefusedWithoutAnIdIsRefusedHere(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	deepest := sidecar.Info().Limits.MaxLineNesting - 1 // in the braces of the params
	params := func(levels int) sessionref.PrepareParams {
		return sessionref.PrepareParams{Agent: agent, Content: nested(levels)}
	}
	if result, err := sidecar.Prepare(within(t), params(deepest)); err != nil ||
		string(result.Content) != string(nested(deepest)) {
		t.Error(err)
	}
	for _, each := range []sessionref.PrepareParams{
		params(deepest + 1),
		{Agent: agent, Content: json.RawMessage("\"\xff\"")},
		{Agent: agent, Content: json.RawMessage("[")},
	} {
		_, err := sidecar.Prepare(within(t), each)
		if err == nil || !strings.Contains(err.Error(), "cannot be sent") {
			t.Error(err)
		}
	}
	_, err := sidecar.PreStep(within(t), sessionref.PreStepParams{
		Agent: agent, Decision: sessionref.Enter(json.RawMessage(`1],"kind":["reject"`)),
	})
	if err == nil || !strings.Contains(err.Error(), "cannot be sent") {
		t.Error(err)
	}
	if _, err := sidecar.Status(within(t)); err != nil {
		t.Error(err)
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	var all sync.WaitGroup
	for i := 0; i < 64; i++ {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			text := sessionref.Text(fmt.Sprint(n))
			if n%2 == 0 {
				result, err := sidecar.ParseText(within(t), text)
				if err != nil || result.Text != text {
					t.Errorf("%d: %+v (%v)", n, result, err)
				}
				return
			}
			result, err := sidecar.Prepare(within(t), sessionref.PrepareParams{
				Agent: agent, Content: json.RawMessage(fmt.Sprint(n)), References: refer("login"),
			})
			if err != nil || string(result.Content) != fmt.Sprint(n) {
				t.Errorf("%d: %+v (%v)", n, result, err)
			}
		}(i)
	}
	all.Wait()
}

func TestMethodsWithoutAFunctionCanBeCalled(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	var page struct {
		Items []struct{ Role, Text string }
	}
	params := map[string]any{"agent": agent, "sessionId": "login"}
	if err := sidecar.Call(within(t), "readSnapshot", params, &page); err != nil ||
		len(page.Items) != 1 || page.Items[0].Text != "The cookie has no path." {
		t.Errorf("%+v (%v)", page, err)
	}
	var failure *sessionref.Error
	err := sidecar.Call(context.Background(), "noSuchMethod", nil, nil)
	if !errors.As(err, &failure) || failure.Code != sessionref.CodeMethodNotFound {
		t.Error(err)
	}
}

func TestConfigOfTheStartIsACeiling(t *testing.T) {
	options := real(testkit.Root(t))
	options.Config = &sessionref.Config{MaxReferences: 1}
	sidecar := start(t, options)
	tooMany(t, sidecar)
	no := false
	result, err := sidecar.Prepare(within(t), sessionref.PrepareParams{
		CallOptions: sessionref.CallOptions{Config: &sessionref.Config{Enabled: &no}},
		Agent:       agent, Content: json.RawMessage("[]"), References: refer("login", "other"),
	})
	if err != nil || result.AdditionalContext != nil {
		t.Errorf("%+v (%v)", result, err)
	}
}

// tooMany proves that two references are one too many.
func tooMany(t *testing.T, sidecar *sessionref.Sidecar) {
	t.Helper()
	_, err := sidecar.Prepare(within(t), sessionref.PrepareParams{
		Agent: agent, Content: json.RawMessage("[]"), References: refer("login", "other"),
	})
	var failure *sessionref.Error
	if !errors.As(err, &failure) || failure.Code != sessionref.CodeTooMany {
		t.Error(err)
	}
}

func TestScopeAsItIsSpelled(t *testing.T) {
	sidecar := start(t, real(testkit.Root(t)))
	for name, each := range map[string]struct {
		scope sessionref.Scope
		total int64
	}{
		"folders": {sessionref.Scope{Workspaces: []string{"/elsewhere"}}, 0},
		"same":    {sessionref.Scope{Workspaces: "same"}, 2},
		"deny":    {sessionref.Scope{Deny: []sessionref.Text{"login"}}, 1},
	} {
		result, err := sidecar.ListCandidates(within(t), sessionref.ListCandidatesParams{
			CallOptions: sessionref.CallOptions{Config: &sessionref.Config{Scope: &each.scope}},
			Agent:       agent,
		})
		if err != nil || result.Total != each.total {
			t.Errorf("%s: %+v (%v)", name, result, err)
		}
	}
}
