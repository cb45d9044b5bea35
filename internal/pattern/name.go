package pattern

import (
	"net/http"
	"strings"

	"github.com/footfall-dev/footfall/internal/chars"
)

// EventName names an event from method and pattern: their words in lower case,
// joined by underscores, Wildcards by their name. The path says only whether it goes on
// after the last slash of a catch-all.
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

// methodWord is "other" for a method that neither the pattern nor RFC 9110 and
// 5789 name: clients can make up as many as they like.
func methodWord(method string, p Pattern) string {
	switch method {
	case p.Method, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return strings.ToLower(method)
	}
	return "other"
}

// word strips what routers write around a wildcard's name ({id}, {id:[0-9]+},
// {rest...}, :id, *path) and folds the rest to letters, digits and underscores.
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
