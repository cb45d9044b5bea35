package footfall

import (
	"net/http"
	"net/url"

	"github.com/footfall-dev/footfall/internal/pattern"
)

// routeFinder says which route a request took.
type routeFinder struct {
	rules    *Rules
	mux      *http.ServeMux // has the rules' routes; nil if there are none
	aboveMux bool           // below is a mux: a pattern that it did not note, it did not find
	below    asker          // the handler below, if it says what it would match; may be nil
}

// routeOf returns the pattern that a request matched, or "". It does not look at the
// request, which other goroutines may be changing.
func (f *routeFinder) routeOf(method string, p *Page) (pattern string) {
	asked := &http.Request{Method: method, Host: p.host, URL: &url.URL{Path: p.path, RawPath: p.rawPath}}
	if f.below != nil {
		_, pattern = f.below.Handler(asked)
	}
	if f.mux == nil || pattern != "" && !f.mayGoOn(pattern) {
		return pattern
	}
	if _, own := f.mux.Handler(asked); own != "" {
		return own
	}
	return pattern
}

// routed returns the pattern of an answered request, and the request that knows
// the values of its wildcards: the one the handler had, unless the rules' own
// patterns say more than that.
func (f *routeFinder) routed(r *http.Request, came Page) (string, PathValuer) {
	noted := r.Pattern
	if f.mux == nil || noted == "" && f.aboveMux || noted != "" && !f.mayGoOn(noted) {
		return noted, r
	}
	if found := f.find(r, came); found.Pattern != "" {
		return found.Pattern, found
	}
	return noted, r
}

func newRouteFinder(rules *Rules) routeFinder {
	f := routeFinder{rules: rules}
	seen := make(map[string]bool)
	for _, group := range rules.byPath {
		for i := range group {
			route := group[i].Route
			if seen[route] || !isPattern(route) {
				continue
			}
			seen[route] = true
			if f.mux == nil {
				f.mux = http.NewServeMux()
			}
			registers(f.mux, route) // one that conflicts with another is found by its exact pattern only
		}
	}
	return f
}

// mayGoOn reports whether another mux may have found a longer pattern below the
// noted one: it is a subtree, and no rule names it.
func (f *routeFinder) mayGoOn(noted string) bool {
	return pattern.IsSubtree(noted) && f.rules.byPath[pattern.Parse(noted).Path] == nil
}

// find returns a request that has gone through the mux of the rules' patterns,
// with the path that came: a handler may have cut a prefix off r's.
func (f *routeFinder) find(r *http.Request, came Page) *http.Request {
	original := &http.Request{Method: r.Method, Host: r.Host, URL: &url.URL{Path: came.path, RawPath: came.rawPath}}
	if h, _ := f.mux.Handler(original); h == http.Handler(matched{}) { // not a redirect, nor not found
		f.mux.ServeHTTP(nil, original)
	}
	return original
}
