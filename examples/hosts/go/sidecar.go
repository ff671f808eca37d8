package sessionref

// The sidecar as its host sees it: there, although its processes come and go.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"
)

// killed is how long a process that was killed gets to be gone. One that is stuck in the kernel is
// left behind.
const killed = 2 * time.Second

// Options says how the sidecar is started. The zero value starts `sessionref` from the PATH.
type Options struct {
	// Command is the program and its flags. Default {"sessionref"}.
	Command []string
	// Env is the environment, as in exec.Cmd. Default that of this process.
	Env []string
	// Client is who you are, for the sidecar's log.
	Client ClientInfo
	// Config holds ceilings for every request.
	Config *Config
	// Live, if any, is asked for the sessions that you hold in memory; they are ahead of the disk.
	Live LiveSessions
	// Log gets what the sidecar writes to stderr, and when it ends and starts. Default: nobody.
	Log *log.Logger
	// Restart says how often it is started again.
	Restart Restart
	// StartTimeout bounds each start, the first answer included. Default 30 s.
	StartTimeout time.Duration
	// CloseTimeout bounds how long Close lets it end by itself. Default 5 s.
	CloseTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if len(o.Command) == 0 {
		o.Command = []string{"sessionref"}
	}
	if o.Log == nil {
		o.Log = log.New(io.Discard, "", 0)
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 30 * time.Second
	}
	if o.CloseTimeout == 0 {
		o.CloseTimeout = 5 * time.Second
	}
	o.Restart = o.Restart.withDefaults()
	return o
}

// Sidecar is a running sidecar, which is started again when it dies.
type Sidecar struct {
	options  Options
	restarts restarts
	handlers sync.WaitGroup

	life context.Context // ends with Close
	stop context.CancelFunc
	done chan struct{} // closed when nothing of it runs any more

	mu      sync.Mutex
	child   *child
	err     error         // why there will be no answers any more
	changed chan struct{} // closed when child or err changes

	closing sync.Once
	closed  error
}

// Start starts the sidecar and agrees with it on the protocol. ctx bounds the start only; a
// sidecar that was started is to be closed.
func Start(ctx context.Context, options Options) (*Sidecar, error) {
	options = options.withDefaults()
	s := &Sidecar{
		options:  options,
		restarts: restarts{Restart: options.Restart},
		done:     make(chan struct{}),
		changed:  make(chan struct{}),
	}
	first, err := s.launch(ctx)
	if err != nil {
		return nil, fmt.Errorf("sessionref: %s did not start: %w", options.Command[0], err)
	}
	s.child = first
	s.life, s.stop = context.WithCancel(context.Background())
	go s.supervise(first)
	return s, nil
}

// launch starts a process and initializes it.
func (s *Sidecar) launch(ctx context.Context) (*child, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.StartTimeout)
	defer cancel()
	started, err := spawn(&s.options, serveLive(s.options.Live), &s.handlers)
	if err != nil {
		return nil, err
	}
	if err := started.initialize(ctx, newInitializeParams(&s.options)); err != nil {
		started.kill()
		waitFor(started.gone, killed)
		var crash *CrashError
		if errors.As(err, &crash) {
			return nil, crash.Reason // nothing was asked that could be asked again
		}
		return nil, err
	}
	return started, nil
}

// supervise starts a new process whenever one ends, until Close or the limit.
func (s *Sidecar) supervise(running *child) {
	defer close(s.done)
	defer s.handlers.Wait()
	<-running.gone
	last := running.conversation.err.(*CrashError).Reason
	for s.life.Err() == nil {
		delay, more := s.restarts.next(time.Now())
		if !more {
			s.options.Log.Printf("the sidecar ended (%v) and is not started again", last)
			s.change(nil, fmt.Errorf("%w; the last time: %v", ErrGaveUp, last))
			return
		}
		s.options.Log.Printf("the sidecar ended (%v); it is started again in %v", last, delay)
		if waitFor(s.life.Done(), delay) {
			return
		}
		next, err := s.launch(s.life)
		if err != nil {
			last = err
			continue
		}
		if !s.change(next, nil) {
			next.kill() // Close came first, and knew of the one before only
		}
		<-next.gone
		last = next.conversation.err.(*CrashError).Reason
	}
}

// change says what answers requests from now on: another process, or an error. False after Close.
func (s *Sidecar) change(next *child, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	if next != nil {
		s.child = next
	}
	s.err = err
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// running is the process to ask, as soon as there is one.
func (s *Sidecar) running(ctx context.Context) (*child, error) {
	for {
		s.mu.Lock()
		current, err, changed := s.child, s.err, s.changed
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if !current.isOver() {
			return current, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Call asks for any method, such as those that have no function of their own here. A nil result is
// not looked at; params and result are as for encoding/json. Where ctx is done first, the
// sidecar is told and ctx.Err() returned at once.
func (s *Sidecar) Call(ctx context.Context, method string, params, result any) error {
	current, err := s.running(ctx)
	if err != nil {
		return err
	}
	return current.call(ctx, method, params, result)
}

// Info is what the process that runs, or ran last, said of itself when it started.
func (s *Sidecar) Info() InitializeResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child.info
}

// Pid is the id of the process that runs, or ran last.
func (s *Sidecar) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child.command.Process.Pid
}

// Close ends the sidecar: requests in flight are answered, the process is asked to end, and killed
// if it has not within CloseTimeout or when ctx is done. Nothing of it runs afterwards, except what
// a LiveSessions does whose context is done. The error is ErrKilled, or how else it ended badly.
func (s *Sidecar) Close(ctx context.Context) error {
	s.closing.Do(func() { s.closed = s.close(ctx) })
	return s.closed
}

func (s *Sidecar) close(ctx context.Context) error {
	s.mu.Lock()
	current, gaveUp := s.child, s.err != nil
	if !gaveUp {
		s.err = ErrClosed
		close(s.changed)
	}
	s.mu.Unlock()
	s.stop()
	var err error
	if !gaveUp && !current.isOver() {
		ctx, cancel := context.WithTimeout(ctx, s.options.CloseTimeout)
		defer cancel()
		err = current.end(ctx)
	}
	waitFor(s.done, killed)
	return err
}

// waitFor waits until something is done, at most so long; false if it is not.
func waitFor(done <-chan struct{}, atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
