package footfall

import (
	"net/url"
	"slices"
	"strings"
)

// The personal-data guard in paths of requests: it looks at segments.

// fewestOfToken is how many letters and digits make a token, at least.
const fewestOfToken = 20

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
		case isDigit(b):
			digits = true
		}
		length++
		if digits && length >= shortestSecret || length >= fewestOfToken {
			return true
		}
	}
	return false
}

// appendSegments writes an escaped path. A segment that looks like personal data or like a
// secret becomes the name of the wildcard that it matched, in braces, or "[redacted]".
func (g guard) appendSegments(dst []byte, path, route string) (out []byte, redacted int) {
	pattern := newRouteSegments(route)
	for rest, more := path[1:], true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		wildcard := pattern.next(segment)
		dst = append(dst, '/')
		switch {
		case segment == "" || slices.Contains(g.exempt, wildcard), !isSecretName(wildcard) && !isPersonalSegment(segment):
			dst = append(dst, segment...)
			continue
		case wildcard != "":
			dst = appendBraces(dst, wildcard)
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

// hasAddress is hasEmail for segments, in which a version may follow the name of a package:
// lodash@4.17.21. A domain ends with letters.
func hasAddress(segment string) bool {
	at := strings.LastIndexByte(segment, '@')
	if at < 0 || !hasEmail(segment) {
		return false
	}
	last := segment[strings.LastIndexByte(segment, '.')+1:]
	return !isDigits(last)
}

// looksRandom reports whether a segment has 20 or more letters and digits that are mixed as
// random ones are: in 6 neighbours there is a change between letters and digits, or between
// cases other than that of a capital before small letters.
func looksRandom(segment string) bool {
	count, changes := 0, 0
	for i := range len(segment) {
		b := segment[i]
		if !isAlnum(b) {
			if b >= 0x80 || !among(b, "-_.~=+") {
				return false
			}
			continue
		}
		count++
		if i > 0 && isAlnum(segment[i-1]) && changesKind(segment, i) {
			changes++
		}
	}
	if count < fewestOfToken {
		return false
	}
	return changes*6 >= count || isDigits(segment)
}

// changesKind reports whether s changes from one kind of character to another before i.
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

func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }

func isLower(b byte) bool { return b >= 'a' && b <= 'z' }

// hasSecret reports whether a route has a wildcard whose name says that its values are
// secrets.
func hasSecret(route string) bool {
	if !strings.ContainsAny(route, "{:") {
		return false
	}
	for name := range wildcards(route) {
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
