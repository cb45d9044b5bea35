package pattern

import "strings"

// Segments walks the segments of a route beside the segments of a path.
type Segments struct {
	rest string // what is left of the route, without a leading slash
	lost bool   // a segment of the path did not match
	all  string // name of the wildcard that matches all further segments, or ""
}

// NewSegments returns the segments of a route, which may be empty.
func NewSegments(route string) Segments {
	path := Parse(route).Path
	return Segments{rest: strings.TrimPrefix(path, "/"), lost: path == ""}
}

// Next returns the name of the wildcard that the next segment of the path matches, or "".
// After a segment that does not match the route, Next returns "" for all others.
func (s *Segments) Next(segment string) (wildcard string) {
	if s.lost || s.all != "" {
		return s.all
	}
	n := segmentLen(s.rest)
	part := s.rest[:n]
	s.rest = strings.TrimPrefix(s.rest[n:], "/")
	at := strings.IndexAny(part, "{:*")
	if at < 0 {
		s.lost = part != segment
		return ""
	}
	if s.lost = !strings.HasPrefix(segment, part[:at]); s.lost {
		return ""
	}
	name := wildcardName(part[at : at+max(1, wildcardLen(part[at:]))])
	if isRest(part[at:]) {
		s.all, s.lost = name, name == "*"
	}
	if name == "*" {
		return ""
	}
	return name
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

// isRest reports whether a wildcard matches more than one segment: {path...}, *path and *.
func isRest(wildcard string) bool {
	return wildcard[0] == '*' || strings.HasSuffix(wildcard, "...}")
}
