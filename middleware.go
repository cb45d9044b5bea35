package footfall

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"

	"github.com/footfall-dev/footfall/internal/pattern"
)

// Middleware returns a middleware that makes events of answered requests, as
// rules say, and lets Track find tracker and page in the request's context. It
// changes nothing of the application: not the answer, not what the
// http.ResponseWriter can do, not a panic.
//
// The pattern of a request is that of the http.ServeMux below. Where the request
// did not keep it (a middleware in between made a copy, a mux is mounted below
// another) it is the most specific rule whose pattern matches the request.
//
// Rules that are wrong are logged and left out. When the middleware is put around a
// mux, rules whose route is not registered in it yet are logged, too: see CheckRules.
func (t *Tracker) Middleware(rules ...Rule) func(http.Handler) http.Handler {
	set, _ := t.compile(rules) // the problems are among those below
	routes := newRouteFinder(set)
	return func(next http.Handler) http.Handler {
		t.report(t.CheckRules(next, rules...))
		routes, set := routes, *set
		_, routes.aboveMux = next.(*http.ServeMux)
		routes.below, _ = next.(asker)
		set.routes = &routes
		return &middleware{rules: &set, routed: routes.routed, next: next}
	}
}

// PathValuer gives the values of a pattern's wildcards. An *http.Request does.
type PathValuer interface {
	PathValue(name string) string
}

// Wrap is Middleware for other routers whose handlers are net/http's: routed is
// called after the handler, with the request that was handed down, and says which
// pattern it matched, "" for none, and the values of its wildcards, which may be nil.
func (s *Rules) Wrap(next http.Handler, routed func(*http.Request) (pattern string, values PathValuer)) http.Handler {
	return &middleware{rules: s, next: next, routed: func(r *http.Request, _ Page) (string, PathValuer) { return routed(r) }}
}

type middleware struct {
	rules  *Rules
	routed func(*http.Request, Page) (string, PathValuer)
	next   http.Handler
}

func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := passage{middleware: m}
	p.visit.begin(m.rules, r)
	p.visit.unseen = p.visit.copy != nil && isServers(m, r)
	w = p.visit.Writer(w)
	defer p.end()
	m.next.ServeHTTP(w, p.visit.inner)
	p.returned = true
}

// passage is a visit of the net/http middleware.
type passage struct {
	middleware *middleware
	visit      Visit
	returned   bool
}

// end is deferred. It passes on a panic with the value it had.
func (p *passage) end() {
	panicked := recover()
	var o Observation
	if !p.middleware.rules.empty() {
		p.observe(&o, panicked)
	}
	p.visit.end(&o)
	if panicked != nil {
		panic(panicked)
	}
}

func (p *passage) observe(o *Observation, panicked any) {
	o.Status = cmp.Or(p.visit.Status(), http.StatusOK) // the server writes what the handler did not
	o.Header = p.visit.answer.Header()
	switch {
	case isAbort(panicked), panicked == nil && !p.returned: // runtime.Goexit
		o.Aborted = true
	case panicked != nil:
		o.Status = http.StatusInternalServerError
	}
	p.route(o)
}

// route contains a panic in the function of an adapter.
func (p *passage) route(o *Observation) {
	defer func() {
		if v := recover(); v != nil {
			p.middleware.rules.panicked(v)
		}
	}()
	o.Route, o.Path = p.middleware.routed(p.visit.inner, p.visit.page)
}

func isAbort(panicked any) bool {
	err, ok := panicked.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

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
