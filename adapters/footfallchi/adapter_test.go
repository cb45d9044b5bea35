package footfallchi_test

import (
	"net/http"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/footfall-dev/footfall"
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

// pattern writes patterns as chi does.
var pattern = adaptertest.ReplaceRest("*")

func register(router chi.Router, app footfalltest.App) {
	for _, r := range app.Routes {
		router.Method(r.Method, pattern(r.Pattern), adaptertest.Tracking(r, footfallchi.Track))
	}
}

// composition is a way to compose routers: compose registers the handler.
type composition struct {
	name, method, path, route string
	compose                   func(router *chi.Mux, h http.Handler)
}

var compositions = []composition{
	{"a sub-router", "GET", "/users/7", "GET /users/{id}", func(router *chi.Mux, h http.Handler) {
		router.Route("/users", func(r chi.Router) { r.Method("GET", "/{id}", h) })
	}},
	{"the root of a sub-router", "GET", "/users", "GET /users", func(router *chi.Mux, h http.Handler) {
		router.Route("/users", func(r chi.Router) { r.Method("GET", "/", h) })
	}},
	{"the root of a sub-router, written as chi.Walk does", "GET", "/users/", "GET /users/", func(router *chi.Mux, h http.Handler) {
		router.Route("/users", func(r chi.Router) { r.Method("GET", "/", h) })
	}},
	{"sub-routers in sub-routers", "POST", "/orgs/a/teams/b/members", "POST /orgs/{org}/teams/{team}/members", func(router *chi.Mux, h http.Handler) {
		router.Route("/orgs/{org}", func(r chi.Router) {
			r.Route("/teams/{team}", func(r chi.Router) { r.Method("POST", "/members", h) })
		})
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
	{"a catch-all", "GET", "/files/a/b.css", "GET /files/*", func(router *chi.Mux, h http.Handler) {
		router.Method("GET", "/files/*", h)
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
	{"a route of any method", "PATCH", "/hooks", "PATCH /hooks", func(router *chi.Mux, h http.Handler) {
		router.Handle("/hooks", h)
	}},
	{"a middleware between that copies the request", "POST", "/users/7", "POST /users/{id}", func(router *chi.Mux, h http.Handler) {
		router.Use(adaptertest.Copying)
		router.Method("POST", "/users/{id}", h)
	}},
}

// placed gives all compositions with the middleware in one place, or another.
func placed(serve func(app footfalltest.App, compose func(*chi.Mux)) http.Handler, more ...footfalltest.Nested) []footfalltest.Nested {
	for _, c := range compositions {
		more = append(more, footfalltest.Nested{
			Name: c.name, Method: c.method, Path: c.path, Route: c.route,
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				return serve(app, func(router *chi.Mux) { c.compose(router, app.Routes[0].Handler) })
			},
		})
	}
	return more
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

// Not parallel: the row about uploads sets an environment variable.
func TestAroundTheRouterTheMiddlewarePassesTheSuite(t *testing.T) {
	adaptertest.Run(t, footfalltest.Subject{
		Pattern: pattern, Tracks: true, Impossible: map[string]string{"Track in the handler knows the route": lateRoute},
		Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
			return wrapped(app, func(router *chi.Mux) { register(router, app) })
		},
		Nested: placed(wrapped, footfalltest.Nested{
			Name: "a mux with a router for a host", Method: "GET", Host: "shop.example.com", Path: "/cart/7", Route: "GET /cart/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				mux := http.NewServeMux()
				mux.Handle("shop.example.com/", wrapped(app, func(router *chi.Mux) { router.Method("GET", "/cart/{id}", app.Routes[0].Handler) }))
				return mux
			},
		}, footfalltest.Nested{
			Name: "around a router that is mounted", Method: "GET", Path: "/api/users/7", Route: "GET /api/users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := chi.NewRouter()
				router.Mount("/api", wrapped(app, func(router *chi.Mux) { router.Method("GET", "/users/{id}", app.Routes[0].Handler) }))
				return router
			},
		}),
	})
}

func TestInUseTheMiddlewarePassesTheSuite(t *testing.T) {
	adaptertest.Run(t, footfalltest.Subject{
		Pattern: pattern, Tracks: true,
		Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
			return used(app, func(router *chi.Mux) { register(router, app) })
		},
		Nested: placed(used, footfalltest.Nested{
			Name: "Use of a sub-router", Method: "GET", Path: "/api/users/7", Route: "GET /api/users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := chi.NewRouter()
				router.Route("/api", func(r chi.Router) {
					r.Use(use(app)...)
					r.Method("GET", "/users/{id}", app.Routes[0].Handler)
				})
				return router
			},
		}, footfalltest.Nested{
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
		}, footfalltest.Nested{
			Name: "With", Method: "PUT", Path: "/users/7", Route: "PUT /users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := chi.NewRouter()
				router.With(use(app)...).Method("PUT", "/users/{id}", app.Routes[0].Handler)
				return router
			},
		}),
		Impossible: map[string]string{
			"Track in the handler knows the route":      lateRoute,
			"an upload leaves no temporary file behind": "chi copies each request before the middlewares of Use, and the server does not remove the files of the copy's form. They stay without this middleware too",
		},
	})
}

// measure returns requests through a bare router, and through one with a rule, its
// event and the context value.
func measure(tb testing.TB, place func(footfalltest.App, func(*chi.Mux)) http.Handler) (bare, with func()) {
	serve := func(app footfalltest.App) func() {
		return adaptertest.Requests(place(app, func(router *chi.Mux) {
			router.Post("/checkout/{id}", func(http.ResponseWriter, *http.Request) {})
		}), "POST", "/checkout/7")
	}
	return serve(footfalltest.App{}), serve(footfalltest.App{
		Tracker: adaptertest.Tracker(tb),
		Rules:   []footfall.Rule{{Route: "POST /checkout/{id}", Event: "checkout_completed", Status: footfall.Success}},
	})
}

// promised is how many more allocations a request may cost than with the bare router.
var promised = 5.0

func TestAroundTheRouterARequestCostsAtMostFiveAllocations(t *testing.T) {
	bare, with := measure(t, wrapped)
	adaptertest.Allocations(t, bare, with, promised)
}

func TestInUseARequestCostsAtMostFiveAllocations(t *testing.T) {
	bare, with := measure(t, used)
	adaptertest.Allocations(t, bare, with, promised)
}

func BenchmarkChi(b *testing.B) {
	bare, with := measure(b, wrapped)
	adaptertest.Benchmark(b, bare, with)
}

func BenchmarkChiInUse(b *testing.B) {
	bare, with := measure(b, used)
	adaptertest.Benchmark(b, bare, with)
}
