// Package sessionref is a host's side of the sessionref sidecar: it starts the program, asks it,
// answers what it is asked of live sessions, and starts it again when it dies.
//
//	sidecar, err := sessionref.Start(ctx, sessionref.Options{Command: []string{"sessionref"}})
//	…
//	defer sidecar.Close(context.Background())
//	result, err := sidecar.PreStep(ctx, sessionref.PreStepParams{
//		Agent:    sessionref.Agent{ID: "my-session", Cwd: "/work/shop"},
//		Decision: sessionref.Enter(messages...),
//	})
//
// Standard library only. All methods may be called by several goroutines at once.
//
// # What is passed on untouched
//
// Messages, content and decisions are [json.RawMessage]: members that this package does not know, the
// order of members and the spelling of numbers survive the way there and back byte for byte. Only
// white space between tokens goes, since a message travels as one line. What this package does look
// into is decoded by encoding/json, which would replace an unpaired surrogate (legal in the session
// ids and texts of ECMAScript hosts) by U+FFFD; so such members are [Text], which keeps it.
//
// # Errors
//
// Every error that another try may mend is ErrRetryable by errors.Is: that of a request in flight
// when the sidecar died (*CrashError), and those that the sidecar calls so (*Error). A context that
// is done gives its own error, and the sidecar is told. After ErrGaveUp and ErrClosed there will be
// no answers any more.
package sessionref
