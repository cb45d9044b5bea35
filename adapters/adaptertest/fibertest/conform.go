package fibertest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Conform runs the conformance suite. Not in parallel: its row about uploads sets an
// environment variable.
func (s Subject[C, R]) Conform(t *testing.T) {
	pattern := adaptertest.Replace(":", "*")
	nested := s.nested()
	if s.Nested != nil {
		nested = append(nested, s.Nested(s.compose)...)
	}
	adaptertest.Run(t, footfalltest.Subject{
		Pattern: pattern, Tracks: true, Nested: nested, Impossible: s.Impossible,
		Serve: func(tb testing.TB, app footfalltest.App, l net.Listener) func() {
			f := s.wired(app)
			for _, r := range app.Routes {
				handler := func(C) error { return s.Error(r.Fail) }
				if r.Fail == 0 {
					handler = s.mounted(r.Handler)
				}
				s.Add(f, r.Method, pattern(r.Pattern), Handlers[C]{func(c C) error {
					if r.Event != "" {
						_ = s.Track(c, r.Event) // the row misses the event
					}
					return handler(c)
				}})
			}
			return s.until(tb, f, l)
		},
	})
}

// until serves until stop is called, or the test ends.
func (s Subject[C, R]) until(tb testing.TB, app R, l net.Listener) (stop func()) {
	end := s.serve(app, l)
	stop = sync.OnceFunc(func() { assert.NoError(tb, end()) })
	tb.Cleanup(stop)
	return stop
}

// wired returns an app with the host's middlewares and, unless the tracker is nil, the tested
// middleware.
func (s Subject[C, R]) wired(app footfalltest.App) R {
	f := s.New(Config[C]{BodyLimit: 64 << 20})
	f.Use(s.recovering(app.Recovered))
	if app.SiteOf != nil {
		f.Use(s.sited(app.SiteOf))
	}
	if app.Tracker != nil {
		f.Use(s.Middleware(app.Tracker, app.Rules...))
	}
	return f
}

// recovering is the host's recovery.
func (s Subject[C, R]) recovering(recovered func(any)) func(C) error {
	return func(c C) (err error) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				recovered(v)
				err = s.Break(c)
			default:
				recovered(v)
				err = s.Error(http.StatusInternalServerError)
			}
		}()
		return c.Next()
	}
}

// sited is the host's middleware that sets the site.
func (s Subject[C, R]) sited(siteOf func(host string) string) func(C) error {
	return func(c C) error {
		s.Continue(c, footfall.WithSite(s.Context(c), siteOf(c.Get("Host"))))
		return c.Next()
	}
}

// mounted returns a handler of net/http below Fiber's adaptor, with the context of Fiber's
// handlers. The adaptor may run the handler in another goroutine, and then panics with
// another value. So mounted recovers, and panics with the handler's value.
func (s Subject[C, R]) mounted(h http.Handler) func(C) error {
	return func(c C) error {
		ctx, raw := s.Context(c), s.Raw(c)
		panicked := make(chan any, 1)
		err := s.Adapt(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				if v := recover(); v != nil {
					panicked <- v
				}
			}()
			flusher, _ := w.(http.Flusher) // nil before fasthttp v1.44
			h.ServeHTTP(&writer{ResponseWriter: w, Flusher: flusher, raw: raw}, r.WithContext(ctx))
		})(c)
		select {
		case v := <-panicked:
			panic(v)
		default:
			return err
		}
	}
}

// Raw does for one request what the adaptor does not.
type Raw struct {
	EarlyHints func(links []string) // nil if this version sends none
	SetStatus  func(status int)     // of a hijacked connection; nil if it has no effect
}

// writer sends a 103, and a 101 before the connection is hijacked.
type writer struct {
	http.ResponseWriter
	http.Flusher
	raw    Raw
	status int
}

func (w *writer) WriteHeader(status int) {
	if status == http.StatusEarlyHints && w.raw.EarlyHints != nil {
		w.raw.EarlyHints(w.Header().Values("Link"))
		return
	}
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.raw.SetStatus != nil {
		w.raw.SetStatus(w.status)
	}
	conn, both, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil && w.status == http.StatusSwitchingProtocols {
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n")
		_ = w.Header().Write(conn)
		_, _ = io.WriteString(conn, "\r\n")
	}
	return conn, both, err
}

func (s Subject[C, R]) compose(name, method, path, route string, add func(app R, h func(C) error)) footfalltest.Nested {
	return footfalltest.Nested{
		Name: name, Method: method, Path: path, Route: route,
		Serve: func(tb testing.TB, app footfalltest.App, l net.Listener) func() {
			f := s.wired(app)
			add(f, s.mounted(app.Routes[0].Handler))
			return s.until(tb, f, l)
		},
	}
}

