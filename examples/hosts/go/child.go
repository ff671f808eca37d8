package sessionref

// One process of the sidecar, from its start to its last word. It is started once; that another one
// follows is decided elsewhere.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"sync"
	"time"
)

// lastWords is how long what a process wrote before its end may take to be heard, and how long it may
// live without its output.
const lastWords = time.Second

type child struct {
	*conversation
	command *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	info    InitializeResult
	gone    chan struct{} // closed when the process has ended and all of this with it
}

// spawn starts the program. The error is that of the system, if it cannot be started at all.
func spawn(options *Options, serve server, handlers *sync.WaitGroup) (*child, error) {
	command := exec.Command(options.Command[0], options.Command[1:]...)
	command.Env = options.Env
	command.SysProcAttr = ownGroup()
	files, err := pipes(3)
	if err != nil {
		return nil, err
	}
	command.Stdin, command.Stdout, command.Stderr = files[0].reader, files[1].writer, files[2].writer
	err = command.Start()
	files[0].reader.Close()
	files[1].writer.Close()
	files[2].writer.Close()
	c := &child{
		conversation: newConversation(serve, handlers, options.Log),
		command:      command,
		stdin:        files[0].writer,
		stdout:       files[1].reader,
		stderr:       files[2].reader,
		gone:         make(chan struct{}),
	}
	if err != nil {
		c.closeFiles()
		return nil, err
	}
	go c.run()
	return c, nil
}

type pipe struct{ reader, writer *os.File }

func pipes(count int) ([]pipe, error) {
	made := make([]pipe, 0, count)
	for len(made) < count {
		reader, writer, err := os.Pipe()
		if err != nil {
			for _, each := range made {
				each.reader.Close()
				each.writer.Close()
			}
			return nil, err
		}
		made = append(made, pipe{reader, writer})
	}
	return made, nil
}

// run goes on until the process has ended and what it wrote is read.
func (c *child) run() {
	defer close(c.gone)
	var unheard, exit error
	var lastLine string
	heard := inBackground(func() { unheard = c.listen(c.stdout) })
	logged := inBackground(func() { lastLine = logLines(c.stderr, c.log) })
	exited := inBackground(func() { exit = c.command.Wait() })
	written := inBackground(func() {
		if c.write(c.stdin) != nil {
			c.kill() // it does not listen any more
		}
	})

	stopped := false
	select {
	case <-exited:
	case <-heard:
		stopped = !errors.Is(unheard, io.EOF) || !waitFor(exited, lastWords)
		c.kill()
		<-exited
	}
	// Somebody else may hold the other ends: they are heard no longer than this.
	end := time.Now().Add(lastWords)
	c.stdout.SetReadDeadline(end)
	c.stderr.SetReadDeadline(end)
	<-heard
	<-logged
	c.finish(&CrashError{reason(unheard, stopped, exit, lastLine)})
	c.stdin.Close()
	<-written
	c.closeFiles()
}

// inBackground does something, and closes the channel when it is done.
func inBackground(work func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	return done
}

// reason is why a process ended: what was wrong with its output, or else how it exited. One that
// ended by itself, and not well, has said why in its last line.
func reason(unheard error, stopped bool, exit error, lastLine string) error {
	var status *exec.ExitError
	switch {
	case !errors.Is(unheard, io.EOF) && !errors.Is(unheard, os.ErrDeadlineExceeded):
		return unheard
	case stopped:
		return errors.New("it closed its output")
	case exit == nil:
		return errors.New("exit status 0")
	case errors.As(exit, &status) && status.Exited() && lastLine != "":
		return fmt.Errorf("%w: %s", exit, lastLine)
	default:
		return exit
	}
}

func (c *child) closeFiles() {
	c.stdin.Close()
	c.stdout.Close()
	c.stderr.Close()
}

func (c *child) kill() {
	_ = c.command.Process.Kill() // it may be gone
}

// initialize is the first request. A sidecar that speaks another version is refused.
func (c *child) initialize(ctx context.Context, params *initializeParams) error {
	c.info.Limits = promisedLimits
	if err := c.call(ctx, "initialize", params, &c.info); err != nil {
		return err
	}
	if c.info.ProtocolVersion != protocolVersion {
		return fmt.Errorf("sessionref: it speaks protocol version %d, not %d",
			c.info.ProtocolVersion, protocolVersion)
	}
	c.limits.Store(&c.info.Limits)
	return nil
}

// end asks the process to end, and kills it when ctx does.
func (c *child) end(ctx context.Context) error {
	if c.call(ctx, "shutdown", nil, nil) == nil && c.notify(ctx, "exit", nil) == nil {
		select {
		case <-c.gone:
		case <-ctx.Done():
		}
	}
	if !c.isOver() {
		c.kill()
		return ErrKilled
	}
	if state := c.command.ProcessState; !state.Success() {
		return fmt.Errorf("sessionref: the sidecar ended with %v", state)
	}
	return nil
}

// logLines logs what is written to stderr, a line at a time, long ones in pieces. It returns the last.
func logLines(stderr io.Reader, log *log.Logger) string {
	lines := bufio.NewReader(stderr)
	last := ""
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return last
		}
		last = string(line)
		log.Printf("stderr: %s", last)
	}
}
