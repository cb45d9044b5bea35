// Package echotest makes a subject of adaptertest of echo v4 or v5, and has the rows that only
// echo has. The versions of echo have the same names with different types, so the subject has type
// parameters and serves both.
package echotest

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Context has the methods that echo's context has in all versions.
type Context interface {
	Request() *http.Request
	SetRequest(*http.Request)
	Param(name string) string
	String(status int, text string) error
}

// Router is an Echo or a Group. H are its handlers, M its middlewares, R is what it
// returns for a route.
type Router[H, M, R any] interface {
	Use(...M)
	GET(path string, h H, m ...M) R
	DELETE(path string, h H, m ...M) R
	RouteNotFound(path string, h H, m ...M) R
	Add(method, path string, h H, m ...M) R
}

// Group is a *echo.Group.
type Group[G, H, M, R any] interface {
	Router[H, M, R]
	Group(prefix string, m ...M) G
}

// Echo is a *echo.Echo.
type Echo[G, H, M, R any] interface {
	Group[G, H, M, R]
	http.Handler
	Pre(...M)
}

// Subject is the adapter for one version, and that version.
type Subject[C Context, H ~func(C) error, M ~func(H) H, R any, G Group[G, H, M, R], E Echo[G, H, M, R]] struct {
	Middleware func(*footfall.Tracker, ...footfall.Rule) M
	Track      func(c C, name string, props ...footfall.Prop) error
	CheckRules func(*footfall.Tracker, E, ...footfall.Rule) error

	New            func() E // it logs nothing
	Any            func(e E, path string, h H)
	Static         func(e E, prefix, folder string)
	Error          func(status int, cause error) error
	OnError        func(e E, answer func(c C, err error)) // sets the HTTPErrorHandler
	Writer         func(C) http.ResponseWriter            // below echo's Response
	WrapHandler    func(http.Handler) H
	WrapMiddleware func(func(http.Handler) http.Handler) M

	// Middlewares of echo. Refuse is a BasicAuth that refuses every request. Logger is a
	// request logger that calls the HTTPErrorHandler itself.
	Recover, Gzip, MethodOverride, RemoveTrailingSlash func() M
	Refuse, Logger                                     func() M
	Rewrite                                            func(map[string]string) M

	// These are for this version only: more ways to compose routers, rules for CheckRules, and
	// requests without a route.
	Nested   []footfalltest.Nested
	Register func(E)
	Checks   []adaptertest.Check
	Missing  []Missing[E, M]

	// GroupHasRoute says that a group with a middleware registers a route for requests that
	// its other routes do not match, as echo before v4.10.3 does.
	GroupHasRoute bool
}

var errBoom = errors.New("boom")

// Adapter is the subject for adaptertest.
func (s Subject[C, H, M, R, G, E]) Adapter() adaptertest.Subject {
	a := adaptertest.Subject{
		Readme:  "../README.md",
		New:     func() adaptertest.App { return s.app(s.New()) },
		Pattern: adaptertest.Replace(":", "*"), Opaque: true,
		Handler: func(a adaptertest.App) http.Handler { return s.echo(a) },
		UseHTTP: func(a adaptertest.App, m func(http.Handler) http.Handler) { s.echo(a).Use(s.WrapMiddleware(m)) },
		OnError: func(a adaptertest.App, answer func(adaptertest.Context, error)) {
			s.OnError(s.echo(a), func(c C, err error) { answer(s.request(c), err) })
		},
		Values: []adaptertest.Values{{Pattern: "/reports/year_:year/*", Path: "/reports/year_2026/a/b.pdf", Want: map[string]any{"year": "2026", "*": "a/b.pdf"}}},
		Known:  "GET /users/:id", Register: s.register, Checks: s.checks(),
		Impossible: map[string]string{
			"103 and then 404 is recorded as 404": "echo.Response treats the first WriteHeader as the answer, even with an informational status, and ignores the next. The client gets 103 and then an empty 200",
		},
	}
	a.Nested = append(s.nested(a), s.Nested...)
	return a
}

