package sessionref

// Strings as ECMAScript has them: sequences of UTF-16 units, unpaired surrogates included.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Text is a string of the wire. It is UTF-8, but for unpaired surrogates, each of which is kept as
// the three bytes that UTF-8 would have for it (this is called WTF-8). So two texts are equal exactly
// if they are equal on the wire, and string(text) is what to show.
type Text string

const surrogateBytes = 3

// MarshalJSON writes an unpaired surrogate as its escape. Other bytes that are no UTF-8 become
// U+FFFD, as everywhere in encoding/json.
func (t Text) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('"')
	for rest := string(t); ; {
		at := indexSurrogate(rest)
		quoted, err := encodeJSON(rest[:at])
		if err != nil {
			return nil, err
		}
		out.Write(quoted[1 : len(quoted)-1])
		if at == len(rest) {
			break
		}
		unit := 0xD000 | rune(rest[at+1]&0x3F)<<6 | rune(rest[at+2]&0x3F)
		fmt.Fprintf(&out, `\u%04x`, unit)
		rest = rest[at+surrogateBytes:]
	}
	out.WriteByte('"')
	return out.Bytes(), nil
}

// indexSurrogate is where the first surrogate stands; the length of the text if there is none.
func indexSurrogate(text string) int {
	for from := 0; ; {
		at := strings.IndexByte(text[from:], 0xED)
		if at < 0 || from+at+surrogateBytes > len(text) {
			return len(text)
		}
		at += from
		if text[at+1]&0xE0 == 0xA0 && text[at+2]&0xC0 == 0x80 {
			return at
		}
		from = at + 1
	}
}

// UnmarshalJSON keeps unpaired surrogates.
func (t *Text) UnmarshalJSON(data []byte) error {
	text := string(*t)
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if bytes.Contains(data, []byte(`\ud`)) || bytes.Contains(data, []byte(`\uD`)) {
		text = decodeSurrogates(data)
	}
	*t = Text(text)
	return nil
}

// decodeSurrogates reads a JSON string that is known to be well-formed.
func decodeSurrogates(data []byte) string {
	var out strings.Builder
	flush := func(inner []byte) {
		var piece string
		if err := json.Unmarshal([]byte(`"`+string(inner)+`"`), &piece); err != nil {
			panic(err) // a piece between two escapes of a well-formed string is well-formed
		}
		out.WriteString(piece)
	}
	inner := data[1 : len(data)-1]
	start, at := 0, 0
	for at < len(inner) {
		unit, length := unitAt(inner[at:])
		if !utf16.IsSurrogate(unit) {
			at += length
			continue
		}
		if next, more := unitAt(inner[at+length:]); utf16.DecodeRune(unit, next) != 0xFFFD {
			at += length + more
			continue
		}
		flush(inner[start:at])
		out.Write([]byte{0xED, byte(0x80 | unit>>6&0x3F), byte(0x80 | unit&0x3F)})
		at += length
		start = at
	}
	flush(inner[start:])
	return out.String()
}

// unitAt is the escaped UTF-16 unit that a text begins with (0 for anything else), and how many bytes
// to go on.
func unitAt(inner []byte) (rune, int) {
	if len(inner) == 0 || inner[0] != '\\' {
		return 0, 1
	}
	if inner[1] != 'u' {
		return 0, len(`\n`)
	}
	const length = len(`\ud83d`)
	unit, _ := strconv.ParseUint(string(inner[len(`\u`):length]), 16, 16)
	return rune(unit), length
}
