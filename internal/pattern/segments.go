package pattern

import (
	"net/url"
	"strings"
)

// Segments walks the segments of a route beside the segments of a path that a router matched.
//
// Segments correspond by position, because routers compare fixed text in different ways: with
// escapes or without, and in any case. Only if their numbers differ does Segments compare the
// text, to find where the route begins.
type Segments struct {
	rest  string // what is left of the route, without a leading slash
	ended bool   // nothing is left
	skip  int    // segments of the path before the route
	more  int    // segments that the wildcard for the rest matches after its first, or -1 if it matches none
	joins bool   // an escaped slash separates segments, as in routers that match the unescaped path
}

// NewSegments returns the segments of a route, which may be empty, beside an escaped path, which
// begins with a slash.
func NewSegments(route, path string) Segments {
	p := Parse(route).Path
	s := Segments{rest: strings.TrimPrefix(p, "/"), ended: p == ""}
	want, rest := countSegments(s.rest)
	have := strings.Count(path, "/")
	if have > want && strings.HasSuffix(path, "/") {
		have-- // routers of other kinds than net/http may ignore the slash
	}
	switch longer := have - want; {
	case s.ended || longer == 0:
	case longer < 0 && slashes(path) == -longer:
		s.joins = true
	case rest:
		s.skip = firstFit(s.rest, path, longer)
		s.more = longer - s.skip
	case longer < 0:
	case IsSubtree(p):
		s.skip = firstFit(s.rest, path, longer)
	default:
		s.skip = lastFit(s.rest, path, longer)
	}
	return s
}

// Next returns the part of the route that the next segment of the path matches, or "".
func (s *Segments) Next(segment string) (part string) {
	if s.skip > 0 {
		s.skip--
		return ""
	}
	for !s.ended {
		n := s.partLen(segment)
		part = s.rest[:n]
		if s.more > 0 && isRest(part) {
			s.more--
			return part
		}
		s.ended = n == len(s.rest)
		s.rest = strings.TrimPrefix(s.rest[n:], "/")
		if s.more >= 0 || !isStar(part) {
			return part
		}
		s.more = 0
	}
	return ""
}

// partLen returns the length of the part of the route that a segment matches.
func (s *Segments) partLen(segment string) int {
	n := segmentLen(s.rest)
	if s.joins {
		for i := slashes(segment); i > 0 && n < len(s.rest); i-- {
			n += 1 + segmentLen(s.rest[n+1:])
		}
	}
	return n
}

// slashes returns the number of escaped slashes in a path.
func slashes(path string) int { return strings.Count(path, "%2F") + strings.Count(path, "%2f") }

// firstFit returns the least number of segments before the route, at most limit, for which the
// fixed text of the route fits the path. It returns 0 if there is none.
func firstFit(rest, path string, limit int) int {
	for skip := 0; skip <= limit; skip++ {
		if fits(rest, path, skip) {
			return skip
		}
	}
	return 0
}

// lastFit is firstFit for the greatest number. It returns limit if there is none.
func lastFit(rest, path string, limit int) int {
	for skip := limit; skip >= 0; skip-- {
		if fits(rest, path, skip) {
			return skip
		}
	}
	return limit
}

// fits reports whether the fixed text of a route, up to a wildcard for the rest, is the text of
// the path after skip segments.
func fits(rest, path string, skip int) bool {
	path = path[1:]
	for range skip {
		_, path, _ = strings.Cut(path, "/")
	}
	for rest != "" {
		n := segmentLen(rest)
		part, segment := rest[:n], path
		if isRest(part) {
			return true
		}
		rest = strings.TrimPrefix(rest[n:], "/")
		if segment, path, _ = strings.Cut(path, "/"); IsFixed(part) && !IsText(part, segment) {
			return false
		}
	}
	return true
}

// IsFixed reports whether a part of a route has no wildcard.
func IsFixed(part string) bool { return !strings.ContainsAny(part, "{:*") }

// IsText reports whether an escaped segment of a path is the fixed text of a part of a route. The
// case makes no difference.
func IsText(part, segment string) bool {
	if !IsFixed(part) {
		return false
	}
	plain, ok := unescape(segment)
	if ok && !strings.EqualFold(part, plain) {
		part, _ = unescape(part)
	}
	return ok && strings.EqualFold(part, plain)
}

// unescape returns s without percent-encoding. If the encoding is wrong, it returns s and false.
func unescape(s string) (plain string, ok bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	plain, err := url.PathUnescape(strings.Clone(s)) // a parse error would keep s alive
	if err != nil {
		return s, false
	}
	return plain, true
}

// countSegments returns the number of segments of a path of a route, and whether one of them has
// a wildcard for the rest.
func countSegments(path string) (n int, rest bool) {
	for {
		end := segmentLen(path)
		n++
		rest = rest || isRest(path[:end])
		if end == len(path) {
			return n, rest
		}
		path = path[end+1:]
	}
}

// segmentLen returns the length of the segment that a path of a route begins with. A
// regular expression in braces may contain slashes.
func segmentLen(path string) int {
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '/':
			return i
		case '{':
			i += max(1, wildcardLen(path[i:])) - 1
		}
	}
	return len(path)
}

// isRest reports whether a part of a route may match several segments: a wildcard for the rest,
// or a regular expression that may match a slash.
func isRest(part string) bool {
	if isStar(part) {
		return true
	}
	at := strings.IndexByte(part, '{')
	if at < 0 {
		return false
	}
	_, re, _ := strings.Cut(part[at:], ":")
	return strings.ContainsAny(re, `./\`) || strings.Contains(re, "[^")
}

// isStar reports whether a part of a route has a wildcard for the rest: {path...}, *path and *.
func isStar(part string) bool {
	at := strings.IndexAny(part, "{:*")
	return at >= 0 && (part[at] == '*' || strings.HasSuffix(part, "...}"))
}
