package sessionref

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(in io.Reader, limit int) ([]string, error) {
	reader := newLineReader(in, limit)
	var lines []string
	for {
		line, err := reader.next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

func TestLinesEndAt0AOnlyHoweverTheyAreCut(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	input := "{\"a\":\"\u2028\f\"}\n\n \r\n[1]\r\n" + long + "\ncut short"
	want := []string{"{\"a\":\"\u2028\f\"}", "[1]", long}
	for name, in := range map[string]io.Reader{
		"whole":  strings.NewReader(input),
		"halves": iotest.HalfReader(strings.NewReader(input)),
		"bytes":  iotest.OneByteReader(strings.NewReader(input)),
	} {
		lines, err := readAll(in, len(long))
		if !errors.Is(err, io.EOF) || strings.Join(lines, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %d lines, %v", name, len(lines), err)
		}
	}
}

func TestLineOverTheLimitIsRefused(t *testing.T) {
	for length, want := range map[int]error{100_000: io.EOF, 100_001: errLineTooLong} {
		line := strings.Repeat("x", length)
		if _, err := readAll(strings.NewReader(line+"\n"), 100_000); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	endless := io.MultiReader(strings.NewReader("{"), endless('x'))
	if _, err := readAll(endless, 1_000_000); !errors.Is(err, errLineTooLong) {
		t.Errorf("a line without an end: %v", err)
	}
}

type endless byte

func (e endless) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = byte(e)
	}
	return len(into), nil
}

func TestWhatIsPassedOnIsNotRespelled(t *testing.T) {
	params := json.RawMessage("{ \"b\": 1.0,\n\t\"a\":[1e400, 123456789012345678901234567890],\r\n" +
		"\"c\":\"<b>&\\ud83d\\/ \u2028 \\u00e9\" }")
	line, err := encodeLine(outgoing{ID: json.RawMessage("1"), Params: params}, &promisedLimits)
	want := `{"jsonrpc":"2.0","id":1,"params":{"b":1.0,"a":[1e400,123456789012345678901234567890],` +
		"\"c\":\"<b>&\\ud83d\\/ \u2028 \\u00e9\"}}\n"
	if err != nil || string(line) != want {
		t.Errorf("%s (%v)", line, err)
	}
}

func TestWhatTheSidecarWouldRefuseIsNotSent(t *testing.T) {
	limits := Limits{MaxLineBytes: 60, MaxLineNesting: 3}
	for params, want := range map[string]string{
		`{"a":[{}]}`:                              "",
		`{"a":[{"b":[]}]}`:                        "nested deeper than 3 levels",
		`{"a":"[[[[[\"[[[["}`:                     "",
		`{"a":"` + strings.Repeat("x", 25) + `"}`: "",
		`{"a":"` + strings.Repeat("x", 26) + `"}`: "61 bytes are more than 60",
		"{\"a\":\"\xff\"}":                        "not UTF-8",
		"{\"a\":\"\xed\xa0\xbd\"}":                "not UTF-8",
		`{"a":`:                                   "unexpected end of JSON input",
		`{} {}`:                                   "invalid character",
	} {
		_, err := encodeLine(outgoing{Params: json.RawMessage(params)}, &limits)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", params, err)
		}
	}
}
