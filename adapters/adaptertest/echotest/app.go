package echotest

import (
	"context"
	"net/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

// app is an Echo as an application of adaptertest.Behave.
type app[C Context, H ~func(C) error, M ~func(H) H, R any, G Group[G, H, M, R], E Echo[G, H, M, R]] struct {
	adaptertest.Server
	s Subject[C, H, M, R, G, E]
	e E
}

func (s Subject[C, H, M, R, G, E]) newApp() adaptertest.App {
	e := s.New()
	return app[C, H, M, R, G, E]{adaptertest.Server{Handler: e}, s, e}
}

func (a app[C, H, M, R, G, E]) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	a.e.Use(a.s.Middleware(tracker, rules...))
}
func (a app[C, H, M, R, G, E]) Recover() { a.e.Use(a.s.Recover()) }
func (a app[C, H, M, R, G, E]) Refuse()  { a.e.Use(a.s.Refuse()) }

func (a app[C, H, M, R, G, E]) Use(m adaptertest.Middleware) {
	a.e.Use(func(next H) H {
		return func(c C) error { return m(a.context(c), func() error { return next(c) }) }
	})
}

func (a app[C, H, M, R, G, E]) Handle(prefix, method, pattern string, h adaptertest.Handler) {
	handler := func(c C) error { return h(a.context(c)) }
	if prefix == "" {
		a.e.Add(method, pattern, handler)
		return
	}
	a.e.Group(prefix).Add(method, pattern, handler)
}

func (a app[C, H, M, R, G, E]) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return a.s.CheckRules(tracker, a.e, rules...)
}

func (a app[C, H, M, R, G, E]) context(c C) adaptertest.Context {
	return request[C]{c, a.s.Track, a.s.Writer, a.s.Error}
}

// request is a request of adaptertest.Behave.
type request[C Context] struct {
	c      C
	track  func(c C, name string, props ...footfall.Prop) error
	writer func(C) http.ResponseWriter
	err    func(status int, cause error) error
}

func (r request[C]) Track(name string, props ...footfall.Prop) error {
	return r.track(r.c, name, props...)
}
func (r request[C]) Context() context.Context             { return r.c.Request().Context() }
func (r request[C]) Request() *http.Request               { return r.c.Request() }
func (r request[C]) SetRequest(to *http.Request)          { r.c.SetRequest(to) }
func (r request[C]) Param(name string) string             { return r.c.Param(name) }
func (r request[C]) SetHeader(name, value string)         { r.writer(r.c).Header().Set(name, value) }
func (r request[C]) Answer(status int, text string) error { return r.c.String(status, text) }
func (r request[C]) Fail(status int) error                { return r.err(status, errBoom) }
