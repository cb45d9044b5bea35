package pii

import (
	"net/url"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/pattern"
)

// minSecret is the least length of a segment that the guard takes for a secret without
// the name of a wildcard.
const minSecret = 8

// mayHide reports whether an escaped path may have a segment that is personal or a secret.
// It is a quick check, because it looks at every path.
func mayHide(path string) bool {
	start, digit := 0, false
	for i := range len(path) {
		switch b := path[i]; {
		case b > '9' && b != '@':
		case b == '/':
			if mayBeSecret(i-start, digit) {
				return true
			}
			start, digit = i+1, false
		case b >= '0' && b <= '9':
			digit = true
		case b == '@' || b == '%':
			return true
		}
	}
	return mayBeSecret(len(path)-start, digit)
}

// mayBeSecret reports whether a segment of this length, with a digit or without, may be a secret.
func mayBeSecret(length int, digit bool) bool {
	return length >= minSecret && (digit || length >= minToken)
}

// NeedsRoute reports whether a path may have a segment that AppendPath replaces by the name of
// a wildcard if it knows the route. It is a quick check that looks at the path only, for
// callers that have to search for the route.
func (g *Guard) NeedsRoute(path string) bool { return !g.off && mayHide(path) }

// AppendPath writes an escaped path, which begins with a slash, after dst. It replaces each
// segment that looks like personal data or a secret by the name of the wildcard that the
// segment matches, in braces, or by "[redacted]". route may be empty. redacted is the number of
// segments replaced.
func (g *Guard) AppendPath(dst []byte, path string, route Route) (out []byte, redacted int) {
	if !g.off && (mayHide(path) || route.hasSecret()) {
		return g.appendSegments(dst, path, route.Pattern)
	}
	return append(dst, path...), 0
}

// appendSegments is AppendPath without the quick check.
func (g *Guard) appendSegments(dst []byte, path, route string) (out []byte, redacted int) {
	segments := pattern.NewSegments(route, path)
	for rest, more := path[1:], true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		part := segments.Next(segment)
		dst = append(dst, '/')
		if segment == "" || pattern.IsText(part, segment) {
			dst = append(dst, segment...)
			continue
		}
		switch wildcard, hidden := g.hides(part, segment); {
		case !hidden:
			dst = append(dst, segment...)
			continue
		case pattern.IsNamed(wildcard):
			dst = pattern.AppendBraces(dst, wildcard)
		default:
			dst = append(dst, "%5Bredacted%5D"...)
		}
		redacted++
	}
	return dst, redacted
}

// hides reports whether the guard replaces an escaped segment that matches a part of a route, or
// "". wildcard is the name to replace it by: of a wildcard that is a secret, else of the first
// one that is not exempt, or "".
func (g *Guard) hides(part, segment string) (wildcard string, hidden bool) {
	exempt, several := false, false
	for name := range pattern.Wildcards(part) {
		switch {
		case slices.Contains(g.exempt, name):
			exempt = true
		case isSecretName(name):
			return name, true
		case !several:
			wildcard, several = name, true
		}
	}
	return wildcard, (several || !exempt) && isPersonalSegment(segment)
}

// maxEscapes is how many times a client may have escaped a segment.
const maxEscapes = 3

// isPersonalSegment reports whether an escaped segment contains an e-mail address, or is a
// bearer token or a token of random letters and digits.
func isPersonalSegment(segment string) bool {
	for i := 0; strings.IndexByte(segment, '%') >= 0; i++ {
		plain, err := url.PathUnescape(strings.Clone(segment)) // a parse error would keep segment alive
		if err != nil && i > 0 {
			break // a percent sign, which was escaped
		}
		if err != nil || i == maxEscapes {
			return true // a segment that cannot be read is not sent
		}
		segment = plain
	}
	return hasAddress(segment) || looksRandom(segment) || isBearerToken(segment)
}

// hasAddress is hasEmail for segments. A version may follow the name of a package there, and a
// scale the name of a picture: lodash@4.17.21, logo@2x.png.
func hasAddress(segment string) bool {
	for before, rest, more := strings.Cut(segment, "@"); more; before, rest, more = strings.Cut(rest, "@") {
		if before == "" || !isLocalPart(before[len(before)-1]) || !startsWithDomain(rest) {
			continue
		}
		domain, _, _ := strings.Cut(rest, "@")
		if domain = trimAssetTypes(domain); hasTopLevel(domain) || !isVersion(domain) && !isScale(domain) {
			return true
		}
	}
	return false
}

// trimAssetTypes removes file extensions from a name.
func trimAssetTypes(name string) string {
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 || !slices.Contains(assetTypes, strings.ToLower(name[dot+1:])) {
			return name
		}
		name = name[:dot]
	}
}

// hasTopLevel reports whether two letters follow a dot.
func hasTopLevel(domain string) bool {
	for i := 2; i < len(domain); i++ {
		if domain[i-2] == '.' && isLetter(domain[i-1]) && isLetter(domain[i]) {
			return true
		}
	}
	return false
}

// assetTypes are file extensions of packages and pictures.
var assetTypes = []string{
	"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "webm", "mp4",
	"js", "css", "map", "woff", "woff2", "tgz", "tar", "gz", "zip",
}

// isVersion reports whether s begins with numbers and dots, such as 4.17.21, v2 and 1.0.0-rc.1.
func isVersion(s string) bool {
	s = strings.TrimPrefix(s, "v")
	n := 0
	for n < len(s) && (chars.IsDigit(s[n]) || s[n] == '.') {
		n++
	}
	if n == 0 || !chars.IsDigit(s[0]) {
		return false
	}
	dots := strings.Count(s[:n], ".")
	switch rest := s[n:]; {
	case rest == "":
		return true
	case rest == "x":
		return s[n-1] == '.'
	default:
		return dots > 0 && chars.IsDigit(s[n-1]) && (rest[0] == '-' || rest[0] == '+')
	}
}

// isScale reports whether s begins with the scale of a picture, such as 2x and 1.5x.
func isScale(s string) bool {
	number, rest, found := strings.Cut(s, "x")
	return found && isVersion(number) && number[0] != 'v' && (rest == "" || !isLetter(rest[0]) && !chars.IsDigit(rest[0]))
}

// isLetter reports whether b is an ASCII letter or part of a character of another script.
func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80 }

// RedactsQuery reports whether the guard leaves out the escaped value of a query key.
func (g *Guard) RedactsQuery(raw string) bool {
	if g.off {
		return false
	}
	value, err := url.QueryUnescape(strings.Clone(raw)) // a parse error would keep raw alive
	return err != nil || personalText(value, chars.Scan(value))
}
