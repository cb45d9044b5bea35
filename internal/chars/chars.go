package chars

// Class says what kinds of bytes a string has, so that one pass over it answers
// the questions of the JSON encoder, the URL check and the personal-data guard.
type Class uint8

const (
	Escape     Class = 1 << iota // a byte that JSON escapes
	NonASCII                     // a byte of 0x80 or more
	At                           // an at sign
	NotURL                       // a byte that paths and queries do not contain as it is
	NotHost                      // a byte that host names do not contain
	NotAddress                   // a byte that IP addresses do not contain
	NotCard                      // a byte that card numbers do not contain
	NotPath                      // a byte that paths do not contain as it is, or that may be part of an escape
)

// scan returns the classes of all bytes of s. It takes four at a time, which
// halves its cost; it is a fifth of what an event costs.
func Scan(s string) (found Class) {
	for len(s) >= 4 {
		found |= classes[s[0]] | classes[s[1]] | classes[s[2]] | classes[s[3]]
		s = s[4:]
	}
	for i := range len(s) {
		found |= classes[s[i]]
	}
	return found
}

var classes = func() (table [256]Class) {
	for i := range table {
		table[i] = classify(byte(i))
	}
	return table
}()

func classify(b byte) (c Class) {
	add := func(when bool, bit Class) {
		if when {
			c |= bit
		}
	}
	add(b < ' ' || b == '"' || b == '\\', Escape)
	add(b >= 0x80, NonASCII)
	add(b == '@', At)
	add(!IsAlnum(b) && !among(b, "-._~!$&'()*+,;=:@/%?"), NotURL) // RFC 3986, appendix A
	add(!IsAlnum(b) && !among(b, "-._"), NotHost)
	add(!IsAlnum(b) && !among(b, "/-._~"), NotPath)
	add(!(IsDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' || among(b, ".:[]")), NotAddress)
	add(!(IsDigit(b) || among(b, " -")), NotCard)
	return c
}

func among(b byte, set string) bool {
	for i := range len(set) {
		if set[i] == b {
			return true
		}
	}
	return false
}

// Of returns the classes of one byte.
func Of(b byte) Class { return classes[b] }

func IsDigit(b byte) bool { return b >= '0' && b <= '9' }

func IsAlnum(b byte) bool { return IsDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'z' }

func IsUpper(b byte) bool { return b >= 'A' && b <= 'Z' }

func IsLower(b byte) bool { return b >= 'a' && b <= 'z' }

func IsDigits(s string) bool {
	for i := range len(s) {
		if !IsDigit(s[i]) {
			return false
		}
	}
	return s != ""
}
