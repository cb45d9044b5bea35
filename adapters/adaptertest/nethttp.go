package adaptertest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/footfall-dev/footfall"
)

// Server implements Serve and Direct of an App whose framework makes handlers of net/http.
type Server struct{ http.Handler }

// Serve is App.Serve.
func (s Server) Serve(l net.Listener) (stop func() error) {
	server := &http.Server{Handler: s.Handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := server.Shutdown(ctx)
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return err
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
func (c *plain) SetRequest(r *http.Request)   { c.r = r }
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

// PlainRecovery is a typical recovery of an application with net/http.
func PlainRecovery(next http.Handler) http.Handler {
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
}

// Deny is a middleware of net/http that refuses every request.
func Deny(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
}
