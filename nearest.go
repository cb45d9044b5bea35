package footfall

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// notListed says of a route that is not registered in a router which registered route is most
// like it.
func notListed(registered []string, p *rule) string {
	const reason = "not registered in the router"
	registered = slices.Sorted(slices.Values(registered)) // some routers list them in any order
	for _, route := range registered {
		if prefix := prefixOf(parsePattern(route), p); prefix != "" {
			return reason + "; the nearest is " + route + ": give the rules its prefix, as footfall.Prefix(" + strconv.Quote(prefix) + ", rules...) does"
		}
	}
	if route := nearest(registered, p.pattern); route != "" {
		return reason + "; the nearest is " + route
	}
	return reason
}

// prefixOf returns the prefix that a registered route has before the path of a rule, or "" if
// there is another difference.
func prefixOf(listed pattern, p *rule) string {
	prefix, below := strings.CutSuffix(listed.path, p.pattern.path)
	if !below || p.pattern.path == "/" || !p.names(listed, cmp.Or(listed.method, p.pattern.method)) {
		return ""
	}
	return prefix
}

// nearest returns the route that is most like the wanted one, or "" if all differ from it in
// more than half of it. Of equals it returns the first in registered.
func nearest(registered []string, want pattern) (route string) {
	least := strings.Count(want.path, "/")*costSegment/2 + 1
	for _, r := range registered {
		if d := distance(want, parsePattern(r)); d < least {
			route, least = r, d
		}
	}
	return route
}

// What a difference between two patterns costs.
const (
	costSegment  = 100 // a segment more or less, or another one
	costKind     = 50  // a wildcard in place of a text, another method, host or prefix
	costWildcard = 10  // a wildcard of another name
)

// distance is the edit distance of two patterns, over segments.
func distance(want, have pattern) int {
	d := 0
	if want.method != "" && have.method != "" && want.method != have.method {
		d += costKind
	}
	if want.host != "" && want.host != have.host {
		d += costKind
	}
	if isBelow(want.path, have.path) || isBelow(have.path, want.path) {
		return d + costKind
	}
	a, b := strings.Split(want.path, "/"), strings.Split(have.path, "/")
	return d + editDistance(len(a), len(b), costSegment, func(i, j int) int { return segmentDistance(a[i], b[j]) })
}

// isBelow reports whether a path is another one with a prefix.
func isBelow(path, other string) bool {
	return path != other && other != "/" && strings.HasSuffix(path, other)
}

func segmentDistance(a, b string) int {
	switch wildA, wildB := isWildcard(a), isWildcard(b); {
	case a == b:
		return 0
	case wildA && wildB:
		return costWildcard
	case wildA || wildB:
		return costKind
	}
	change := func(i, j int) int {
		if a[i] == b[j] {
			return 0
		}
		return 1
	}
	return costSegment * editDistance(len(a), len(b), 1, change) / max(len(a), len(b))
}

func isWildcard(segment string) bool { return segment != "" && strings.Contains("{:*", segment[:1]) }

// editDistance is Levenshtein's distance of two lists of n and m elements: one is the cost of an
// element more or less, change the cost of element i of the first in place of j of the second.
func editDistance(n, m, one int, change func(i, j int) int) int {
	row := make([]int, m+1) // the costs for the first i elements of the first list
	for j := range row {
		row[j] = j * one
	}
	for i := range n {
		diagonal := row[0]
		row[0] += one
		for j := range m {
			least := min(row[j]+one, row[j+1]+one, diagonal+change(i, j))
			diagonal, row[j+1] = row[j+1], least
		}
	}
	return row[m]
}

// notInMux says of a route that is not registered in a mux, which cannot list its routes, what
// the mux answers there.
func notInMux(mux asker, route string) string {
	const reason, hint = "not registered in the mux, which ", " (register routes before the middleware is put around it)"
	p := parsePattern(route)
	r := &http.Request{Method: cmp.Or(p.method, http.MethodGet), Host: p.host, URL: sampleURL(samplePaths(p.path)[0])}
	if _, found := mux.Handler(r); found != "" {
		return reason + "answers there with its route " + found + hint
	}
	for _, method := range anyMethod() {
		r.Method = method
		if _, found := mux.Handler(r); found != "" {
			return reason + "has the route " + found + " there" + hint
		}
	}
	return reason + "answers 404 there" + hint
}
