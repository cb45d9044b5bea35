// Package guard removes personal data and secrets from the URLs of browsers' pages, as the library does
// with the URLs of requests. It decides as the library does if no route is known, because the collector
// does not import the library, and a test of e2e compares the two.
package guard

import (
	"net/url"
	"strings"
)

// redacted replaces a segment of a path: [redacted], percent-encoded.
const redacted = "%5Bredacted%5D"

// Path returns an escaped path with each segment replaced that looks like personal data or a secret.
func Path(path string) string {
	segments := strings.Split(path, "/")
	changed := false
	for i, segment := range segments {
		if hides(segment) {
			segments[i], changed = redacted, true
		}
	}
	if !changed {
		return path
	}
	return strings.Join(segments, "/")
}

// Query returns the pairs of a raw query that name the source of a visit: utm_*, source and ref. It
// leaves out values that look personal.
func Query(query string) string {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if (strings.HasPrefix(key, "utm_") || key == "source" || key == "ref") && !isPersonal(plain(strings.ReplaceAll(value, "+", " "))) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}

// maxEscapes is how many times a segment may be escaped.
const maxEscapes = 3

// hides reports whether an escaped segment contains an e-mail address, or is a bearer token or a token of
// random letters and digits.
func hides(segment string) bool {
	for range maxEscapes {
		once := plain(segment)
		if once == segment {
			return hasAddress(segment) || looksRandom(segment) || isBearerToken(segment)
		}
		segment = once
	}
	return plain(segment) != segment || hides(segment) // a segment that cannot be read is not kept
}

// plain returns s unescaped. A percent sign that escapes nothing stays, because browsers send such URLs.
func plain(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	if text, err := url.PathUnescape(s); err == nil {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHexDigit(s[i+1]) && isHexDigit(s[i+2]) {
			text, _ := url.PathUnescape(s[i : i+3]) // it is valid
			b.WriteString(text)
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
