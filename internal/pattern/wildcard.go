package pattern

import (
	"iter"
	"strings"
)

// Wildcards returns the names of a route's wildcards, in order. The name of * is "*".
func Wildcards(route string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(route); i++ {
			if b := route[i]; b != '{' && b != ':' && b != '*' {
				continue
			}
			n := max(wildcardLen(route[i:]), 1)
			if w := route[i : i+n]; w != "{$}" && w != "{" && !yield(wildcardName(w)) {
				return
			}
			i += n - 1
		}
	}
}

// wildcardLen returns the length of the wildcard that route begins with, or 0. A regular
// expression in braces may contain slashes and further braces.
func wildcardLen(route string) int {
	switch route[0] {
	case ':', '*': // to the end of the segment
		segment, _, _ := strings.Cut(route, "/")
		return len(segment)
	case '{':
		depth := 0
		for i := range len(route) {
			switch route[i] {
			case '{':
				depth++
			case '}':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return 0
}

// wildcardName returns the name of a wildcard. The name of * is "*", as in chi and echo.
func wildcardName(w string) string {
	if w == "*" {
		return w
	}
	end := 1
	for end < len(w) && !endsName(w[end], w[0]) {
		end++
	}
	return strings.TrimSuffix(strings.TrimSuffix(w[1:end], "..."), "?")
}

// endsName reports whether b ends the name of a wildcard that begins with first.
func endsName(b, first byte) bool {
	return b == '<' || // a constraint of fiber
		first == '{' && (b == '}' || b == ':')
}

// IsNamed reports whether the name of a wildcard is one that the application gave. The
// wildcards * of several routers and + of fiber have none.
func IsNamed(name string) bool { return name != "" && name != "*" && name != "+" }

// HasWildcard reports whether a route has a wildcard of this name, which is not empty.
func HasWildcard(route, name string) bool {
	for w := range Wildcards(route) {
		if w == name && name != "" {
			return true
		}
	}
	return false
}
