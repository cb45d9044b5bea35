package pattern

import (
	"cmp"
	"strings"
)

// PrefixOf returns the prefix that a registered route has before the path of a rule, or "" if
// there is another difference.
func PrefixOf(listed, want Pattern) string {
	prefix, below := strings.CutSuffix(listed.Path, want.Path)
	if !below || want.Path == "/" || !want.Covers(listed, cmp.Or(listed.Method, want.Method)) {
		return ""
	}
	return prefix
}

// Nearest returns the route that is most like the wanted one, or "" if all differ from it in
// more than half of it. Of equals it returns the first in registered.
func Nearest(registered []string, want Pattern) (route string) {
	least := strings.Count(want.Path, "/")*costSegment/2 + 1
	for _, r := range registered {
		if d := distance(want, Parse(r)); d < least {
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
