// Command chat is a host in small: it takes a person's messages, has the sidecar expand what they refer
// to, and keeps the sessions that an agent would work on. There is no agent.
//
//	go run ./cmd/chat -sidecar ../../../.venv/bin/sessionref -root ~/.dsh/sessions
//
// `@` and a word lists what could be meant, `/new` begins another session, anything else is a message.
// Ctrl-C stops the turn.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"

	"example.com/sessionref"
)

func main() {
	program := flag.String("sidecar", "sessionref", "the sidecar's program")
	root := flag.String("root", "", "a folder of sessions; by default that of the sidecar")
	flag.Parse()
	command := []string{*program}
	if *root != "" {
		command = append(command, "--root", *root)
	}
	options := sessionref.Options{Command: command, Log: log.Default()}
	if err := run(context.Background(), options, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run chats until the input ends.
func run(ctx context.Context, options sessionref.Options, in io.Reader, out io.Writer) error {
	chats := &chats{}
	chats.begin()
	options.Client = sessionref.ClientInfo{Name: "chat"}
	options.Live = chats
	sidecar, err := sessionref.Start(ctx, options)
	if err != nil {
		return err
	}
	host := &host{sidecar, chats, out}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			host.turn(ctx, line)
		}
	}
	closed := sidecar.Close(ctx)
	if err := lines.Err(); err != nil {
		return err
	}
	return closed
}

type host struct {
	sidecar *sessionref.Sidecar
	chats   *chats
	out     io.Writer
}

// turn does what a line says, unless Ctrl-C comes before it is done.
func (h *host) turn(ctx context.Context, line string) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	var err error
	switch {
	case line == "/new":
		fmt.Fprintf(h.out, "this is %s\n", h.chats.begin())
	case strings.HasPrefix(line, "@") && !strings.ContainsAny(line, " ["):
		err = h.list(ctx, line[1:])
	default:
		err = h.send(ctx, line)
	}
	if err != nil {
		fmt.Fprintf(h.out, "! %v\n", err)
	}
}

// list shows what a person could mean, and the text to insert.
func (h *host) list(ctx context.Context, query string) error {
	found, err := h.sidecar.ListCandidates(ctx, sessionref.ListCandidatesParams{
		Agent: h.chats.agent(), Query: sessionref.Text(query), Limit: 5,
	})
	if err != nil {
		return err
	}
	for _, each := range found.Candidates {
		fmt.Fprintf(h.out, "  %s  %s\n", each.Display.Label, each.Mention)
	}
	return nil
}

// send is the step before the agent's: it stores what the sidecar makes of a message.
func (h *host) send(ctx context.Context, text string) error {
	message, err := h.chats.compose(text)
	if err != nil {
		return err
	}
	params := sessionref.PreStepParams{
		Agent: h.chats.agent(), Decision: sessionref.Enter(message),
	}
	result, err := h.sidecar.PreStep(ctx, params)
	if errors.Is(err, sessionref.ErrRetryable) { // the sidecar died just now, for example
		result, err = h.sidecar.PreStep(ctx, params)
	}
	if err != nil {
		return err
	}
	messages, err := result.Decision.Messages()
	if err != nil {
		return err
	}
	if err := h.chats.store(messages); err != nil {
		return err
	}
	return h.show(ctx, messages)
}

// show shows messages: of a recall one line for each source, never its text.
func (h *host) show(ctx context.Context, messages []json.RawMessage) error {
	described, err := h.sidecar.DescribeTranscript(ctx, messages)
	if err != nil {
		return err
	}
	recalls := map[int][]sessionref.DescribedReference{}
	for _, each := range described.Recalls {
		recalls[each.RecallIndex] = each.References
	}
	for i, raw := range messages {
		for _, each := range recalls[i] {
			fmt.Fprintf(h.out, "  + %s\n", each.Line)
		}
		if recalls[i] == nil {
			fmt.Fprintf(h.out, "> %s\n", textOf(raw))
		}
	}
	return nil
}
