package pattern

import (
	"net/http"
	"strings"
)

// Pattern is a route taken apart: "[METHOD ][HOST]/[PATH]".
type Pattern struct {
	Method, Host, Path string
}

func Parse(route string) Pattern {
	var p Pattern
	for i := 0; i < len(route) && route[i] != '/'; i++ {
		if isBlank(route[i]) {
			p.Method, route = route[:i], route[i:]
			break
		}
	}
	for route != "" && isBlank(route[0]) {
		route = route[1:]
	}
	if slash := strings.IndexByte(route, '/'); slash > 0 {
		p.Host, route = route[:slash], route[slash:]
	}
	p.Path = route
	return p
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// Covers reports whether a rule of pattern p means a route by which a request with method
// was answered. What p leaves open, a method or a host, the route may have.
func (p Pattern) Covers(route Pattern, method string) bool {
	return (p.Method == "" || p.Method == method || p.Method == route.Method && method == http.MethodHead) &&
		(p.Host == "" || p.Host == route.Host)
}

func IsSubtree(pattern string) bool {
	return strings.HasSuffix(pattern, "/") || strings.HasSuffix(pattern, "...}")
}
