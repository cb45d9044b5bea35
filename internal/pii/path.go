package pii

import (
	"net/url"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/pattern"
)

// shortestSecret is the least length of a segment that the guard takes for a secret without
// the name of a wildcard.
const shortestSecret = 8

// mayHide reports whether an escaped path may have a segment that is personal or a secret.
// It is a quick check.
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

// NeedsRoute reports whether a path may have a segment that AppendPath replaces by the name of
// a wildcard if it knows the route. It is a quick check that looks at the path only, for
// callers that have to search for the route.
func (g Guard) NeedsRoute(path string) bool { return !g.off && mayHide(path) }

// AppendPath writes an escaped path, which begins with a slash, after dst. It replaces each
// segment that looks like personal data or a secret by the name of the wildcard that the
// segment matches, in braces, or by "[redacted]". route is the pattern that the request
// matched, or "". redacted is the number of segments replaced.
func (g Guard) AppendPath(dst []byte, path, route string) (out []byte, redacted int) {
	if !g.off && (mayHide(path) || hasSecret(route)) {
		return g.appendSegments(dst, path, route)
	}
	return append(dst, path...), 0
}

// appendSegments is AppendPath without the quick check.
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

// isPersonalSegment reports whether an escaped segment contains an e-mail address, or is a
// bearer token or a token of random letters and digits.
func isPersonalSegment(segment string) bool {
	if strings.IndexByte(segment, '%') >= 0 {
		plain, err := url.PathUnescape(strings.Clone(segment)) // a parse error would keep segment alive
		if err != nil {
			return true // a segment that cannot be read is not sent
		}
		segment = plain
	}
	return hasAddress(segment) || looksRandom(segment) || isBearerToken(segment)
}

// hasAddress is hasEmail for segments. A version may follow the name of a package there, and a
// scale the name of a picture: lodash@4.17.21, logo@2x.png. In an address, two letters follow
// a dot of the domain.
func hasAddress(segment string) bool {
	if !hasEmail(segment) {
		return false
	}
	if dot := strings.LastIndexByte(segment, '.'); slices.Contains(assetTypes, segment[dot+1:]) {
		segment = segment[:dot]
	}
	_, domain, _ := strings.Cut(segment, "@")
	for i := 2; i < len(domain); i++ {
		if domain[i-2] == '.' && isLetter(domain[i-1]) && isLetter(domain[i]) {
			return true
		}
	}
	return false
}

// assetTypes are file extensions that are not top-level domains.
var assetTypes = []string{"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "js", "css"}

// isLetter reports whether b is an ASCII letter or part of a character of another script.
func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80 }

// RedactsQuery reports whether the guard leaves out the escaped value of a query key.
func (g Guard) RedactsQuery(raw string) bool {
	if g.off {
		return false
	}
	value, err := url.QueryUnescape(strings.Clone(raw)) // a parse error would keep raw alive
	return err != nil || personalText(value, chars.Scan(value))
}
