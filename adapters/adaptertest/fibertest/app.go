package fibertest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

// app is an app of Fiber as an application of adaptertest.
type app[C Context, R Router[R]] struct {
	s       Subject[C, R]
	r       R
	onError func(C, error) error // nil for Fiber's own
}

func (s Subject[C, R]) app(strict bool) adaptertest.App {
	a := &app[C, R]{s: s}
	a.r = s.New(Config[C]{Strict: strict, BodyLimit: 64 << 20, OnError: func(c C, err error) error {
		if a.onError != nil {
			return a.onError(c, err)
		}
		return s.DefaultError(c, err)
	}})
	return a
}

func (s Subject[C, R]) fiber(a adaptertest.App) R { return a.(*app[C, R]).r }

func (a *app[C, R]) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	a.r.Use(a.s.Middleware(tracker, rules...))
}
func (a *app[C, R]) Recover() { a.r.Use(a.s.Recover()) }
func (a *app[C, R]) Refuse() {
	a.r.Use(func(c C) error { return c.SendStatus(http.StatusUnauthorized) })
}

func (a *app[C, R]) Use(m adaptertest.Middleware) {
	a.r.Use(func(c C) error { return m(request[C, R]{c, a.s}, c.Next) })
}

func (a *app[C, R]) Handle(groups []string, method, pattern string, h adaptertest.Handler) {
	r := a.r
	for _, prefix := range groups {
		r = a.s.Group(r, prefix, nil)
	}
	a.s.Add(r, method, pattern, Handlers[C]{func(c C) error { return h(request[C, R]{c, a.s}) }})
}

func (a *app[C, R]) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return a.s.CheckRules(tracker, a.r, rules...)
}

func (a *app[C, R]) Serve(l net.Listener, secure *tls.Config) (stop func() error) {
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	served := make(chan error, 1)
	go func() { served <- a.s.Listen(a.r, l) }()
	return func() error { return errors.Join(a.s.Shutdown(a.r, patience), <-served) }
}

func (a *app[C, R]) Direct(tb testing.TB, path string) {
	a.s.Requests(tb, a.r, path, "GET "+path+" HTTP/1.1\r\nHost: shop.example.com\r\n\r\n")()
}

// request is a request of adaptertest.
type request[C Context, R Router[R]] struct {
	c C
	s Subject[C, R]
}

func (r request[C, R]) Track(name string, props ...footfall.Prop) error {
	return r.s.Track(r.c, name, props...)
}
func (r request[C, R]) Context() context.Context       { return r.s.Context(r.c) }
func (r request[C, R]) SetContext(ctx context.Context) { r.s.Continue(r.c, ctx) }
func (r request[C, R]) Request() *http.Request         { return nil }
func (r request[C, R]) Writer() http.ResponseWriter    { return nil }
func (r request[C, R]) Param(name string) string       { return r.c.Params(name) }
func (r request[C, R]) Header(name string) string      { return r.c.Get(name) }
func (r request[C, R]) SetHeader(name, value string)   { r.c.Set(name, value) }

func (r request[C, R]) Answer(status int, text string) error {
	r.s.SetStatus(r.c, status)
	return r.c.SendString(text)
}
func (r request[C, R]) Fail(status int) error      { return r.s.Error(status) }
func (r request[C, R]) Serve(h http.Handler) error { return r.s.mounted(h)(r.c) }
