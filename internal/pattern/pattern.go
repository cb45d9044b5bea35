// Package pattern reads the route patterns of net/http and of other routers.
//
// A pattern is "[METHOD ][HOST]/[PATH]". The path may contain wildcards in any notation that
// the routers of the adapters use: {id}, {id:[0-9]+}, {rest...}, :id, :id<int>, :id?, *path
// and *. A name after a colon ends with the segment. The package names events after patterns,
// writes a pattern as the path of a URL, walks a pattern beside a path, and finds the pattern
// that is most like another one. It accepts any string and never fails.
package pattern

import (
	"net/http"
	"strings"
)

// Pattern is a route split into its parts. The method and the host may be empty.
type Pattern struct {
	Method, Host, Path string
}

// Parse splits a route into its parts.
func Parse(route string) Pattern {
	var p Pattern
	for i := 0; i < len(route) && route[i] != '/'; i++ {
		if isBlank(route[i]) {
			p.Method, route = route[:i], route[i+1:]
			break
		}
	}
	for route != "" && isBlank(route[0]) {
		route = route[1:]
	}
	if route != "" && route[0] == '/' {
		p.Path = route
		return p
	}
	if slash := strings.IndexByte(route, '/'); slash > 0 {
		p.Host, route = route[:slash], route[slash:]
	}
	p.Path = route
	return p
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// Covers reports whether a rule with pattern p applies to a request with this method that
// matched route, whose path is the same. An empty method or host in p matches any.
func (p *Pattern) Covers(route *Pattern, method string) bool {
	return (p.Method == "" || p.Method == method || p.Method == route.Method && method == http.MethodHead) &&
		(p.Host == "" || p.Host == route.Host)
}

// IsSubtree reports whether a pattern of net/http matches paths of any length. In other routers,
// a slash at the end does not have that meaning.
func IsSubtree(route string) bool {
	return strings.HasSuffix(route, "/") || strings.HasSuffix(route, "...}")
}

// IsCatchAll reports whether a wildcard of a route matches the rest of a path, whatever its
// length. A slash at the end does not count: see [IsSubtree].
func IsCatchAll(route string) bool {
	last := route[strings.LastIndexByte(route, '/')+1:]
	return isUnnamed(last) || strings.HasPrefix(last, "*") || strings.HasSuffix(last, "...}")
}

// isUnnamed reports whether the last segment of a route is a catch-all without a name: * of
// several routers, and {+...} for + of fiber.
func isUnnamed(last string) bool { return strings.HasSuffix(last, "*") || last == "{+...}" }

// isBeyond reports whether a path is longer than a route up to its catch-all.
func isBeyond(route, path string) bool {
	route = strings.TrimSuffix(strings.TrimSuffix(route, "{+...}"), "*")
	n, _ := countSegments(strings.TrimRight(route, "/"))
	return strings.Count(strings.TrimRight(path, "/"), "/") >= n
}