func (s Subject[C, R]) nested() []footfalltest.Nested {
	one := func(name, path, route, pattern string) footfalltest.Nested {
		return s.compose(name, "GET", path, route, func(app R, h func(C) error) { s.get(app, pattern, h) })
	}
	all := s.compose("All", "PATCH", "/users/7", "/users/:id", func(app R, h func(C) error) { s.Add(app, "", "/users/:id", Handlers[C]{h}) })
	return append(s.nestedApps(), all,
		one("a wildcard for the rest", "/files/a/b", "GET /files/*", "/files/*"),
		one("an optional parameter that is absent", "/users", "GET /users/:id?", "/users/:id?"),
		one("another spelling of the path", "/API/Users/", "GET /api/users", "/api/users"),
		s.compose("a group", "GET", "/api/users/7", "GET /api/users/:id", func(app R, h func(C) error) {
			s.get(s.Group(app, "/api", nil), "/users/:id", h)
		}),
		s.compose("a group in a group, with middlewares", "POST", "/api/v1/users", "POST /api/v1/users", func(app R, h func(C) error) {
			with := Handlers[C]{next[C]}
			s.Add(s.Group(s.Group(app, "/api", with), "/v1", with), "POST", "/users", Handlers[C]{next[C], h})
		}),
		s.compose("Route", "GET", "/api/users/7", "GET /api/users/:id", func(app R, h func(C) error) {
			app.Route("/api", func(r R) { s.get(r, "/users/:id", h) })
		}),
		s.compose("a middleware and a route of one path", "GET", "/api", "GET /api", func(app R, h func(C) error) {
			app.Use("/api", next[C])
			s.get(app, "/api", h)
		}),
		s.compose("a route that the one before it passed on to", "GET", "/users/me", "GET /users/me", func(app R, h func(C) error) {
			s.get(app, "/users/:id", next[C])
			s.get(app, "/users/me", h)
		}),
		s.compose("a path that a middleware rewrote", "GET", "/old/7?x=1", "GET /new/:id", func(app R, h func(C) error) {
			app.Use("/old", func(c C) error {
				c.Path("/new/7")
				return c.RestartRouting()
			})
			s.get(app, "/new/:id", h)
		}))
}

func (s Subject[C, R]) nestedApps() []footfalltest.Nested {
	mounted := func(name, path, route, prefix, pattern string) footfalltest.Nested {
		return s.compose(name, "GET", path, route, func(app R, h func(C) error) {
			inner := s.New(Config[C]{})
			inner.Use(next[C])
			s.get(inner, pattern, h)
			s.Mount(app, prefix, inner)
		})
	}
	inCapitals := "GET /api/Users"
	if s.MountKeepsCase {
		inCapitals = "GET /API/Users"
	}
	return []footfalltest.Nested{
		mounted("a mounted app", "/api/users/7", "GET /api/users/:id", "/api", "/users/:id"),
		mounted("an app mounted in capitals", "/API/Users", inCapitals, "/API", "/Users"),
		s.compose("an app in an app in a group, mounted twice", "GET", "/b/api/v1/users/7", "GET /b/api/v1/users/:id", func(app R, h func(C) error) {
			innermost, inner := s.New(Config[C]{}), s.New(Config[C]{})
			s.get(innermost, "/users/:id", h)
			s.Mount(inner, "/v1", innermost)
			s.Mount(s.Group(app, "/a", nil), "/api", inner)
			s.Mount(s.Group(app, "/b", nil), "/api", inner)
		}),
	}
}

// Measure returns functions that send a request to a bare app, and to one with a rule, its
// event and the context value. With browser the request has the headers of a browser.
func (s Subject[C, R]) Measure(tb testing.TB, browser bool) (bare, wrapped func()) {
	tb.Helper()
	head := "POST /checkout/7 HTTP/1.1\r\nHost: shop.example.com\r\n"
	if browser {
		head += headers
	}
	requests := func(handlers ...any) func() {
		app := s.New(Config[C]{})
		for _, h := range handlers {
			app.Use(h)
		}
		s.Add(app, "POST", "/checkout/:id", Handlers[C]{func(C) error { return nil }})
		return s.Requests(tb, app, "/checkout/7", head+"\r\n")
	}
	return requests(), requests(s.Middleware(adaptertest.Tracker(tb), footfall.Rule{
		Route: "POST /checkout/:id", Event: "checkout_completed", Status: footfall.Success,
	}))
}

const headers = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
	"Accept-Language: en-GB,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Referer: https://shop.example.com/basket\r\nCookie: session=1a2b3c4d5e6f; theme=dark\r\n" +
	"Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: same-origin\r\n" +
	"Upgrade-Insecure-Requests: 1\r\nPriority: u=0, i\r\n"
