package footfall

import (
	"errors"
	"net/http"
	"net/url"
	"path"
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
	set, _ := t.Rules(rules...) // the problems are among those below
	routes := newRouteFinder(set)
	return func(next http.Handler) http.Handler {
		t.report(t.CheckRules(next, rules...))
		m := &middleware{tracker: t, rules: set, routes: routes, next: next}
		_, m.aboveMux = next.(*http.ServeMux)
		return m
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
	tracker  *Tracker
	rules    *Rules
	routes   routeFinder
	next     http.Handler
	aboveMux bool // next is a mux: a pattern that it did not note, it did not find
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
//
// Fields are written only if they changed: an outer middleware may be reading the
// others in another goroutine. Body is left out, for it may not be comparable.
func (v *visit) handBack() {
	outer, inner := v.outer, v.inner
	outer.Pattern = inner.Pattern
	outer.Form, outer.PostForm, outer.MultipartForm = inner.Form, inner.PostForm, inner.MultipartForm
	set(&outer.Method, inner.Method)
	set(&outer.URL, inner.URL)
	set(&outer.Host, inner.Host)
	set(&outer.RemoteAddr, inner.RemoteAddr)
	set(&outer.RequestURI, inner.RequestURI)
	if strings.IndexByte(inner.Pattern, '{') < 0 {
		return
	}
	for name := range wildcards(inner.Pattern) {
		outer.SetPathValue(name, inner.PathValue(name))
	}
}

func set[T comparable](field *T, value T) {
	if *field != value {
		*field = value
	}
}

func (v *visit) observe(panicked any) {
	if len(v.middleware.rules.byPath)+len(v.middleware.rules.any)+len(v.middleware.rules.none) == 0 {
		return
	}
	routed := v.routed()
	o := Observation{
		Method:  v.inner.Method,
		Route:   routed.Pattern,
		Status:  v.answer.final(),
		Page:    v.page,
		Path:    routed,
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

// routed returns a request that knows its pattern and wildcards: the one the
// handler had, unless the rules' own patterns say more than that.
func (v *visit) routed() *http.Request {
	m, noted := v.middleware, v.inner.Pattern
	if v.redirected() {
		return &http.Request{}
	}
	if m.routes.mux == nil || noted == "" && m.aboveMux || noted != "" && !m.routes.mayGoOn(noted) {
		return v.inner
	}
	if found := m.routes.find(v.inner, &v.page); found.Pattern != "" {
		return found
	}
	return v.inner
}

// redirected reports whether the answer is a redirect to the same page written in
// another way, such as a mux makes from /docs to /docs/. The visit is the request
// that follows.
func (v *visit) redirected() bool {
	if v.answer.status < 300 || v.answer.status > 399 {
		return false
	}
	to, err := url.Parse(v.answer.Header().Get("Location"))
	return err == nil && to.Host == "" && to.Path != v.page.path && path.Clean("/"+to.Path) == path.Clean("/"+v.page.path)
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
	return isSubtree(noted) && f.rules.byPath[parsePattern(noted).path] == nil
}

// find returns a request that has gone through the mux of the rules' patterns,
// with the path that came: a handler may have cut a prefix off r's.
func (f *routeFinder) find(r *http.Request, came *Page) *http.Request {
	original := &http.Request{Method: r.Method, Host: r.Host, URL: &url.URL{Path: came.path, RawPath: came.rawPath}}
	if h, _ := f.mux.Handler(original); h == http.Handler(matched{}) { // not a redirect, nor not found
		f.mux.ServeHTTP(nil, original)
	}
	return original
}

func isSubtree(pattern string) bool {
	return strings.HasSuffix(pattern, "/") || strings.HasSuffix(pattern, "...}")
}
