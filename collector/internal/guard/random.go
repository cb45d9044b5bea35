package guard

import "strings"

const (
	minToken     = 20 // letters and digits of a token
	minCode      = 18 // the same, less the dashes that are not counted
	lengthOfUUID = 32 // hexadecimal digits of a UUID
)

// looksRandom reports whether a segment is a random token. It looks at the runs of letters and
// digits between dashes and other marks. A token is one of:
//
//   - a run of 20 hexadecimal digits or more,
//   - neighbouring runs of 32 hexadecimal digits or more, such as a UUID,
//   - codes of 18 letters and digits or more, with a change of kind in every 7 of them.
//
// A code is a run with two changes of kind or more. A word has none; "16gb" and "iphone15"
// have one. If no run is a word or a number, the short runs count as parts of the codes.
func looksRandom(segment string) bool {
	hex, code, changes, rest, words := 0, 0, 0, 0, false
	for run := range strings.FieldsFuncSeq(segment, isNoAlnum) {
		if hex += len(run); !isHex(run) {
			hex = 0
		}
		n := changesOfKind(run)
		switch {
		case len(run) >= minToken && hex > 0, hex >= lengthOfUUID:
			return true
		case n >= 2:
			code, changes = code+len(run), changes+n
		case n == 1 || len(run) <= 3:
			rest += len(run)
		default:
			words = true
		}
	}
	if !words {
		code += rest
	}
	return code >= minCode && changes*7 >= code
}

// changesOfKind returns the number of changes between letters and digits and between cases,
// except from a capital to the small letters after it.
func changesOfKind(s string) (n int) {
	for i := 1; i < len(s); i++ {
		if changesKind(s, i) {
			n++
		}
	}
	return n
}

// changesKind reports whether the kind of character changes between s[i-1] and s[i].
func changesKind(s string, i int) bool {
	before, b := s[i-1], s[i]
	switch {
	case isDigit(before) != isDigit(b):
		return true
	case isDigit(b) || isUpper(before) == isUpper(b):
		return false
	case isUpper(b): // begins a word, as in camelCase, if a small letter follows
		return i+1 == len(s) || !isLower(s[i+1])
	}
	return i >= 2 && isUpper(s[i-2]) // the capital before b is not the first
}

func isHex(s string) bool {
	for i := range len(s) {
		if !isHexDigit(s[i]) {
			return false
		}
	}
	return true
}

// isNoAlnum reports whether r is neither an ASCII letter nor a digit.
func isNoAlnum(r rune) bool { return r >= 0x80 || !isAlnum(byte(r)) }

func isDigit(b byte) bool    { return b >= '0' && b <= '9' }
func isUpper(b byte) bool    { return b >= 'A' && b <= 'Z' }
func isLower(b byte) bool    { return b >= 'a' && b <= 'z' }
func isAlnum(b byte) bool    { return isDigit(b) || isUpper(b) || isLower(b) }
func isHexDigit(b byte) bool { return isDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' }
