package pattern

import (
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
)

// EventName returns the name of an event after a method and a route: their words in lower
// case, joined by underscores, such as get_products_id for "GET /products/{id}". An empty
// route is get_no_route. The name of a catch-all without a name ends with any if the path is
// longer than the route; EventName takes nothing else from the path.
func EventName(method, route, path string) string {
	p := Parse(route)
	words := []string{methodWord(method, p)}
	if route == "" {
		return words[0] + "_no_route"
	}
	for segment := range strings.SplitSeq(p.Path, "/") {
		if w := word(segment); w != "" {
			words = append(words, w)
		}
	}
	switch {
	case isUnnamedCatchAll(p.Path) && isBeyond(p.Path, path):
		words = append(words, "any")
	case len(words) == 1:
		words = append(words, "root")
	}
	return strings.Join(words, "_")
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

// word returns a segment as a word of a name: a wildcard's name without its notation, and
// an underscore for every character other than an ASCII letter or a digit.
func word(segment string) string {
	if strings.HasPrefix(segment, "{") {
		segment = wildcardName(segment)
	}
	fold := func(r rune) rune {
		if r < 0x80 && chars.IsAlnum(byte(r)) {
			return r
		}
		return '_'
	}
	return strings.Trim(strings.ToLower(strings.Map(fold, segment)), "_")
}
