package sessionref

// One conversation with one process: requests and their answers, both ways. It knows lines, not
// processes; when it is over it stays so. The reader never waits for the writer, and nobody who can
// be cancelled waits for either.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"strconv"
	"sync"
	"sync/atomic"
)

type outgoing struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  *any            `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// server answers what the sidecar asks. Its context ends when the sidecar takes the question back.
type server func(ctx context.Context, method string, params json.RawMessage) (any, error)

// idParams are those of `$/cancelRequest`. Ids are compared as they are spelled: each side is the
// only one to spell its own, and no size of an integer is lost.
type idParams struct {
	ID json.RawMessage `json:"id"`
}

type conversation struct {
	serve    server
	handlers *sync.WaitGroup // counts questions that are being answered
	log      *log.Logger
	limits   atomic.Pointer[Limits]
	lines    chan []byte
	over     chan struct{} // closed once no answer can come any more

	mu      sync.Mutex
	lastID  int64
	waiting map[string]chan incoming      // by the id of our request
	serving map[string]context.CancelFunc // by the id of theirs
	err     error                         // why it is over
	tasks   sync.WaitGroup                // ours: they end when it is over
}

func newConversation(serve server, handlers *sync.WaitGroup, log *log.Logger) *conversation {
	c := &conversation{
		serve:    serve,
		handlers: handlers,
		log:      log,
		lines:    make(chan []byte),
		over:     make(chan struct{}),
		waiting:  map[string]chan incoming{},
		serving:  map[string]context.CancelFunc{},
	}
	c.limits.Store(&promisedLimits)
	return c
}

// call asks and waits for the answer, at most as long as ctx lasts. Then the request is withdrawn,
// and an answer that still comes is dropped.
func (c *conversation) call(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id, answers := c.expect()
	defer c.forget(id)
	request := outgoing{ID: json.RawMessage(id), Method: method, Params: params}
	if err := c.send(ctx, request); err != nil {
		return err
	}
	select {
	case answer := <-answers:
		return answer.into(result)
	case <-ctx.Done():
		c.withdraw(id)
		return ctx.Err()
	case <-c.over:
	}
	select {
	case answer := <-answers: // it came just before the end
		return answer.into(result)
	default:
		return c.err
	}
}

func (m *incoming) into(result any) error {
	if m.Error != nil {
		return m.Error
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("sessionref: the answer has another shape: %w", err)
	}
	return nil
}

func (c *conversation) notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, outgoing{Method: method, Params: params})
}

// send hands a message to the writer: what is sent first is written first.
func (c *conversation) send(ctx context.Context, message outgoing) error {
	line, err := encodeLine(message, c.limits.Load())
	if err != nil {
		return err
	}
	select {
	case c.lines <- line:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.over:
		return c.err
	}
}

func (c *conversation) expect() (string, chan incoming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	id := strconv.FormatInt(c.lastID, 10)
	answers := make(chan incoming, 1)
	c.waiting[id] = answers
	return id, answers
}

func (c *conversation) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// withdraw tells the sidecar that nobody waits for an answer any more, without waiting for it.
func (c *conversation) withdraw(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.tasks.Add(1)
	go func() {
		defer c.tasks.Done()
		_ = c.notify(context.Background(), "$/cancelRequest", idParams{json.RawMessage(id)})
	}()
}

// write writes what is sent until the conversation is over, or the error that it can't.
func (c *conversation) write(out io.Writer) error {
	for {
		select {
		case line := <-c.lines:
			if _, err := out.Write(line); err != nil {
				return err
			}
		case <-c.over:
			return nil
		}
	}
}

// listen takes what is heard until the input ends (io.EOF) or has something that is no message.
func (c *conversation) listen(in io.Reader) error {
	lines := newLineReader(in, maxAnswerBytes)
	for {
		line, err := lines.next()
		if err != nil {
			return err
		}
		var message incoming
		if err := json.Unmarshal(line, &message); err != nil {
			return fmt.Errorf("it wrote a line that is no message: %w", err)
		}
		c.take(&message)
	}
}

func (c *conversation) take(message *incoming) {
	switch {
	case message.Method == "":
		c.settle(message)
	case message.ID != nil:
		c.answer(message)
	case message.Method == "$/cancelRequest":
		c.cancel(message.Params)
	}
}

func (c *conversation) settle(answer *incoming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answers, ok := c.waiting[string(answer.ID)]; ok {
		delete(c.waiting, string(answer.ID))
		answers <- *answer
	} else if answer.Error != nil && string(answer.ID) == "null" {
		c.log.Printf("something was refused: %v", answer.Error)
	}
}

func (c *conversation) answer(question *incoming) {
	id := string(question.ID)
	ctx, cancel := context.WithCancel(context.Background())
	c.mu.Lock()
	c.serving[id] = cancel
	c.mu.Unlock()
	c.handlers.Add(1)
	go func() {
		defer c.handlers.Done()
		result, err := c.serve(ctx, question.Method, question.Params)
		c.mu.Lock()
		delete(c.serving, id)
		c.mu.Unlock()
		cancel()
		c.reply(question, result, err)
	}()
}

// reply answers a question, and an answer that cannot be sent is an error as well.
func (c *conversation) reply(question *incoming, result any, err error) {
	if err == nil {
		err = c.send(context.Background(), outgoing{ID: question.ID, Result: &result})
		if err == nil || c.isOver() {
			return
		}
	}
	var failure *Error
	if !errors.As(err, &failure) {
		c.log.Printf("%s: %v", question.Method, err)
		failure = &Error{Code: CodeInternal, Message: "The host could not answer."}
		if errors.Is(err, context.Canceled) {
			failure = &Error{Code: CodeCancelled, Message: "The request was cancelled."}
		}
	}
	_ = c.send(context.Background(), outgoing{ID: question.ID, Error: failure})
}

func (c *conversation) cancel(raw json.RawMessage) {
	var params idParams
	if json.Unmarshal(raw, &params) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.serving[string(params.ID)]; ok {
		cancel()
	}
}

// finish ends the conversation: who waits for an answer, and later who asks, gets this error.
func (c *conversation) finish(err error) {
	c.mu.Lock()
	c.err = err
	close(c.over)
	for _, cancel := range c.serving {
		cancel()
	}
	c.mu.Unlock()
	c.tasks.Wait()
}

func (c *conversation) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}
