package pattern

import (
	"cmp"
	"strings"
)

// PrefixOf returns the prefix that the path of a registered route has before the path of a
// wanted one, or "" if the routes differ in anything else.
func PrefixOf(listed, want Pattern) string {
	prefix, below := strings.CutSuffix(listed.Path, want.Path)
	if !below || want.Path == "/" || !want.Covers(&listed, cmp.Or(listed.Method, want.Method)) {
		return ""
	}
	return prefix
}

// Nearest returns the registered route with the least edit distance from the wanted one. It
// returns "" if every route differs in more than half of the wanted path, and the first of
// several that are equally near.
func Nearest(registered []string, want Pattern) (route string) {
	least := strings.Count(want.Path, "/")*costSegment/2 + 1
	for _, r := range registered {
		if d := distance(want, Parse(r)); d < least {
			route, least = r, d
		}
	}
	return route
}

// Costs of the differences between two patterns.
const (
	costSegment  = 100 // a segment inserted, removed or replaced
	costKind     = 50  // a wildcard in place of a text, another method, host or prefix
	costWildcard = 10  // a wildcard of another name
)

// distance returns the edit distance of two patterns, by segments.
func distance(want, have Pattern) int {
	d := 0
	if want.Method != "" && have.Method != "" && want.Method != have.Method {
		d += costKind
	}
	if want.Host != "" && want.Host != have.Host {
		d += costKind
	}
	if isBelow(want.Path, have.Path) || isBelow(have.Path, want.Path) {
		return d + costKind
	}
	a, b := strings.Split(want.Path, "/"), strings.Split(have.Path, "/")
	return d + editDistance(len(a), len(b), costSegment, func(i, j int) int { return segmentDistance(a[i], b[j]) })
}

// isBelow reports whether path is other with a prefix.
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

// editDistance returns the Levenshtein distance of two lists of n and m elements. Inserting or
// removing an element costs one; replacing element i of the first list by element j of the
// second costs change(i, j).
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