func (s Subject[C, H, M, R, G, E]) register(a adaptertest.App) {
	adaptertest.RegisterColons(a)
	e := s.echo(a)
	e.Group("/api").Group("/v1", s.Recover())
	s.Static(e, "/assets", ".")
	e.RouteNotFound("/lost/*", s.nothing)
	if s.Register != nil {
		s.Register(e)
	}
}

func (s Subject[C, H, M, R, G, E]) checks() []adaptertest.Check {
	says := "not registered"
	if s.GroupHasRoute {
		says = ""
	}
	return append(append(adaptertest.Colons(), s.Checks...),
		adaptertest.Check{Name: "static files", Rule: footfall.Rule{Route: "GET /assets*", PathProps: []string{"*"}}},
		adaptertest.Check{Name: "a route of RouteNotFound", Rule: footfall.Rule{Route: "GET /lost/*"}, Says: "not registered"},
		adaptertest.Check{Name: "the route that a group has for what it does not", Rule: footfall.Rule{Route: "/api/v1/*"}, Says: says})
}

func (s Subject[C, H, M, R, G, E]) nothing(C) error { return nil }

// Using returns the middleware of an application of the suite, as arguments for Use; none if it
// has no tracker.
func (s Subject[C, H, M, R, G, E]) Using(of footfalltest.App) []M {
	if of.Tracker == nil {
		return nil
	}
	return []M{s.Middleware(of.Tracker, of.Rules...)}
}

// Compose returns a way to compose routers. compose adds the middleware and the handler.
func (s Subject[C, H, M, R, G, E]) Compose(name, method, path, route string, compose func(e E, of footfalltest.App, h H)) footfalltest.Nested {
	return footfalltest.Nested{Name: name, Method: method, Path: path, Route: route, Handler: func(_ testing.TB, of footfalltest.App) http.Handler {
		e := s.New()
		compose(e, of, s.WrapHandler(of.Routes[0].Handler))
		return e
	}}
}

func (s Subject[C, H, M, R, G, E]) rewrite() M {
	return s.Rewrite(map[string]string{"/people/*": "/users/$1"})
}

func (s Subject[C, H, M, R, G, E]) nested(a adaptertest.Subject) []footfalltest.Nested {
	one := func(name, method, path, pattern string) footfalltest.Nested {
		return a.Compose(name, method, path, method+" "+pattern, func(app adaptertest.App, h adaptertest.Handler) { app.Handle(nil, method, pattern, h) })
	}
	pre := func(name, path string, before, behind []M, inPre bool) footfalltest.Nested {
		return s.Compose(name, "GET", path, "GET /users/:id", func(e E, of footfalltest.App, h H) {
			if e.Pre(before...); inPre {
				e.Pre(s.Using(of)...)
			} else {
				e.Use(s.Using(of)...)
			}
			e.Pre(behind...)
			e.GET("/users/:id", h)
		})
	}
	return []footfalltest.Nested{
		s.Compose("the middleware on a group", "GET", "/api/users/7", "GET /api/users/:id", func(e E, of footfalltest.App, h H) {
			e.Group("/api", s.Using(of)...).GET("/users/:id", h)
		}),
		s.Compose("the middleware on a route", "DELETE", "/users/7", "DELETE /users/:id", func(e E, of footfalltest.App, h H) {
			e.DELETE("/users/:id", h, s.Using(of)...)
		}),
		s.Compose("a middleware of net/http above that copies the request", "GET", "/users/7", "GET /users/:id", func(e E, of footfalltest.App, h H) {
			e.Use(append([]M{s.WrapMiddleware(copying)}, s.Using(of)...)...)
			e.GET("/users/:id", h)
		}),
		one("a colon that is none of a wildcard", "POST", "/users:batch", `/users\:batch`),
		one("a wildcard that begins within a segment", "GET", "/reports/year_2026", "/reports/year_:year"),
		one("an escaped path", "GET", "/tags/a%2Fb", "/tags/:tag"),
		pre("the middleware in Pre", "/users/7", nil, nil, true),
		pre("a Pre middleware that rewrites the path, before", "/people/7", []M{s.rewrite()}, nil, false),
		pre("a Pre middleware that rewrites the path, behind", "/people/7", nil, []M{s.rewrite()}, true),
		pre("a Pre middleware that cuts a slash off", "/users/7/", []M{s.RemoveTrailingSlash()}, nil, false),
	}
}

