// Package fiberpattern reads the patterns of Fiber's routes for the adapters for Fiber v2 and v3.
//
// An adapter may be built with a later version of this package than its own: what is exported
// keeps its name and its meaning.
package fiberpattern

import (
	"slices"
	"strings"

	"github.com/footfall-dev/footfall"
)

// Rules returns a copy of rules with canonical patterns.
func Rules(rules []footfall.Rule) []footfall.Rule {
	rules = slices.Clone(rules)
	for i, r := range rules {
		if slash := strings.IndexByte(r.Route, '/'); slash >= 0 {
			rules[i].Route = r.Route[:slash] + Canonical(r.Route[slash:])
		}
	}
	return rules
}

// Named is the set of the paths that rules name, [footfall.AnyRoute] and [footfall.NoRoute] among
// them.
type Named map[string]bool

// NamedBy returns the paths that rules name. The rules are canonical.
func NamedBy(rules []footfall.Rule) Named {
	named := make(Named)
	for _, r := range rules {
		named[r.Route[max(0, strings.IndexByte(r.Route, '/')):]] = true
	}
	return named
}

// Asked reports whether a rule may apply to the route with this canonical path. A 404 of a
// catch-all is for NoRoute.
func (n Named) Asked(path string) bool {
	catchAll := strings.HasSuffix(path, "*") || strings.HasSuffix(path, "{+...}")
	return n[path] || n[footfall.AnyRoute] || catchAll && n[footfall.NoRoute]
}

// Canonical writes a pattern of Fiber in footfall's notation. In Fiber alone the name after a
// colon ends at a dash or a dot, and a plus is a wildcard: :from-:to becomes {from}-:to, and
// + becomes {+...}.
func Canonical(path string) string {
	var b strings.Builder
	for path != "" {
		n := 1
		switch {
		case path[0] == '\\':
			n = min(2, len(path))
		case path[0] != ':' && path[0] != '+', len(path) > 1 && strings.IndexByte(":*+", path[1]) >= 0:
		case path[0] == '+':
			b.WriteString("{+...}")
			path = path[1:]
			continue
		default:
			if n = nameLen(path); n > 1 && (n < len(path) && path[n] != '/' || strings.IndexByte(path[:n], '/') >= 0) {
				b.WriteString("{" + path[1:n] + "}")
				path = path[n:]
				continue
			}
		}
		b.WriteString(path[:n])
		path = path[n:]
	}
	return b.String()
}

// nameLen returns the length of the wildcard :name that a path begins with. A constraint, such
// as <datetime(2006-01-02)>, may have delimiters.
func nameLen(path string) int {
	constraint := false
	for i := 1; i < len(path); i++ {
		switch c := path[i]; {
		case constraint && c == '\\':
			i++
		case c == '<', c == '>':
			constraint = c == '<'
		case constraint:
		case c == '?':
			return i + 1
		case strings.IndexByte(":\\/-.", c) >= 0:
			return i
		}
	}
	return len(path)
}
