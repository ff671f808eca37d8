package sessionref

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestTextKeepsUnpairedSurrogates(t *testing.T) {
	for name, each := range map[string]struct{ wire, text string }{
		"none":                  {`"plain é 😀"`, "plain é 😀"},
		"empty":                 {`""`, ""},
		"a high one":            {`"\ud83d"`, "\xed\xa0\xbd"},
		"a low one":             {`"a\ude00b"`, "a\xed\xb8\x80b"},
		"in the wrong order":    {`"\ude00\ud83d"`, "\xed\xb8\x80\xed\xa0\xbd"},
		"two high ones":         {`"\ud83d\ud83dx"`, "\xed\xa0\xbd\xed\xa0\xbdx"},
		"one before a pair":     {`"\ud83d😀"`, "\xed\xa0\xbd😀"},
		"among other escapes":   {`"\n\\\"\udc00\u0001"`, "\n\\\"\xed\xb0\x80\x01"},
		"none, only looks so":   {`"\\ud83d"`, `\ud83d`},
		"U+D7FF is no such":     {`"\ud83d` + "\ud7ff" + `"`, "\xed\xa0\xbd\ud7ff"},
		"markup stays as it is": {`"<a href='x'>&amp;</a>"`, "<a href='x'>&amp;</a>"},
	} {
		t.Run(name, func(t *testing.T) {
			var text Text
			if err := json.Unmarshal([]byte(each.wire), &text); err != nil {
				t.Fatal(err)
			}
			if string(text) != each.text {
				t.Errorf("read %q, not %q", string(text), each.text)
			}
			written, err := encodeJSON(text)
			if err != nil || string(written) != each.wire {
				t.Errorf("wrote %s, not %s (%v)", written, each.wire, err)
			}
		})
	}
}

func TestTextReadsAnyEscapes(t *testing.T) {
	for wire, want := range map[string]string{
		`"\uD83D\uDE00"`:       "😀",
		`"\uD83D\u0041"`:       "\xed\xa0\xbdA",
		`"\u0041\/\b\f\r\t"`:   "A/\b\f\r\t",
		`"\ud83d\n\ude00"`:     "\xed\xa0\xbd\n\xed\xb8\x80",
		`"\ud83d\\ude00"`:      "\xed\xa0\xbd\\ude00",
		`"\ud83d\ud83d\ude00"`: "\xed\xa0\xbd😀",
	} {
		var text Text
		if err := json.Unmarshal([]byte(wire), &text); err != nil || string(text) != want {
			t.Errorf("%s is read as %q (%v)", wire, string(text), err)
		}
	}
}

func TestTextRefusesWhatIsNoString(t *testing.T) {
	for _, wire := range []string{`1`, `{}`, `["\ud83d"]`} {
		var text Text
		if err := json.Unmarshal([]byte(wire), &text); err == nil {
			t.Errorf("%s is read as %q", wire, string(text))
		}
	}
	text := Text("as it was")
	if err := json.Unmarshal([]byte(`null`), &text); err != nil || text != "as it was" {
		t.Errorf("null makes %q (%v)", string(text), err)
	}
}

func TestTextIsTheSameSequenceOfUnits(t *testing.T) {
	some := []uint16{0xD83D, 0xDE00, 0xD800, 0xDFFF, 'a', '"', '\\', 0, 0xE9, 0xFFFD, 0x2028, 0xED}
	random := rand.New(rand.NewSource(1))
	for round := 0; round < 5000; round++ {
		units := make([]uint16, random.Intn(7))
		var escaped strings.Builder
		for i := range units {
			units[i] = some[random.Intn(len(some))]
			fmt.Fprintf(&escaped, `\u%04x`, units[i])
		}
		var text, again Text
		if err := json.Unmarshal([]byte(`"`+escaped.String()+`"`), &text); err != nil {
			t.Fatal(err)
		}
		if got := unitsOf(string(text)); fmt.Sprint(got) != fmt.Sprint(units) {
			t.Fatalf("%x is read as %x", units, got)
		}
		written, err := encodeJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil || again != text {
			t.Fatalf("%x is written as %s (%v)", units, written, err)
		}
	}
}

// unitsOf reads WTF-8 by its definition.
func unitsOf(text string) []uint16 {
	units := []uint16{}
	for len(text) > 0 {
		if len(text) >= 3 && text[0] == 0xED && text[1] >= 0xA0 {
			units = append(units, 0xD000|uint16(text[1]&0x3F)<<6|uint16(text[2]&0x3F))
			text = text[3:]
			continue
		}
		first := []rune(text)[0]
		units = append(units, utf16.Encode([]rune{first})...)
		text = text[len(string(first)):]
	}
	return units
}
