package sessionref

// The conversation with a peer that the test plays itself, line by line.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"sync"
	"testing"
	"time"
)

const patience = 30 * time.Second

// peer is the other end of a conversation.
type peer struct {
	t     *testing.T
	conv  *conversation
	heard *bufio.Reader
	says  io.WriteCloser
	ended chan error // how listening ended
	log   *strings.Builder
}

func newPeer(t *testing.T, serve server) *peer {
	t.Helper()
	fromUs, toPeer := io.Pipe()
	fromPeer, toUs := io.Pipe()
	var handlers sync.WaitGroup
	p := &peer{t: t, heard: bufio.NewReader(fromUs), says: toUs,
		ended: make(chan error, 1), log: &strings.Builder{}}
	p.conv = newConversation(serve, &handlers, log.New(p.log, "", 0))
	written := make(chan error, 1)
	go func() { written <- p.conv.write(toPeer) }()
	go func() { p.ended <- p.conv.listen(fromPeer) }()
	tooLate := time.AfterFunc(patience, func() { fromUs.Close() })
	t.Cleanup(func() {
		tooLate.Stop()
		toUs.Close()
		fromUs.Close()
		if !p.conv.isOver() {
			p.conv.finish(&CrashError{errors.New("the test is over")})
		}
		handlers.Wait()
		<-written
	})
	return p
}

func (p *peer) hear() string {
	p.t.Helper()
	line, err := p.heard.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) hears(want string) {
	p.t.Helper()
	if line := p.hear(); line != want {
		p.t.Errorf("heard %s\n  not %s", line, want)
	}
}

