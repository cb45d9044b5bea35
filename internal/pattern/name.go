package pattern

import (
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
)

// EventName returns the name of an event after a method and a route: their words in lower
// case, joined by underscores, such as get_products_id for "GET /products/{id}". An empty
// route is get_no_route. subtree means that the route also matches all longer paths. The name
// of a catch-all without a name ends with any if the path is longer than the route; EventName
// takes nothing else from the path.
func EventName(method, route, path string, subtree bool) string {
	p := Parse(route)
	words := []string{methodWord(method, p)}
	if route == "" {
		return words[0] + "_no_route"
	}
	last := ""
	for rest := p.Path; rest != ""; {
		n := segmentLen(rest)
		last, rest = rest[:n], strings.TrimPrefix(rest[n:], "/")
		if w := word(last); w != "" {
			words = append(words, w)
		}
	}
	switch {
	case (isUnnamed(last) || subtree && IsFixed(last)) && isBeyond(p.Path, path):
		words = append(words, "any")
	case len(words) == 1:
		words = append(words, "root")
	}
	return strings.Join(words, "_")
}

// TrimPrefix removes a prefix, such as "/api", from the path of a route, and as many segments from a
// path that matched it. It changes nothing if the route does not begin with the segments of prefix.
func TrimPrefix(route, path, prefix string) (shortRoute, shortPath string) {
	p := Parse(route)
	prefix = "/" + strings.Trim(prefix, "/")
	rest, found := strings.CutPrefix(p.Path, prefix)
	if !found || rest != "" && rest[0] != '/' {
		return route, path
	}
	for range strings.Count(prefix, "/") {
		segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		path = strings.TrimPrefix(strings.TrimPrefix(path, "/"), segment)
	}
	return p.Method + " " + p.Host + "/" + strings.TrimPrefix(rest, "/"), path
}

// ShortName returns name, or its beginning and a hash of all of it, which have limit bytes at
// most. The hash keeps long names with the same beginning apart. It never changes, because goals
// and reports refer to names.
func ShortName(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, name) // cannot fail
	return fmt.Sprintf("%s_%08x", strings.TrimRight(name[:limit-len("_01234567")], "_"), hash.Sum32())
}

// methodWord returns the method in lower case. It is "other" for a method that neither the
// pattern nor RFC 9110 and RFC 5789 name, because a client can invent any number of methods.
func methodWord(method string, p Pattern) string {
	switch method {
	case p.Method, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return strings.ToLower(method)
	}
	return "other"
}

// word returns a segment as a word of a name: wildcards' names without their notation, and
// an underscore for every character other than an ASCII letter or a digit.
func word(segment string) string {
	var plain strings.Builder
	for segment != "" {
		text, n := segment, 0
		if at := strings.IndexByte(segment, '{'); at >= 0 {
			text, n = segment[:at], max(1, wildcardLen(segment[at:]))
		}
		plain.WriteString(text)
		if segment = segment[len(text):]; n > 1 {
			plain.WriteString(wildcardName(segment[:n]))
		}
		segment = segment[n:]
	}
	fold := func(r rune) rune {
		if r < 0x80 && chars.IsAlnum(byte(r)) {
			return r
		}
		return '_'
	}
	return strings.Trim(strings.ToLower(strings.Map(fold, plain.String())), "_")
}
