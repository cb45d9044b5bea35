package fibertest

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// host adds the middlewares that the conformance suite wants.
func (s Subject[C, R]) host(a adaptertest.App, of footfalltest.App) {
	f := s.fiber(a)
	f.Use(s.recovering(of.Recovered))
	if of.SiteOf != nil {
		f.Use(func(c C) error {
			s.Continue(c, footfall.WithSite(s.Context(c), of.SiteOf(c.Get("Host"))))
			return c.Next()
		})
	}
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

// nested are the ways to compose routers that only Fiber has.
func (s Subject[C, R]) nested(a adaptertest.Subject) []footfalltest.Nested {
	compose := func(name, method, path, route string, add func(app R, h func(C) error)) footfalltest.Nested {
		return a.Compose(name, method, path, route, func(a adaptertest.App, h adaptertest.Handler) {
			add(s.fiber(a), func(c C) error { return h(request[C, R]{c, s}) })
		})
	}
	one := func(name, path, route, pattern string) footfalltest.Nested {
		return compose(name, "GET", path, route, func(app R, h func(C) error) { s.get(app, pattern, h) })
	}
	mounted := func(name, path, route, prefix, pattern string) footfalltest.Nested {
		return compose(name, "GET", path, route, func(app R, h func(C) error) {
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
	nested := []footfalltest.Nested{
		mounted("a mounted app", "/api/users/7", "GET /api/users/:id", "/api", "/users/:id"),
		mounted("an app mounted in capitals", "/API/Users", inCapitals, "/API", "/Users"),
		compose("an app in an app in a group, mounted twice", "GET", "/b/api/v1/users/7", "GET /b/api/v1/users/:id", func(app R, h func(C) error) {
			innermost, inner := s.New(Config[C]{}), s.New(Config[C]{})
			s.get(innermost, "/users/:id", h)
			s.Mount(inner, "/v1", innermost)
			s.Mount(s.Group(app, "/a", nil), "/api", inner)
			s.Mount(s.Group(app, "/b", nil), "/api", inner)
		}),
		one("an optional parameter that is absent", "/users", "GET /users/:id?", "/users/:id?"),
		one("another spelling of the path", "/API/Users/", "GET /api/users", "/api/users"),
		compose("a group in a group, with middlewares", "POST", "/api/v1/users", "POST /api/v1/users", func(app R, h func(C) error) {
			with := Handlers[C]{next[C]}
			s.Add(s.Group(s.Group(app, "/api", with), "/v1", with), "POST", "/users", Handlers[C]{next[C], h})
		}),
		compose("Route", "GET", "/api/users/7", "GET /api/users/:id", func(app R, h func(C) error) {
			app.Route("/api", func(r R) { s.get(r, "/users/:id", h) })
		}),
		compose("a middleware and a route of one path", "GET", "/api", "GET /api", func(app R, h func(C) error) {
			app.Use("/api", next[C])
			s.get(app, "/api", h)
		}),
		compose("a route that the one before it passed on to", "GET", "/users/me", "GET /users/me", func(app R, h func(C) error) {
			s.get(app, "/users/:id", next[C])
			s.get(app, "/users/me", h)
		}),
		compose("a path that a middleware rewrote", "GET", "/old/7?x=1", "GET /new/:id", func(app R, h func(C) error) {
			app.Use("/old", func(c C) error {
				c.Path("/new/7")
				return c.RestartRouting()
			})
			s.get(app, "/new/:id", h)
		}),
	}
	if s.Nested != nil {
		nested = append(nested, compose("RouteChain", "GET", "/api/users/7", "GET /api/users/:id", s.Nested))
	}
	return nested
}
