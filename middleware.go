package footfall

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/footfall-dev/footfall/internal/pattern"
	"github.com/footfall-dev/footfall/internal/respwriter"
)

// Middleware returns a middleware that makes events of answered requests according to rules.
// [Track] finds the tracker and the page in the request's context. The middleware does not
// change the answer, the interfaces of the http.ResponseWriter, or a panic of the application.
//
// The pattern of a request is the one that the http.ServeMux below noted in the request. If the
// request does not have it, because a middleware in between made a copy or because a mux is
// mounted below another, it is the pattern of the most specific rule that matches the request.
//
// A rule for AnyRoute makes no event of a request whose pattern is not known. Put the middleware
// directly around the mux, and other middlewares around it: a middleware below that copies the
// request, such as one that calls WithContext or http.TimeoutHandler, hides the pattern, unless
// [NoteRoute] is around the mux. Middleware logs the first such request.
//
// Middleware logs wrong rules and leaves them out. When it is put around a mux, it also logs
// rules whose route is not registered in the mux yet: see [Tracker.CheckRules].
func (t *Tracker) Middleware(rules ...Rule) func(http.Handler) http.Handler {
	set, _ := t.compile(rules) // the problems are among those below
	routes := newRouteFinder(maps.Keys(set.named.many))
	return func(next http.Handler) http.Handler {
		t.report(t.CheckRules(next, rules...))
		routes, set := routes, *set
		_, routes.aboveMux = next.(*http.ServeMux)
		routes.below, _ = next.(router)
		set.routes = &routes
		m := &middleware{rules: &set, routed: routes.routed, next: next}
		if len(set.any) > 0 && routes.below == nil {
			m.unknown = new(sync.Once)
		}
		return m
	}
}

// Wrap is [Tracker.Middleware] for other routers with handlers of net/http. It calls routed after
// the handler, with the request that it passed to the handler. routed returns the pattern that
// the request matched, or "", whether the pattern also matches all longer paths, which its text
// does not say, and the values of its wildcards, which may be nil.
func (s *Rules) Wrap(next http.Handler, routed func(*http.Request) (pattern string, subtree bool, values PathValuer)) http.Handler {
	return &middleware{rules: s, next: next, routed: func(r *http.Request, _, _ string) (pattern string, subtree bool, values PathValuer) {
		defer s.recoverPanic()
		return routed(r)
	}}
}

type middleware struct {
	rules   *Rules
	routed  func(r *http.Request, path, rawPath string) (route string, subtree bool, values PathValuer)
	next    http.Handler
	unknown *sync.Once // logs a request without a known pattern; nil if that is not expected
}

