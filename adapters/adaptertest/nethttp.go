package adaptertest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/footfall-dev/footfall"
)

// Server implements Serve and Direct of an App whose framework makes handlers of net/http.
type Server struct{ http.Handler }

// Serve is App.Serve.
func (s Server) Serve(l net.Listener, secure *tls.Config) (stop func() error) {
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	server := &http.Server{Handler: s.Handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			return err
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// Direct is App.Direct.
func (s Server) Direct(_ testing.TB, path string) {
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
}

// Plain makes handlers and middlewares of net/http, for routers that use these.
type Plain struct {
	// Value returns the value of a wildcard of the route.
	Value func(r *http.Request, name string) string
	// Track is the adapter's.
	Track func(r *http.Request, name string, props ...footfall.Prop) error
}

// Handler makes a handler of net/http of a Handler.
func (p *Plain) Handler(h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = h(&plain{p, w, r}) }) // there is no error
}

// Middleware makes a middleware of net/http of a Middleware.
func (p *Plain) Middleware(m Middleware) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := &plain{p, w, r}
			_ = m(c, func() error { next.ServeHTTP(c.w, c.r); return nil }) // there is no error
		})
	}
}

// plain is the Context of handlers and middlewares of net/http.
type plain struct {
	*Plain
	w http.ResponseWriter
	r *http.Request
}

func (c *plain) Track(name string, props ...footfall.Prop) error {
	return c.Plain.Track(c.r, name, props...)
}
func (c *plain) Context() context.Context     { return c.r.Context() }
func (c *plain) Request() *http.Request       { return c.r }
func (c *plain) Writer() http.ResponseWriter  { return c.w }
func (c *plain) Header(name string) string    { return c.r.Header.Get(name) }
func (c *plain) SetContext(x context.Context) { c.r = c.r.WithContext(x) }
func (c *plain) Param(name string) string     { return c.Value(c.r, name) }
func (c *plain) SetHeader(name, value string) { c.w.Header().Set(name, value) }

func (c *plain) Answer(status int, text string) error {
	c.w.WriteHeader(status)
	_, err := io.WriteString(c.w, text)
	return err
}

func (c *plain) Fail(status int) error {
	http.Error(c.w, "it fails", status)
	return nil
}

func (c *plain) Serve(h http.Handler) error {
	h.ServeHTTP(c.w, c.r)
	return nil
}

// Layers implements parts of an App that is a handler of net/http below middlewares.
type Layers struct {
	*Plain
	Inner func() http.Handler                   // which is called when the application is complete
	Into  func(func(http.Handler) http.Handler) // adds a middleware to Inner; nil if the middlewares are around it
	above []func(http.Handler) http.Handler     // the outermost first
}

// Add adds a middleware.
func (l *Layers) Add(m func(http.Handler) http.Handler) {
	if l.Into != nil {
		l.Into(m)
		return
	}
	l.above = append(l.above, m)
}

// Use is App.Use.
func (l *Layers) Use(m Middleware) { l.Add(l.Plain.Middleware(m)) }

// Recover is App.Recover: a typical recovery of an application with net/http.
func (l *Layers) Recover() {
	l.Add(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if v := recover(); v == http.ErrAbortHandler {
					panic(v)
				} else if v != nil {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}()
			next.ServeHTTP(w, r)
		})
	})
}

// Refuse is App.Refuse.
func (l *Layers) Refuse() { l.Add(Deny) }

// Handler returns the handler with its middlewares.
func (l *Layers) Handler() http.Handler {
	h := l.Inner()
	for _, m := range slices.Backward(l.above) {
		h = m(h)
	}
	return h
}

// Serve is App.Serve.
func (l *Layers) Serve(listener net.Listener, secure *tls.Config) (stop func() error) {
	return Server{l.Handler()}.Serve(listener, secure)
}

// Direct is App.Direct.
func (l *Layers) Direct(tb testing.TB, path string) { Server{l.Handler()}.Direct(tb, path) }

// Deny is a middleware of net/http that refuses every request.
func Deny(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
}

// ServeHTTP serves a handler until the test ends.
func ServeHTTP(t *testing.T, h http.Handler) (base string, stop func()) {
	t.Helper()
	return Open(t, func(l net.Listener) func() error { return Server{h}.Serve(l, nil) })
}

// Ask sends a request on a new connection, and returns status and body.
func Ask(t *testing.T, base string, r Request) (status int, body string) {
	t.Helper()
	client := dialHTTP(Address{Host: strings.TrimPrefix(base, "http://")})
	defer client.Close()
	return client.Ask(t, r)
}
