package sessionref_test

// A stand-in for the sidecar, for what the real one does not do.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"example.com/sessionref/internal/testkit"
)

// hang does so for longer than any test. (A process that waits for nothing at all is ended by Go.)
func hang() { time.Sleep(time.Hour) }

// fake is a sidecar that misbehaves in one way, `mode` or `mode:file`. It returns its exit code.
func fake(mode string) int {
	mode, file, _ := strings.Cut(mode, ":")
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil && mode == "stubborn" {
			hang()
		}
		if err != nil {
			return 0
		}
		var request request
		if err := json.Unmarshal([]byte(line), &request); err != nil {
			return 4
		}
		switch {
		case request.Method == "initialize" && mode == "once" && !create(file):
			return 3
		case request.Method == "initialize":
			request.greet(mode)
			continue
		case mode == "stubborn":
			continue
		case mode == "mute":
			os.Stdout.Close()
			hang()
		case mode == "orphan":
			appendTo(file, fmt.Sprintln(leaveOrphan()))
			return 6
		case mode == "record":
			appendTo(file, line)
		}
		if request.Method == "exit" {
			return 0
		}
		request.answer("null")
	}
}

type request struct {
	ID     json.RawMessage
	Method string
}

func (r *request) answer(result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result)
}

// greet answers the first request.
func (r *request) greet(mode string) {
	switch mode {
	case "silent":
	case "garbage":
		fmt.Println("Welcome!")
	case "newer":
		r.answer(`{"protocolVersion":2}`)
	case "deaf":
		os.Stdin.Close()
		r.answer(`{"protocolVersion":1}`)
		hang()
	case "chatty":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 1<<20))
		fallthrough
	default:
		r.answer(`{"protocolVersion":1,"serverInfo":{"name":"fake"}}`)
	}
}

// leaveOrphan starts a process that keeps the ends of our pipes for as long as it lives: its pid.
func leaveOrphan() int {
	orphan := exec.Command(os.Args[0])
	orphan.Env = testkit.Environment("FAKE_SIDECAR=stubborn")
	orphan.Stdin, orphan.Stdout, orphan.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := orphan.Start(); err != nil {
		panic(err)
	}
	return orphan.Process.Pid
}

// create is true the first time.
func create(name string) bool {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		file.Close()
	}
	return err == nil
}

func appendTo(name, line string) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := io.WriteString(file, line); err != nil {
		panic(err)
	}
}
