package footfall

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"sync"

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
// request, such as one that calls WithContext or http.TimeoutHandler, hides the pattern. Middleware
// logs the first such request.
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
			"a middleware below may have copied the request; put the tracker's middleware directly around the mux")
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
	if o.Route == "" && p.middleware.unknown != nil && o.isUnknown(p.visit.inner.Method) {
		p.middleware.logUnknown()
	}
}

// answerHeader is the header of an answer, for rules that read it.
type answerHeader respwriter.Recorder

// Get implements Header.
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
