package event

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON (RFC 8259). Unlike encoding/json it refuses repeated names, unpaired
// surrogates and invalid UTF-8, and keeps numbers as written. It does not read nested
// values: an event has none.
type scanner struct {
	data []byte // valid UTF-8
	pos  int
}

// Reasons for which a value is refused. notJSON concerns the whole body.
const (
	notJSON       = "is not valid JSON"
	notText       = "must be a string"
	loneSurrogate = "contains an unpaired surrogate"
	hasNUL        = "contains a NUL character" // not every store and export format keeps it
	notFinite     = "is a number out of range"
)

// refuse returns an error for the field, or for the body if it is not JSON.
func (s *scanner) refuse(field, reason string) *Invalid {
	if reason == notJSON {
		return &Invalid{"body", notJSON + " at byte " + strconv.Itoa(s.pos)}
	}
	return &Invalid{field, reason}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch b := s.data[s.pos]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

// take skips white space and then b, and reports whether b was there.
func (s *scanner) take(b byte) bool {
	if s.peek() != b || s.pos == len(s.data) {
		return false
	}
	s.pos++
	return true
}

// object calls member for each name, with the scanner before the value. The name is valid
// until member reads on. Messages call the object what.
func (s *scanner) object(what string, member func(name []byte) *Invalid) *Invalid {
	if !s.take('{') {
		return &Invalid{what, "must be a JSON object"}
	}
	if s.take('}') {
		return nil
	}
	for {
		name, reason := s.text()
		if reason == notText {
			reason = notJSON
		}
		if reason != "" {
			return s.refuse(what, reason)
		}
		if !s.take(':') {
			return s.refuse(what, notJSON)
		}
		if bad := member(name); bad != nil {
			return bad
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.refuse(what, notJSON)
		}
	}
}

// end reports whether only white space is left.
func (s *scanner) end() bool { return s.peek() == 0 && s.pos == len(s.data) }

// text reads a string. The result shares memory with data unless it has escapes.
func (s *scanner) text() (text []byte, reason string) {
	switch b := s.peek(); {
	case s.pos == len(s.data):
		return nil, notJSON
	case b != '"':
		return nil, notText
	}
	s.pos++
	start := s.pos
	for ; s.pos < len(s.data); s.pos++ {
		switch b := s.data[s.pos]; {
		case b == '"':
			s.pos++
			return s.data[start : s.pos-1], ""
		case b == '\\':
			return s.escaped(append([]byte(nil), s.data[start:s.pos]...))
		case b < ' ':
			return nil, notJSON
		}
	}
	return nil, notJSON
}

// escaped reads on after text, from an escape to the end of the string.
func (s *scanner) escaped(text []byte) ([]byte, string) {
	for s.pos < len(s.data) {
		b := s.data[s.pos]
		s.pos++
		switch {
		case b == '"':
			return text, ""
		case b < ' ':
			return nil, notJSON
		case b != '\\':
			text = append(text, b)
			continue
		}
		r, reason := s.escape()
		if reason != "" {
			return nil, reason
		}
		text = utf8.AppendRune(text, r)
	}
	return nil, notJSON
}

// escape reads what follows a backslash.
func (s *scanner) escape() (rune, string) {
	if s.pos == len(s.data) {
		return 0, notJSON
	}
	b := s.data[s.pos]
	s.pos++
	switch b {
	case '"', '\\', '/':
		return rune(b), ""
	case 'b':
		return '\b', ""
	case 'f':
		return '\f', ""
	case 'n':
		return '\n', ""
	case 'r':
		return '\r', ""
	case 't':
		return '\t', ""
	case 'u':
		return s.unicode()
	}
	return 0, notJSON
}

// unicode reads the four digits after \u, and the second half of a pair.
func (s *scanner) unicode() (rune, string) {
	r, ok := s.hex()
	switch {
	case !ok:
		return 0, notJSON
	case r == 0:
		return 0, hasNUL
	case !utf16.IsSurrogate(r):
		return r, ""
	case len(s.data)-s.pos < 2 || s.data[s.pos] != '\\' || s.data[s.pos+1] != 'u':
		return 0, loneSurrogate
	}
	s.pos += 2
	low, ok := s.hex()
	if !ok {
		return 0, notJSON
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, loneSurrogate
	}
	return r, ""
}

func (s *scanner) hex() (r rune, ok bool) {
	if len(s.data)-s.pos < 4 {
		return 0, false
	}
	for _, b := range s.data[s.pos : s.pos+4] {
		switch {
		case b >= '0' && b <= '9':
			r = r<<4 | rune(b-'0')
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	s.pos += 4
	return r, true
}

// number reads a number and returns it as it was written.
func (s *scanner) number() (text []byte, reason string) {
	s.peek()
	start := s.pos
	s.skip('-')
	switch {
	case s.skip('0'):
	case s.digits() == 0:
		return nil, notJSON
	}
	if s.skip('.') && s.digits() == 0 {
		return nil, notJSON
	}
	exponent := s.skip('e') || s.skip('E')
	if exponent {
		_ = s.skip('+') || s.skip('-')
		if s.digits() == 0 {
			return nil, notJSON
		}
	}
	text = s.data[start:s.pos]
	if (exponent || len(text) > 300) && !isFinite(text) {
		return nil, notFinite
	}
	return text, ""
}

// isFinite is needed only for exponents and long numbers: 300 digits are always finite.
func isFinite(text []byte) bool {
	f, err := strconv.ParseFloat(string(text), 64)
	return err == nil && !math.IsInf(f, 0)
}

func (s *scanner) skip(b byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == b {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}
