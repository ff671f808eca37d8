// Package testkit has what the tests of the kit share: the installed program, and sessions for it to
// read. It knows nothing of how the program is asked.
package testkit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
)

// Project is the folder that all sessions belong to, and Created when they were made.
const (
	Project = "/work/shop"
	Created = 1_700_000_000_000
)

// Program is the sidecar under test: that of SESSIONREF, or the one that `make install` made.
func Program() string {
	if path := os.Getenv("SESSIONREF"); path != "" {
		return path
	}
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "../../../../../.venv/bin/sessionref")
}

// Command is that program on a root, leaving nothing behind.
func Command(root string) []string { return []string{Program(), "--root", root, "--no-index"} }

// Environment is ours without what could change the sidecar's answers, and with more.
func Environment(more ...string) []string {
	unwanted := regexp.MustCompile(`^(SESSIONREF|DSH|PYTHON)`)
	var clean []string
	for _, each := range os.Environ() {
		if !unwanted.MatchString(each) {
			clean = append(clean, each)
		}
	}
	return append(clean, more...) // the last one of a name counts
}

// Row is an event of a session, or a part of one.
type Row = map[string]any

// User is a message of a person.
func User(text string) Row {
	data := Row{"id": "m", "role": "user", "source": Row{"kind": "user"},
		"content": []Row{{"type": "text", "text": text}}}
	return Row{"type": "user/message", "data": data, "surfaceOp": "append"}
}

// Title is a title of the session.
func Title(text string) Row {
	data := Row{"title": text, "messageSeqs": []int{}, "source": Row{"kind": "user"}}
	return Row{"type": "session/title", "data": data}
}

// Lines gives rows their places: the line number n, from 0, is the event with the seq n.
func Lines(rows ...Row) []json.RawMessage {
	var lines []json.RawMessage
	for seq, each := range rows {
		event := Row{"seq": seq, "time": Created + seq}
		for name, value := range each {
			event[name] = value
		}
		line, err := json.Marshal(event)
		if err != nil {
			panic(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// Store writes a session of format 0 below a root, where its id (letters and `-` only) says.
func Store(t *testing.T, root, id string, rows ...Row) {
	t.Helper()
	text := fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":%d,"cwd":%q,`+
		`"delegationDepth":0}`+"\n", id, Created, Project)
	for _, line := range Lines(rows...) {
		text += string(line) + "\n"
	}
	folder := filepath.Join(root, "--work-shop--", id)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "session.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Login is the mention of the session "login" in Root.
const Login = "@[Fix login](dsh-session:ImxvZ2luIg)"

// Root has the sessions "login" and "other".
func Root(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	Store(t, root, "login", User("The cookie has no path."), Title("Fix login"))
	Store(t, root, "other", User("only on disk"), Title("Other"))
	return root
}
