package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/sessionref"
	"example.com/sessionref/internal/testkit"
)

func options(t *testing.T) sessionref.Options {
	return sessionref.Options{
		Command: testkit.Command(testkit.Root(t)), Env: testkit.Environment(),
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// encoded is what follows the scheme in the URI of a session.
func encoded(id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(`"` + id + `"`))
}

func TestAChat(t *testing.T) {
	first := fmt.Sprintf("chat-%d-1", os.Getpid())
	in := strings.Join([]string{
		"@login",
		"like @[Fix login](dsh-session:ImxvZ2luIg) <here>",
		"and @[x](dsh-session:bad)",
		"/new",
		"@like",
		"go on with dsh-session:" + encoded(first),
	}, "\n")
	want := strings.Join([]string{
		"  Fix login  @[Fix login](dsh-session:ImxvZ2luIg)",
		"> like @Fix login <here>",
		"  + Fix login — 1 message",
		"! sessionref: *(-32011)",
		fmt.Sprintf("this is chat-%d-2", os.Getpid()),
		"  like @Fix login <here>  @[like @Fix login <here>](dsh-session:" + encoded(first) + ")",
		"> go on with @" + first,
		"  + " + first + " — 1 message",
		"",
	}, "\n")
	var out strings.Builder
	if err := run(within(t), options(t), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(! sessionref: ).*(\(-32011\))`).ReplaceAllString(out.String(), "$1*$2")
	if got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}