// app is an Echo as an application of adaptertest.
type app[C Context, H ~func(C) error, M ~func(H) H, R any, G Group[G, H, M, R], E Echo[G, H, M, R]] struct {
	adaptertest.Server
	s Subject[C, H, M, R, G, E]
	e E
}

func (s Subject[C, H, M, R, G, E]) app(e E) adaptertest.App {
	return app[C, H, M, R, G, E]{adaptertest.Server{Handler: e}, s, e}
}

func (s Subject[C, H, M, R, G, E]) echo(a adaptertest.App) E { return a.(app[C, H, M, R, G, E]).e }

func (a app[C, H, M, R, G, E]) Watch(tracker *footfall.Tracker, rules ...footfall.Rule) {
	a.e.Use(a.s.Middleware(tracker, rules...))
}
func (a app[C, H, M, R, G, E]) Recover() { a.e.Use(a.s.Recover()) }
func (a app[C, H, M, R, G, E]) Refuse()  { a.e.Use(a.s.Refuse()) }

func (a app[C, H, M, R, G, E]) Use(m adaptertest.Middleware) {
	a.e.Use(func(next H) H {
		return func(c C) error { return m(a.s.request(c), func() error { return next(c) }) }
	})
}

func (a app[C, H, M, R, G, E]) Handle(groups []string, method, pattern string, h adaptertest.Handler) {
	handler := func(c C) error { return h(a.s.request(c)) }
	if method == "" {
		a.s.Any(a.e, pattern, handler)
		return
	}
	add := a.e.Add
	for i, prefix := range groups {
		if i == 0 {
			add = a.e.Group(prefix).Add
			continue
		}
		add = a.e.Group(groups[0]).Group(prefix).Add
	}
	add(method, pattern, handler)
}

func (a app[C, H, M, R, G, E]) CheckRules(tracker *footfall.Tracker, rules ...footfall.Rule) error {
	return a.s.CheckRules(tracker, a.e, rules...)
}

func (s Subject[C, H, M, R, G, E]) request(c C) adaptertest.Context {
	return request[C]{c, s.Track, s.Writer, s.Error, func(h http.Handler) error { return s.WrapHandler(h)(c) }}
}

// request is a request of adaptertest.
type request[C Context] struct {
	c      C
	track  func(c C, name string, props ...footfall.Prop) error
	writer func(C) http.ResponseWriter
	err    func(status int, cause error) error
	serve  func(http.Handler) error
}

func (r request[C]) Track(name string, props ...footfall.Prop) error {
	return r.track(r.c, name, props...)
}
func (r request[C]) Context() context.Context             { return r.c.Request().Context() }
func (r request[C]) SetContext(ctx context.Context)       { r.c.SetRequest(r.c.Request().WithContext(ctx)) }
func (r request[C]) Request() *http.Request               { return r.c.Request() }
func (r request[C]) Writer() http.ResponseWriter          { return r.writer(r.c) }
func (r request[C]) Param(name string) string             { return r.c.Param(name) }
func (r request[C]) Header(name string) string            { return r.c.Request().Header.Get(name) }
func (r request[C]) SetHeader(name, value string)         { r.writer(r.c).Header().Set(name, value) }
func (r request[C]) Answer(status int, text string) error { return r.c.String(status, text) }
func (r request[C]) Fail(status int) error                { return r.err(status, errBoom) }
func (r request[C]) Serve(h http.Handler) error           { return r.serve(h) }
