package event

import (
	"strconv"
	"unicode/utf8"
)

// maxQuoted bounds the text of a request in a message, in bytes.
const maxQuoted = 80

// Quote quotes text from a request for a message.
func Quote(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(s[:end]) + "…"
}
