package sessionref

// Messages and decisions, which are the host's: looked into where that is needed, and never rebuilt.

import "encoding/json"

// Decision is what the host's own listeners decided about the next step, passed on byte for byte.
type Decision struct{ json.RawMessage }

// Enter is the decision to go on with these messages.
func Enter(messages ...json.RawMessage) Decision {
	if messages == nil {
		messages = []json.RawMessage{}
	}
	text, err := encodeJSON(decision{"enter", messages})
	if err != nil {
		text = json.RawMessage(`{`) // a message is no JSON: sending it will say so
	}
	return Decision{text}
}

type decision struct {
	Kind     string            `json:"kind"`
	Messages []json.RawMessage `json:"messages"`
}

// Messages are those of a decision to enter, byte for byte; none of one to reject.
func (d Decision) Messages() ([]json.RawMessage, error) {
	var parts decision
	err := json.Unmarshal(d.RawMessage, &parts)
	return parts.Messages, err
}

// Message is what most hosts look at in a message. Reading it leaves the raw one as it is.
type Message struct {
	ID      Text    `json:"id"`
	Role    string  `json:"role"`
	Source  Source  `json:"source"`
	Content []Block `json:"content"`
}

// Source is where a message comes from.
type Source struct {
	Kind string `json:"kind"`
}

// RecallKind is the source kind of a context message: store it, show it as one line, and keep it out
// of what a session's title is made from.
const RecallKind = "session-reference"

// Block is a part of a message's content.
type Block struct {
	Type string `json:"type"`
	Text Text   `json:"text,omitempty"`
}

// Policy says where the context goes and what a failure does. See Native and NeverBlock.
type Policy struct {
	// Placement is "after" or "before" the message.
	Placement string `json:"placement"`
	// OnFailure is "terminate", "passthrough" or "skip".
	OnFailure string `json:"onFailure"`
}

var (
	// Native ends the request with the error of the first message that fails.
	Native = &Policy{"after", "terminate"}
	// NeverBlock lets a message that fails go on untouched.
	NeverBlock = &Policy{"before", "passthrough"}
)
