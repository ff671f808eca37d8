package sessionref

// Bytes to lines and values to lines: one compact JSON value a line, UTF-8, ended by 0x0A. Nothing
// here knows what is in a message.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxAnswerBytes bounds one line of the sidecar. It never queues more than this for a host.
const maxAnswerBytes = 256 << 20

var errLineTooLong = errors.New("a line of it is too long")

// lineReader reads lines of any length up to a limit. (A bufio.Scanner would stop at 64 KiB.)
type lineReader struct {
	in    *bufio.Reader
	limit int
}

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), limit: limit}
}

// next is the next line that is not blank, without its end. What has no end when the input is over
// was cut short by a crash, and is dropped.
func (r *lineReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(bytes.TrimSuffix(part, []byte("\n"))) > r.limit {
			return nil, errLineTooLong
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// encodeJSON is json.Marshal without its escapes for HTML, which would change what is passed on.
func encodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// encodeLine is a message's line, or the error that it is none the sidecar would take. It must not be
// sent then: such a line is refused without an id, so that its request would wait for ever.
func encodeLine(message outgoing, limits *Limits) ([]byte, error) {
	message.JSONRPC = "2.0"
	line, err := encodeJSON(message)
	switch {
	case err != nil:
		return nil, fmt.Errorf("sessionref: cannot be sent: %w", err)
	case !utf8.Valid(line):
		return nil, errors.New("sessionref: cannot be sent: it is not UTF-8")
	case len(line) > limits.MaxLineBytes:
		return nil, fmt.Errorf("sessionref: cannot be sent: %d bytes are more than %d",
			len(line), limits.MaxLineBytes)
	case depth(line) > limits.MaxLineNesting+1: // that of the params, in the message's own braces
		return nil, fmt.Errorf("sessionref: cannot be sent: nested deeper than %d levels",
			limits.MaxLineNesting)
	}
	return append(line, '\n'), nil
}

// depth is how deep a well-formed JSON text is nested.
func depth(text []byte) int {
	deepest, now := 0, 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '{', '[':
			if now++; now > deepest {
				deepest = now
			}
		case '}', ']':
			now--
		case '"':
			for at++; text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		}
	}
	return deepest
}