func (p *peer) say(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.says, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

type outcome struct {
	result string
	err    error
}

// begin asks, and gives what comes of it.
func (p *peer) begin(ctx context.Context, method string, params any) chan outcome {
	came := make(chan outcome, 1)
	go func() {
		var result json.RawMessage
		err := p.conv.call(ctx, method, params, &result)
		came <- outcome{string(result), err}
	}()
	return came
}

func (p *peer) after(came chan outcome) outcome {
	p.t.Helper()
	select {
	case each := <-came:
		return each
	case <-time.After(patience):
		p.t.Fatal("nothing came of it")
		panic("unreachable")
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestAnswersFindTheirRequests(t *testing.T) {
	p := newPeer(t, nil)
	one := p.begin(within(t), "one", nil)
	p.hears(`{"jsonrpc":"2.0","id":1,"method":"one"}`)
	two := p.begin(within(t), "two", map[string]int{"n": 2})
	p.hears(`{"jsonrpc":"2.0","id":2,"method":"two","params":{"n":2}}`)
	p.say(`{"jsonrpc":"2.0","id":2,"result":{"b":1.0,"a":1e400}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32014,"message":"No.","data":{"retryable":true,`+
			`"code":"SESSION_REFERENCE_READ_FAILED","cause":"io","sessionId":"\ud83d","start":0}}}`)
	if got := p.after(two); got.err != nil || got.result != `{"b":1.0,"a":1e400}` {
		t.Error(got)
	}
	var failure *Error
	err := p.after(one).err
	if !errors.As(err, &failure) || !errors.Is(err, ErrRetryable) || failure.Data.Cause != "io" ||
		*failure.Data.SessionID != "\xed\xa0\xbd" || *failure.Data.Start != 0 || failure.Data.End != nil {
		t.Errorf("%v %+v", err, failure)
	}
}

func TestAnErrorThatNoTryMendsIsNotRetryable(t *testing.T) {
	p := newPeer(t, nil)
	came := p.begin(within(t), "one", nil)
	p.hear()
	p.say(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"No."}}`)
	if err := p.after(came).err; errors.Is(err, ErrRetryable) || err.Error() != "sessionref: No. (-32601)" {
		t.Error(err)
	}
}

func TestACancelledCallIsWithdrawnAndItsAnswerDropped(t *testing.T) {
	p := newPeer(t, nil)
	ctx, cancel := context.WithCancel(within(t))
	came := p.begin(ctx, "slow", nil)
	p.hear()
	cancel()
	if err := p.after(came).err; err != context.Canceled {
		t.Error(err)
	}
	p.hears(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
	if p.unanswered() != 0 {
		t.Error("it is remembered")
	}
	p.say(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"Cancelled."}}`,
		`{"jsonrpc":"2.0","id":77,"result":null}`, `{"jsonrpc":"2.0","method":"$/progress","params":{}}`)
	next := p.begin(within(t), "next", nil)
	p.hears(`{"jsonrpc":"2.0","id":2,"method":"next"}`)
	p.say(`{"jsonrpc":"2.0","id":2,"result":"fine"}`)
	if got := p.after(next); got.result != `"fine"` {
		t.Error(got)
	}
}

func TestNothingIsSentOfACallThatIsCancelledBefore(t *testing.T) {
	p := newPeer(t, nil)
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	if err := p.after(p.begin(ctx, "never", nil)).err; err != context.Canceled {
		t.Error(err)
	}
	p.begin(within(t), "next", nil)
	p.hears(`{"jsonrpc":"2.0","id":1,"method":"next"}`)
}

func TestAPeerThatDoesNotReadHoldsUpNobodyWhoCancels(t *testing.T) {
	p := newPeer(t, nil)
	ctx, cancel := context.WithCancel(within(t))
	all := []chan outcome{p.begin(ctx, "long", strings.Repeat("x", 100_000))}
	if _, err := p.heard.Peek(1); err != nil { // and no more: it is stuck in the middle
		t.Fatal(err)
	}
	for i := 0; i < 20; i++ {
		all = append(all, p.begin(ctx, "stuck", nil))
	}
	for p.unanswered() < len(all) {
		time.Sleep(time.Millisecond)
	}
	cancel()
	for _, each := range all {
		if err := p.after(each).err; err != context.Canceled {
			t.Error(err)
		}
	}
	if line := p.hear(); !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":1,"method":"long"`) {
		t.Error(line)
	}
	p.hears(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
}

func (p *peer) unanswered() int {
	p.conv.mu.Lock()
	defer p.conv.mu.Unlock()
	return len(p.conv.waiting)
}

func TestAnAnswerOfAnotherShapeIsAnError(t *testing.T) {
	p := newPeer(t, nil)
	came := make(chan error, 1)
	go func() {
		var result struct{ N int }
		came <- p.conv.call(context.Background(), "one", nil, &result)
	}()
	p.hear()
	p.say(`{"jsonrpc":"2.0","id":1,"result":{"N":"x"}}`)
	if err := <-came; err == nil || !strings.Contains(err.Error(), "another shape") {
		t.Error(err)
	}
}

func TestWhatIsNoMessageEndsTheConversation(t *testing.T) {
	for _, line := range []string{"hello", `[]`, `{"id":1`, `{"method":1}`} {
		p := newPeer(t, nil)
		p.say(line)
		if err := <-p.ended; err == nil || !strings.Contains(err.Error(), "no message") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestTheEndFailsWhatIsInFlightAndWhatComesLater(t *testing.T) {
	p := newPeer(t, nil)
	one, two := p.begin(within(t), "one", nil), p.begin(within(t), "two", nil)
	p.hear()
	p.hear()
	p.conv.finish(&CrashError{errors.New("gone")})
	for _, err := range []error{p.after(one).err, p.after(two).err,
		p.conv.call(within(t), "three", nil, nil), p.conv.notify(within(t), "four", nil)} {
		var crash *CrashError
		if !errors.As(err, &crash) || !errors.Is(err, ErrRetryable) || crash.Reason.Error() != "gone" {
			t.Error(err)
		}
	}
}

func TestAnAnswerThatCameBeforeTheEndCounts(t *testing.T) {
	for round := 0; round < 50; round++ {
		p := newPeer(t, nil)
		came := p.begin(within(t), "one", nil)
		p.hear()
		p.say(`{"jsonrpc":"2.0","id":1,"result":1}`)
		p.says.Close()
		<-p.ended
		p.conv.finish(&CrashError{errors.New("gone")})
		if got := p.after(came); got.result != "1" || got.err != nil {
			t.Fatal(got)
		}
	}
}

func TestARefusalOfNobodysIsLogged(t *testing.T) {
	p := newPeer(t, nil)
	p.say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"No JSON."}}`)
	p.says.Close()
	<-p.ended
	if got := p.log.String(); got != "something was refused: sessionref: No JSON. (-32700)\n" {
		t.Error(got)
	}
}

func TestQuestionsAreAnsweredWithTheirIdsAsTheyAre(t *testing.T) {
	p := newPeer(t, func(_ context.Context, method string, params json.RawMessage) (any, error) {
		switch method {
		case "raw":
			return params, nil
		case "nothing":
			return nil, nil
		case "broken":
			return json.RawMessage(`{"a":`), nil
		case "known":
			return nil, &Error{Code: CodeMethodNotFound, Message: "No."}
		default:
			return nil, errors.New("a secret")
		}
	})
	const big = `123456789012345678901234567890`
	failed := `"error":{"code":-32603,"message":"The host could not answer.","data":{"retryable":false}}}`
	for question, want := range map[string]string{
		`"id":9007199254740993,"method":"raw","params":{"n":1.0}`: `"id":9007199254740993,` +
			`"result":{"n":1.0}}`,
		`"id":` + big + `,"method":"nothing"`: `"id":` + big + `,"result":null}`,
		`"id":"\ud83d<1>","method":"nothing"`: `"id":"\ud83d<1>","result":null}`,
		`"id":1,"method":"broken"`:            `"id":1,` + failed,
		`"id":2,"method":"other"`:             `"id":2,` + failed,
		`"id":3,"method":"known"`:             `"id":3,"error":{"code":-32601,"message":"No.","data":{"retryable":false}}}`,
	} {
		p.say(`{"jsonrpc":"2.0",` + question + `}`)
		p.hears(`{"jsonrpc":"2.0",` + want)
	}
}

func TestQuestionsAreTakenBackByTheirIds(t *testing.T) {
	begun := make(chan context.Context)
	p := newPeer(t, func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
		begun <- ctx
		<-ctx.Done()
		return nil, ctx.Err()
	})
	p.say(`{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`)
	first := <-begun
	p.say(`{"jsonrpc":"2.0","id":9007199254740992,"method":"a"}`)
	second := <-begun
	p.say(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":5}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest"}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":9007199254740992}}`)
	p.hears(`{"jsonrpc":"2.0","id":9007199254740992,"error":{"code":-32800,` +
		`"message":"The request was cancelled.","data":{"retryable":false}}}`)
	if first.Err() != nil || second.Err() == nil {
		t.Error(first.Err(), second.Err())
	}
	p.conv.finish(&CrashError{errors.New("gone")})
	select {
	case <-first.Done():
	case <-time.After(patience):
		t.Error("the end takes no question back")
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	p := newPeer(t, nil)
	const calls = 200
	go func() {
		for i := 0; i < calls; i++ {
			line, err := p.heard.ReadBytes('\n')
			if err != nil {
				return
			}
			var request incoming
			if json.Unmarshal(line, &request) != nil {
				return
			}
			fmt.Fprintf(p.says, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, request.Params)
		}
	}()
	var all sync.WaitGroup
	for i := 0; i < calls; i++ {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			var result struct{ N int }
			err := p.conv.call(within(t), "echo", map[string]int{"N": n}, &result)
			if err != nil || result.N != n {
				t.Errorf("%d came back as %d (%v)", n, result.N, err)
			}
		}(i)
	}
	all.Wait()
}
