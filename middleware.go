package footfall

import (
	"errors"
	"net/http"
	"strings"
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
// Rules that are wrong are logged and left out. So are, when the middleware is
// put around a mux, rules whose route is not registered in it: see CheckRules.
func (t *Tracker) Middleware(rules ...Rule) func(http.Handler) http.Handler {
	set, problems := t.Rules(rules...)
	routes, invalid := newRouteFinder(set)
	t.report(problems)
	t.report(invalid)
	return func(next http.Handler) http.Handler {
		t.report(CheckRules(next, rules...))
		return &middleware{tracker: t, rules: set, routes: routes, next: next}
	}
}

// report logs what is wrong with rules, a line each.
func (t *Tracker) report(err error) {
	if t == nil || t.disabled || err == nil {
		return
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			t.report(one)
		}
		return
	}
	t.reporter.log.Error("footfall: a rule has no effect", "error", err)
}

type middleware struct {
	tracker *Tracker
	rules   *Rules
	routes  routeFinder
	next    http.Handler
}

func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := visit{middleware: m, outer: r, inner: r, page: m.tracker.Page(r)}
	v.answer = &recorder{ResponseWriter: w}
	if m.tracker == nil || !m.tracker.noContext {
		v.inner = r.WithContext(&valueContext{r.Context(), contextValue{tracker: m.tracker, known: true, page: v.page}})
	}
	defer v.end()
	m.next.ServeHTTP(v.answer.asWriter(), v.inner)
	v.returned = true
}

// visit is one request on its way through the middleware.
type visit struct {
	middleware *middleware
	outer      *http.Request // as it came
	inner      *http.Request // as it went on: outer, or a copy with another context
	page       Page
	answer     *recorder
	returned   bool
}

// end is deferred. It passes on a panic with the value it had.
func (v *visit) end() {
	panicked := recover()
	if v.inner != v.outer {
		v.handBack()
	}
	v.observe(panicked)
	if panicked != nil {
		panic(panicked)
	}
}

// handBack puts onto the request that came what the handler put onto its copy,
// as if there had been none. The server removes the files of the multipart form
// it finds there; of a form on a copy it knows nothing (golang/go#58809).
func (v *visit) handBack() {
	v.outer.Pattern = v.inner.Pattern
	v.outer.Form = v.inner.Form
	v.outer.PostForm = v.inner.PostForm
	v.outer.MultipartForm = v.inner.MultipartForm
}

func (v *visit) observe(panicked any) {
	if len(v.middleware.rules.byPath)+len(v.middleware.rules.any)+len(v.middleware.rules.none) == 0 {
		return
	}
	o := Observation{
		Method:  v.inner.Method,
		Route:   v.middleware.routes.find(v.inner),
		Status:  v.answer.final(),
		Page:    v.page,
		Path:    v.inner,
		Request: v.inner,
	}
	switch {
	case isAbort(panicked), panicked == nil && !v.returned: // runtime.Goexit
		o.Aborted = true
	case panicked != nil:
		o.Status = http.StatusInternalServerError
	}
	v.middleware.rules.Observe(&o)
}

func isAbort(panicked any) bool {
	err, ok := panicked.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// routeFinder says which route a request took.
type routeFinder struct {
	rules *Rules
	mux   *http.ServeMux // has the rules' routes; nil if there are none
}

// newRouteFinder returns an error for each rule whose route net/http does not
// understand.
func newRouteFinder(rules *Rules) (routeFinder, error) {
	f := routeFinder{rules: rules}
	seen := make(map[string]bool)
	var problems []error
	for _, group := range rules.byPath {
		for i := range group {
			r := &group[i]
			if seen[r.Route] {
				continue
			}
			seen[r.Route] = true
			if !registers(http.NewServeMux(), r.Route) {
				problems = append(problems, ruleError(&r.Rule, "Route", "not a pattern of net/http"))
				continue
			}
			if f.mux == nil {
				f.mux = http.NewServeMux()
			}
			registers(f.mux, r.Route) // one that conflicts with another is found by its exact pattern only
		}
	}
	return f, errors.Join(problems...)
}

// registers reports whether mux takes the pattern; it panics where it does not.
func registers(mux *http.ServeMux, pattern string) (ok bool) {
	defer func() { ok = recover() == nil }()
	mux.Handle(pattern, http.NotFoundHandler())
	return true
}

// find returns the pattern that the mux below noted in r, unless it noted none,
// or one of a subtree below which another mux may have found a longer one.
func (f *routeFinder) find(r *http.Request) string {
	noted := r.Pattern
	if f.mux == nil || noted != "" && (!isSubtree(noted) || f.rules.byPath[parsePattern(noted).path] != nil) {
		return noted
	}
	if _, pattern := f.mux.Handler(r); pattern != "" {
		return pattern
	}
	return noted
}

func isSubtree(pattern string) bool {
	return strings.HasSuffix(pattern, "/") || strings.HasSuffix(pattern, "...}")
}
