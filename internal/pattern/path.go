package pattern

import (
	"net/url"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
)

// AppendPath writes the path of a pattern with its Wildcards as names in braces,
// percent-encoded (RFC 3986, section 2.1): /user/reset/%7Bkey%7D.
func AppendPath(dst []byte, route string) []byte {
	path := Parse(route).Path
	if !strings.HasPrefix(path, "/") {
		dst = append(dst, '/')
	}
	for path != "" {
		if b := path[0]; b == '{' || b == ':' || b == '*' {
			n := max(wildcardLen(path), 1)
			dst = appendWildcard(dst, path[:n])
			path = path[n:]
			continue
		}
		n := strings.IndexAny(path, "{:*")
		if n < 0 {
			n = len(path)
		}
		dst = appendURLText(dst, path[:n])
		path = path[n:]
	}
	return dst
}

func appendWildcard(dst []byte, w string) []byte {
	switch {
	case w == "{$}":
		return dst
	case w == "*" || w == ":":
		return append(dst, w...)
	}
	return AppendBraces(dst, wildcardName(w))
}

// AppendBraces writes a wildcard's name in braces.
func AppendBraces(dst []byte, name string) []byte {
	dst = append(dst, "%7B"...)
	dst = append(dst, url.PathEscape(name)...)
	return append(dst, "%7D"...)
}

// appendURLText writes a path of a pattern, which is a path or the escaped form of one.
func appendURLText(dst []byte, path string) []byte {
	if _, err := url.PathUnescape(path); err == nil && chars.IsURL(path) {
		return append(dst, path...)
	}
	return append(dst, (&url.URL{Path: path}).EscapedPath()...)
}

// Segments goes through the segments of a pattern beside those of a path.
type Segments struct {
	rest string // of the pattern, without the slash before it
	lost bool   // a segment did not match
	all  string // name of the wildcard that matches all further segments
}

func NewSegments(route string) Segments {
	path := Parse(route).Path
	return Segments{rest: strings.TrimPrefix(path, "/"), lost: path == ""}
}

// Next returns the name of the wildcard that the path's next segment matched, or "".
func (s *Segments) Next(segment string) (wildcard string) {
	if s.lost || s.all != "" {
		return s.all
	}
	n := segmentLen(s.rest)
	pattern := s.rest[:n]
	s.rest = strings.TrimPrefix(s.rest[n:], "/")
	at := strings.IndexAny(pattern, "{:*")
	if at < 0 {
		s.lost = pattern != segment
		return ""
	}
	if s.lost = !strings.HasPrefix(segment, pattern[:at]); s.lost {
		return ""
	}
	name := wildcardName(pattern[at : at+max(1, wildcardLen(pattern[at:]))])
	if isRest(pattern[at:]) {
		s.all, s.lost = name, name == "*"
	}
	if name == "*" {
		return ""
	}
	return name
}

// segmentLen returns the length of the segment that a pattern begins with. What stands in
// braces may have slashes.
func segmentLen(pattern string) int {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '/':
			return i
		case '{':
			i += max(1, wildcardLen(pattern[i:])) - 1
		}
	}
	return len(pattern)
}

// isRest reports whether a wildcard matches more than one segment: {path...}, *path and *.
func isRest(wildcard string) bool {
	return wildcard[0] == '*' || strings.HasSuffix(wildcard, "...}")
}

// IsCatchAll reports whether a route ends with what matches any further segments. A slash
// at the end is that in net/http; elsewhere no path goes on after it.
func IsCatchAll(route string) bool {
	last := route[strings.LastIndexByte(route, '/')+1:]
	return isUnnamedCatchAll(route) || strings.HasPrefix(last, "*") || strings.HasSuffix(last, "...}")
}

// isUnnamedCatchAll reports whether a route ends with a catch-all that has no name.
func isUnnamedCatchAll(route string) bool {
	return strings.HasSuffix(route, "/") || strings.HasSuffix(route, "/*")
}

// isBeyond reports whether a path goes on after the last slash of a route.
func isBeyond(route, path string) bool {
	return strings.Count(strings.TrimRight(path, "/"), "/") >= strings.Count(route, "/")
}