// logUnknown logs, once, that AnyRoute makes no event.
func (m *middleware) logUnknown() {
	m.unknown.Do(func() {
		log := m.rules.tracker.reporter.log
		go log.Warn("footfall: the pattern of a request is not known, so a rule for AnyRoute makes no event: " +
			"a middleware below may have copied the request; put the tracker's middleware directly around the mux, or footfall.NoteRoute")
	})
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

// passage is one request on its way through the net/http middleware.
type passage struct {
	middleware *middleware
	visit      Visit
	returned   bool
}

// end is deferred. It repeats a panic with the same value.
func (p *passage) end() {
	panicked := recover()
	if p.middleware.rules.empty() {
		p.visit.handBack(p.visit.inner)
	} else {
		var o Observation
		p.observe(&o, panicked)
		p.visit.end(&o)
	}
	if panicked != nil {
		panic(panicked)
	}
}

func (p *passage) observe(o *Observation, panicked any) {
	o.Status = cmp.Or(p.visit.Status(), http.StatusOK) // the server writes a header that the handler did not write
	o.Header = (*answerHeader)(p.visit.answer)
	switch {
	case isAbort(panicked), panicked == nil && !p.returned: // runtime.Goexit
		o.Aborted = true
	case panicked != nil:
		o.Status = http.StatusInternalServerError
	}
	o.Route, o.Subtree, o.Path = p.middleware.routed(p.visit.inner, p.visit.page.path, p.visit.page.rawPath)
	if noted := p.visit.noted(); noted != nil && o.Route == "" {
		o.Route, o.Subtree, o.Path = noted.pattern, pattern.IsSubtree(noted.pattern), noted.values
	}
	if o.Route == "" && p.middleware.unknown != nil && o.isUnknown(p.visit.inner.Method) {
		p.middleware.logUnknown()
	}
}

// answerHeader is the header of an answer, for rules that read it.
type answerHeader respwriter.Recorder

// Get implements HeaderGetter.
func (h *answerHeader) Get(name string) string { return h.ResponseWriter.Header().Get(name) }

// isUnknown reports whether an answer without a known pattern is one that AnyRoute is for.
func (o *Observation) isUnknown(method string) bool {
	return !o.Aborted && o.Status >= 200 && o.Status <= 299 && !isSilent(method)
}

// recoverPanic is deferred by a call of a function of an adapter.
func (s *Rules) recoverPanic() {
	if v := recover(); v != nil {
		s.panicked(v)
	}
}

func isAbort(panicked any) bool {
	err, ok := panicked.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// PathValuer returns the values of a pattern's wildcards. An *http.Request implements it.
type PathValuer interface {
	PathValue(name string) string
}

// router is implemented by http.ServeMux. Handler returns the pattern that a request matches.
type router interface {
	Handler(*http.Request) (http.Handler, string)
}

// routeFinder finds the pattern that a request matched.
type routeFinder struct {
	paths    map[string]bool // of the rules' routes
	mux      *http.ServeMux  // has the rules' routes; nil if there are none
	aboveMux bool            // below is a mux: it notes every pattern that it finds
	below    router          // the handler below, if it is a router; may be nil
}

// routedRequest is a request of the middleware, whose route is found when it is needed.
type routedRequest struct {
	method string
	routes *routeFinder // nil if an adapter finds the route
	noted  *notes       // by NoteRoute; nil if the context has no value
}

// newRouteFinder returns a finder for rules of the given routes.
func newRouteFinder(routes iter.Seq[string]) routeFinder {
	f := routeFinder{paths: make(map[string]bool)}
	for route := range routes {
		f.paths[pattern.Parse(route).Path] = true
		if !isPattern(route) {
			continue
		}
		if f.mux == nil {
			f.mux = http.NewServeMux()
		}
		registers(f.mux, route) // a route that conflicts with another is found by its exact pattern only
	}
	return f
}

// routeOf returns the pattern that a request matched, or "". It does not read the request, which
// other goroutines may change.
func (f *routeFinder) routeOf(method string, p *Page) (route string) {
	asked := &http.Request{Method: method, Host: p.host, URL: &url.URL{Path: p.path, RawPath: p.rawPath}}
	if f.below != nil {
		_, route = f.below.Handler(asked)
	}
	if f.mux == nil || route != "" && !f.mayGoOn(route) {
		return route
	}
	if _, own := f.mux.Handler(asked); own != "" {
		return own
	}
	return route
}

// routed returns the pattern of an answered request, whether it is a subtree, and the request
// that has the values of its wildcards. That is the request of the handler, unless a pattern of
// the rules is more specific. path and rawPath belong to the original request.
func (f *routeFinder) routed(r *http.Request, path, rawPath string) (route string, subtree bool, values PathValuer) {
	noted := r.Pattern
	if f.mux == nil || noted == "" && f.aboveMux || noted != "" && !f.mayGoOn(noted) {
		return noted, pattern.IsSubtree(noted), r
	}
	if found := f.find(r, path, rawPath); found.Pattern != "" {
		return found.Pattern, pattern.IsSubtree(found.Pattern), found
	}
	return noted, pattern.IsSubtree(noted), r
}

// mayGoOn reports whether another mux may have found a longer pattern below the noted one. The
// noted pattern is a subtree then, and no rule names its path.
func (f *routeFinder) mayGoOn(noted string) bool {
	return pattern.IsSubtree(noted) && !f.paths[pattern.Parse(noted).Path]
}

// find returns a request that went through the mux of the rules' patterns. It has the path of
// the original request, because a handler may have cut a prefix off the path of r.
func (f *routeFinder) find(r *http.Request, path, rawPath string) *http.Request {
	original := &http.Request{Method: r.Method, Host: r.Host, URL: &url.URL{Path: path, RawPath: rawPath}}
	if h, _ := f.mux.Handler(original); h == http.Handler(matched{}) { // neither a redirect nor a 404
		f.mux.ServeHTTP(nil, original)
	}
	return original
}

// isPattern reports whether an http.ServeMux accepts the route.
func isPattern(route string) bool { return registers(http.NewServeMux(), route) }

// registers adds a route to mux and reports whether mux accepts it. An http.ServeMux panics
// where it does not.
func registers(mux *http.ServeMux, route string) (ok bool) {
	defer func() { ok = recover() == nil }()
	mux.Handle(route, matched{})
	return true
}

// matched is the handler of every route in a mux of the rules' patterns. A request for which
// the mux has another handler, such as a redirect, matches no rule.
type matched struct{}

func (matched) ServeHTTP(http.ResponseWriter, *http.Request) {}

// NoteRoute returns a handler that calls mux and tells the middleware above which pattern the request matched. Put it
// directly around the mux if a middleware between the two copies the request, such as http.TimeoutHandler or one that
// calls WithContext: otherwise the pattern is not known to [Tracker.Middleware]. The pattern is also known of an answer that such
// a middleware writes before the handler returns, but not the values of [Rule.PathProps]. It does not make events, needs the value in
// the context (see [Config.NoContextValue]), and finds the pattern of each request once more.
func NoteRoute(mux *http.ServeMux) http.Handler { return noting{mux} }

// noting is a mux whose patterns are noted.
type noting struct{ *http.ServeMux }

// notedRoute is a pattern that a request matched. It never changes.
type notedRoute struct {
	pattern string
	values  PathValuer // nil while the handler runs, which may change them
}

// notes is what handlers below the middleware note of a request. They may run on another goroutine than the middleware.
type notes struct {
	route    atomic.Pointer[notedRoute]
	observed atomic.Bool // by Rules.NoteObserved
}

// notedRoute returns the pattern that was noted, or "".
func (r *routedRequest) notedRoute() string {
	if r == nil || r.noted == nil {
		return ""
	}
	if noted := r.noted.route.Load(); noted != nil {
		return noted.pattern
	}
	return ""
}

// NoteObserved tells the middleware above, if it is of the same tracker, that an adapter observes what the request of ctx asked for,
// such as operations of GraphQL, which are all sent to one route. Rules for [AnyRoute] of that middleware then make no event
// of the request; rules that name its route do. ctx is the context that the middleware passed on, or derived from it. Without
// a middleware above, or its value in the context (see [Config.NoContextValue]), NoteObserved does nothing. Several goroutines
// may call it, before the handler returns.
func (s *Rules) NoteObserved(ctx context.Context) {
	if v := valueFrom(ctx); v != nil && v.tracker == s.tracker && v.request.noted != nil {
		v.request.noted.observed.Store(true)
	}
}

// ServeHTTP implements http.Handler.
func (n noting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := valueFrom(r.Context())
	if v == nil || v.request.noted == nil {
		n.ServeMux.ServeHTTP(w, r)
		return
	}
	if _, pattern := n.Handler(r); pattern != "" {
		v.request.noted.route.Store(&notedRoute{pattern: pattern})
	}
	defer func() {
		if r.Pattern != "" {
			v.request.noted.route.Store(&notedRoute{r.Pattern, r})
		}
	}()
	n.ServeMux.ServeHTTP(w, r)
}
