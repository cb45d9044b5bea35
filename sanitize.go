package footfall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPathProp is how long a prop is that a client chose, in bytes.
const maxPathProp = 1000

// sanitize returns what of a text that a client chose can be sent: its beginning, with
// U+FFFD in place of invalid UTF-8 and of control characters.
func sanitize(s string) (text string, changed bool) {
	if len(s) <= maxPathProp && isText(s) {
		return s, false
	}
	text = strings.Map(toText, s[:textLen(s, maxPathProp)]) // which replaces invalid UTF-8, too
	return text[:textLen(text, maxPathProp)], true
}

// textLen returns how many bytes of s are not more than most and end with a whole character.
func textLen(s string, most int) int {
	if len(s) <= most {
		return len(s)
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

func isText(s string) bool { return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0 }

func toText(r rune) rune {
	if unicode.IsControl(r) {
		return utf8.RuneError
	}
	return r
}
