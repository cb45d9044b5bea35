package pii

import (
	"net/url"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/pattern"
)

// The personal-data guard in paths of requests: it looks at segments.

// fewestOfToken is how many letters and digits make a token, at least.
const fewestOfToken = 20

// fewestOfCodes is less, because a token may have dashes that are not counted.
const fewestOfCodes = 18

// lengthOfUUID is how many hexadecimal digits a UUID has.
const lengthOfUUID = 32

// shortestSecret is how long a value is that may be a secret, if the name of its wildcard
// does not say so.
const shortestSecret = 8

// mayHide reports whether an escaped path may have a segment that is personal or a secret,
// so that it is worth while to find out its route.
func mayHide(path string) bool {
	digits, length := false, 0
	for i := range len(path) {
		switch b := path[i]; {
		case b == '@' || b == '%':
			return true
		case b == '/':
			digits, length = false, 0
			continue
		case chars.IsDigit(b):
			digits = true
		}
		length++
		if digits && length >= shortestSecret || length >= fewestOfToken {
			return true
		}
	}
	return false
}

// NeedsRoute
func (g Guard) NeedsRoute(path string) bool { return !g.off && mayHide(path) }

func (g Guard) AppendPath(dst []byte, path, route string) (out []byte, redacted int) {
	if !g.off && (mayHide(path) || hasSecret(route)) {
		return g.appendSegments(dst, path, route)
	}
	return append(dst, path...), 0
}

func (g Guard) RedactsQuery(raw string) bool {
	return !g.off && personalQueryValue(raw)
}

// appendSegments writes an escaped path. A segment that looks like personal data or like a
// secret becomes the name of the wildcard that it matched, in braces, or "[redacted]".
func (g Guard) appendSegments(dst []byte, path, route string) (out []byte, redacted int) {
	segments := pattern.NewSegments(route)
	for rest, more := path[1:], true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		wildcard := segments.Next(segment)
		dst = append(dst, '/')
		switch {
		case segment == "" || slices.Contains(g.exempt, wildcard), !isSecretName(wildcard) && !isPersonalSegment(segment):
			dst = append(dst, segment...)
			continue
		case wildcard != "":
			dst = pattern.AppendBraces(dst, wildcard)
		default:
			dst = append(dst, "%5Bredacted%5D"...)
		}
		redacted++
	}
	return dst, redacted
}

// isPersonalSegment reports whether an escaped segment of a path has an e-mail address,
// or is a JSON Web Token or a token of random letters and digits.
func isPersonalSegment(segment string) bool {
	if strings.IndexByte(segment, '%') >= 0 {
		plain, err := url.PathUnescape(strings.Clone(segment)) // its error would keep segment alive
		if err != nil {
			return true // what can't be read is not sent
		}
		segment = plain
	}
	return hasAddress(segment) || looksRandom(segment) || isBearerToken(segment)
}

// hasAddress is hasEmail for segments, in which a version may follow the name of a package,
// and a scale the name of a picture: lodash@4.17.21, logo@2x.png. The domain of an address
// has two letters after a dot.
func hasAddress(segment string) bool {
	if !hasEmail(segment) {
		return false
	}
	if dot := strings.LastIndexByte(segment, '.'); slices.Contains(assetTypes, segment[dot+1:]) {
		segment = segment[:dot]
	}
	_, domain, _ := strings.Cut(segment, "@")
	for i := 2; i < len(domain); i++ {
		if domain[i-2] == '.' && isNoDigit(domain[i-1]) && isNoDigit(domain[i]) {
			return true
		}
	}
	return false
}

// assetTypes are extensions of files that are no domains.
var assetTypes = []string{"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "js", "css"}

// isNoDigit accepts letters, of other scripts too.
func isNoDigit(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80 }

// looksRandom reports whether a segment is a token, by the rows of letters and digits between
// its dashes and other marks: a row of 20 hexadecimal digits, neighbouring rows of 32, or
// codes of 18 letters and digits with a change of kind in 7 neighbours. A code is a row with
// two changes or more. A word has none, "16gb" and "iphone15" have one. Where no row is a
// word or a number, short rows are parts of the codes beside them.
func looksRandom(segment string) bool {
	hex, code, changes, rest, words := 0, 0, 0, 0, false
	for row := range strings.FieldsFuncSeq(segment, isNoAlnum) {
		if hex += len(row); !isHex(row) {
			hex = 0
		}
		n := changesOfKind(row)
		switch {
		case len(row) >= fewestOfToken && hex > 0, hex >= lengthOfUUID:
			return true
		case n >= 2:
			code, changes = code+len(row), changes+n
		case n == 1 || len(row) <= 3:
			rest += len(row)
		default:
			words = true
		}
	}
	if !words {
		code += rest
	}
	return code >= fewestOfCodes && changes*7 >= code
}

// changesOfKind counts the changes between letters and digits, and between cases other
// than from a capital to the small letters after it.
func changesOfKind(s string) (n int) {
	for i := 1; i < len(s); i++ {
		if changesKind(s, i) {
			n++
		}
	}
	return n
}

// isHex reports whether s is of hexadecimal digits, or of digits, only.
func isHex(s string) bool {
	for i := range len(s) {
		if !chars.IsHex(s[i]) {
			return false
		}
	}
	return true
}

func isNoAlnum(r rune) bool { return r >= 0x80 || !chars.IsAlnum(byte(r)) }

// changesKind reports whether s changes from one kind of character to another before i.
func changesKind(s string, i int) bool {
	before, b := s[i-1], s[i]
	switch {
	case chars.IsDigit(before) != chars.IsDigit(b):
		return true
	case chars.IsDigit(b) || chars.IsUpper(before) == chars.IsUpper(b):
		return false
	case chars.IsUpper(b): // begins a word, as in camelCase, if a small letter follows
		return i+1 == len(s) || !chars.IsLower(s[i+1])
	}
	return i >= 2 && chars.IsUpper(s[i-2]) // the capital before b is not the first
}

// hasSecret reports whether a route has a wildcard whose name says that its values are
// secrets.
func hasSecret(route string) bool {
	if !strings.ContainsAny(route, "{:") {
		return false
	}
	for name := range pattern.Wildcards(route) {
		if isSecretName(name) {
			return true
		}
	}
	return false
}

// isSecretName reports whether a wildcard's name says that its value is a secret.
func isSecretName(name string) bool {
	if name == "" || name == "*" {
		return false
	}
	name = strings.ToLower(name)
	return slices.Contains(secretNames, name) || slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) })
}

var (
	secretNames = []string{"key", "otp", "jwt", "sig"}
	secretWords = []string{"token", "secret", "passw", "signature", "invit", "magic"}
)

func personalQueryValue(raw string) bool {
	value, err := url.QueryUnescape(strings.Clone(raw))         // its error would keep raw alive
	return err != nil || personalText(value, chars.Scan(value)) // what can't be read is not sent
}
