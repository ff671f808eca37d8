package main

// The sessions of this host: in memory, and told to the sidecar as live ones.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"example.com/sessionref"
)

// formatVersion is the log format that the events of a chat have.
const formatVersion = 0

type chats struct {
	mu  sync.Mutex // the sidecar asks whenever it likes
	all []*chat
}

type chat struct {
	header sessionref.LiveSession
	events []sessionref.LiveEvent
}

// begin begins another chat, the current one from now on.
func (c *chats) begin() sessionref.Text {
	c.mu.Lock()
	defer c.mu.Unlock()
	version, running := formatVersion, true
	id := sessionref.Text(fmt.Sprintf("chat-%d-%d", os.Getpid(), len(c.all)+1))
	cwd, _ := os.Getwd() // without one, a chat belongs nowhere
	header := sessionref.LiveSession{
		ID: id, CreatedAt: time.Now().UnixMilli(), Version: &version, Running: &running,
		Cwd: (*sessionref.Text)(&cwd),
	}
	c.all = append(c.all, &chat{header: header})
	return id
}

func (c *chats) current() *chat { return c.all[len(c.all)-1] }

func (c *chats) agent() sessionref.Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	header := c.current().header
	return sessionref.Agent{ID: header.ID, Cwd: *header.Cwd}
}

// compose makes a message of what a person wrote.
func (c *chats) compose(text string) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return json.Marshal(sessionref.Message{
		ID:      sessionref.Text(fmt.Sprintf("m%d", len(c.current().events))),
		Role:    "user",
		Source:  sessionref.Source{Kind: "user"},
		Content: []sessionref.Block{{Type: "text", Text: sessionref.Text(text)}},
	})
}

// store appends messages as they are. The first of a person is the title of its chat; a recall never
// is, since its text is another session's.
func (c *chats) store(messages []json.RawMessage) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	chat := c.current()
	for _, raw := range messages {
		var message sessionref.Message
		if err := json.Unmarshal(raw, &message); err != nil {
			return err
		}
		if chat.header.Title == nil && message.Source.Kind != sessionref.RecallKind {
			title := message.Content[0].Text
			chat.header.Title = &title
		}
		seq := int64(len(chat.events))
		event := fmt.Sprintf(`{"seq":%d,"time":%d,"type":"user/message","data":%s,"surfaceOp":"append"}`,
			seq, time.Now().UnixMilli(), raw)
		chat.events = append(chat.events, sessionref.LiveEvent{Seq: seq, JSON: json.RawMessage(event)})
	}
	return nil
}

func textOf(raw json.RawMessage) sessionref.Text {
	var message sessionref.Message
	if json.Unmarshal(raw, &message) != nil || len(message.Content) == 0 {
		return ""
	}
	return message.Content[0].Text
}

// List is for the sidecar.
func (c *chats) List(context.Context) ([]sessionref.LiveSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var headers []sessionref.LiveSession
	for _, each := range c.all {
		headers = append(headers, each.header)
	}
	return headers, nil
}

// Read is for the sidecar.
func (c *chats) Read(
	_ context.Context, id sessionref.Text, after *int64,
) (*sessionref.LivePage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, each := range c.all {
		if each.header.ID == id {
			return sessionref.Page(each.header, each.events, after), nil
		}
	}
	return nil, nil
}
