package footfallchi_test

import (
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
	"github.com/footfall-dev/footfall/footfalltest"
)

// lateRoute says why one row of the suite is impossible.
const lateRoute = "chi finds the route after the middleware has run, and footfall.Track has only the context. On its page the guard sees only the text of each segment, and PageRoute is PagePath. Track of this package knows the route"

type handlers = func(http.Handler) http.Handler

// use returns app's middleware, as arguments for Use; none if app has no tracker.
func use(app footfalltest.App) []handlers {
	if app.Tracker == nil {
		return nil
	}
	return []handlers{footfallchi.Middleware(app.Tracker, app.Rules...)}
}

// around puts app's middleware around h.
func around(app footfalltest.App, h http.Handler) http.Handler {
	for _, m := range use(app) {
		h = m(h)
	}
	return h
}

// composition is a way to compose routers: compose registers the handler.
type composition struct {
	name, method, path, route string
	compose                   func(router *chi.Mux, h http.Handler)
}

var compositions = []composition{
	{"the root of a sub-router", "GET", "/users", "GET /users", func(router *chi.Mux, h http.Handler) {
		router.Route("/users", func(r chi.Router) { r.Method("GET", "/", h) })
	}},
	{"the root of a sub-router, written as chi.Walk does", "GET", "/users/", "GET /users/", func(router *chi.Mux, h http.Handler) {
		router.Route("/users", func(r chi.Router) { r.Method("GET", "/", h) })
	}},
	{"a mounted router", "DELETE", "/api/v1/users/7", "DELETE /api/v1/users/{id:[0-9]+}", func(router *chi.Mux, h http.Handler) {
		inner := chi.NewRouter()
		inner.Method("DELETE", "/users/{id:[0-9]+}", h)
		outer := chi.NewRouter()
		outer.Mount("/v1", inner)
		router.Mount("/api", outer)
	}},
	{"routers mounted at the root", "GET", "/users/7", "GET /users/{id}", func(router *chi.Mux, h http.Handler) {
		inner, outer := chi.NewRouter(), chi.NewRouter()
		inner.Method("GET", "/users/{id}", h)
		outer.Mount("/", inner)
		router.Mount("/", outer)
	}},
	{"a group", "GET", "/account", "GET /account", func(router *chi.Mux, h http.Handler) {
		router.Group(func(r chi.Router) {
			r.Use(middleware.NoCache)
			r.Method("GET", "/account", h)
		})
	}},
	{"another kind of handler mounted", "GET", "/files/a/b.css", "GET /files/*", func(router *chi.Mux, h http.Handler) {
		router.Mount("/files", h)
	}},
	{"the root of another kind of handler", "GET", "/files", "GET /files/*", func(router *chi.Mux, h http.Handler) {
		router.Mount("/files", h)
	}},
	{"two wildcards in a segment", "GET", "/news/2026-11", "GET /news/{year}-{month}", func(router *chi.Mux, h http.Handler) {
		router.Method("GET", "/news/{year}-{month}", h)
	}},
	{"a slash at the end", "GET", "/docs/", "GET /docs/", func(router *chi.Mux, h http.Handler) {
		router.Method("GET", "/docs/", h)
	}},
}

func wrapped(app footfalltest.App, compose func(*chi.Mux)) http.Handler {
	router := chi.NewRouter()
	compose(router)
	return around(app, router)
}

func used(app footfalltest.App, compose func(*chi.Mux)) http.Handler {
	router := chi.NewRouter()
	router.Use(use(app)...)
	compose(router)
	return router
}

// subject is the adapter with the middleware around the router, or in Use.
func subject(outside bool) adaptertest.Subject {
	s := adaptertest.Subject{
		Readme:  "../README.md",
		New:     newApp(outside),
		Pattern: adaptertest.ReplaceRest("*"),
		Handler: func(a adaptertest.App) http.Handler { return a.(*app).Handler() },
		UseHTTP: func(a adaptertest.App, m func(http.Handler) http.Handler) { a.(*app).Add(m) },
		Values: []adaptertest.Values{
			{Pattern: "/orgs/{org}/teams/{team:[a-z]+}", Path: "/orgs/acme/teams/red", Want: map[string]any{"org": "acme", "team": "red"}},
		},
		Known: "GET /docs", Register: func(a adaptertest.App) { town(a.(*app).Mux) }, Checks: checks,
		Impossible: map[string]string{
			"Track in the handler knows the route":                          lateRoute,
			"the request is the original without a context value":           "chi makes a copy of each request",
			"middlewares above see the same request as without the adapter": "a middleware of net/http has its own request, which none below can replace; another test covers its fields",
		},
	}
	place := wrapped
	if outside {
		s.Nested = []footfalltest.Nested{{
			Name: "around a router that is mounted", Method: "GET", Path: "/api/users/7", Route: "GET /api/users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := chi.NewRouter()
				router.Mount("/api", wrapped(app, func(router *chi.Mux) { router.Method("GET", "/users/{id}", app.Routes[0].Handler) }))
				return router
			},
		}}
	} else {
		place, s.Nested = used, []footfalltest.Nested{{
			Name: "Use of a sub-router", Method: "GET", Path: "/api/users/7", Route: "GET /api/users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := chi.NewRouter()
				router.Route("/api", func(r chi.Router) {
					r.Use(use(app)...)
					r.Method("GET", "/users/{id}", app.Routes[0].Handler)
				})
				return router
			},
		}, {
			Name: "Use of a group in a sub-router", Method: "GET", Path: "/api/users/7", Route: "GET /api/users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := chi.NewRouter()
				router.Route("/api", func(r chi.Router) {
					r.Group(func(r chi.Router) {
						r.Use(use(app)...)
						r.Method("GET", "/users/{id}", app.Routes[0].Handler)
					})
				})
				return router
			},
		}, {
			Name: "With", Method: "PUT", Path: "/users/7", Route: "PUT /users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := chi.NewRouter()
				router.With(use(app)...).Method("PUT", "/users/{id}", app.Routes[0].Handler)
				return router
			},
		}}
		s.Impossible["an upload leaves no temporary file behind"] = "chi copies each request before the middlewares of Use, and the server does not remove the files of the copy's form. They stay without this middleware too"
	}
	for _, c := range compositions {
		s.Nested = append(s.Nested, footfalltest.Nested{
			Name: c.name, Method: c.method, Path: c.path, Route: c.route,
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				return place(app, func(router *chi.Mux) { c.compose(router, app.Routes[0].Handler) })
			},
		})
	}
	return s
}

// Not parallel: the row about uploads sets an environment variable.
func TestAroundTheRouterTheMiddlewarePassesTheSuite(t *testing.T) {
	adaptertest.Conform(t, subject(true))
}

func TestInUseTheMiddlewarePassesTheSuite(t *testing.T) { adaptertest.Conform(t, subject(false)) }

func TestTheAdapterBehavesLikeTheOthers(t *testing.T) {
	t.Parallel()
	for name, outside := range map[string]bool{"around the router": true, "in Use": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adaptertest.Run(t, subject(outside))
		})
	}
}

// promised is how many more allocations a request may cost than with the bare router.
var promised = 5.0

func TestAroundTheRouterARequestCostsAtMostFiveAllocations(t *testing.T) {
	subject(true).AllocatesAtMost(t, promised)
}

func TestInUseARequestCostsAtMostFiveAllocations(t *testing.T) {
	subject(false).AllocatesAtMost(t, promised)
}

func BenchmarkChi(b *testing.B) { subject(true).Benchmark(b) }

func BenchmarkChiInUse(b *testing.B) { subject(false).Benchmark(b) }
