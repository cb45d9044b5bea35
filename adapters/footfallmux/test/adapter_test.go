package footfallmux_test

import (
	"net/http"
	"testing"

	"github.com/gorilla/mux"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallmux"
	"github.com/footfall-dev/footfall/footfalltest"
)

// lateRoute says why one row of the suite is impossible.
const lateRoute = "mux finds the route after the middleware has run, and footfall.Track has only the context. On its page the guard sees only the text of each segment, and PageRoute is PagePath. Track of this package knows the route"

// place puts the middleware around or into a router that compose fills.
type place func(app footfalltest.App, compose func(*mux.Router)) http.Handler

func wrapped(app footfalltest.App, compose func(*mux.Router)) http.Handler {
	router := mux.NewRouter()
	compose(router)
	if app.Tracker == nil {
		return router
	}
	return footfallmux.Wrap(app.Tracker, router, app.Rules...)
}

// used has the middleware in Use, and around the handlers for 404 and 405 as the
// documentation says.
func used(app footfalltest.App, compose func(*mux.Router)) http.Handler {
	router := mux.NewRouter()
	if app.Tracker != nil {
		watch(router, app.Tracker, app.Rules)
	}
	compose(router)
	return router
}

func watch(router *mux.Router, tracker *footfall.Tracker, rules []footfall.Rule) {
	track := footfallmux.Middleware(tracker, rules...)
	router.Use(track)
	router.NotFoundHandler = track(http.NotFoundHandler())
	router.MethodNotAllowedHandler = track(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) }))
}

// composition is a way to compose routers: compose registers the handler.
type composition struct {
	name, method, host, path, route string
	compose                         func(router *mux.Router, h http.Handler)
}

var compositions = []composition{
	{"the root of a subrouter", "GET", "", "/users/", "GET /users/", func(router *mux.Router, h http.Handler) {
		router.PathPrefix("/users/").Subrouter().Handle("/", h)
	}},
	{"subrouters in subrouters", "POST", "", "/orgs/a/teams/b/members", "POST /orgs/{org}/teams/{team:[a-z]+}/members", func(router *mux.Router, h http.Handler) {
		orgs := router.PathPrefix("/orgs/{org}").Subrouter()
		orgs.Handle("/teams", http.NotFoundHandler())
		orgs.PathPrefix("/teams/{team:[a-z]+}").Subrouter().Handle("/members", h).Methods("POST")
	}},
	{"a subrouter of methods", "PUT", "", "/users/7", "PUT /users/{id}", func(router *mux.Router, h http.Handler) {
		router.Methods("PUT").Subrouter().Handle("/users/{id}", h)
	}},
	{"a subrouter with a middleware", "GET", "", "/account", "GET /account", func(router *mux.Router, h http.Handler) {
		account := router.NewRoute().Subrouter()
		account.Use(func(next http.Handler) http.Handler { return http.StripPrefix("", next) })
		account.Handle("/account", h)
	}},
	{"a prefix", "GET", "", "/static/a/b.css", "GET /static/", func(router *mux.Router, h http.Handler) {
		router.PathPrefix("/static/").Handler(h)
	}},
	{"a prefix with another router below StripPrefix", "GET", "", "/api/users/7", "GET /api/", func(router *mux.Router, h http.Handler) {
		inner := mux.NewRouter()
		inner.Handle("/users/{id}", h)
		router.PathPrefix("/api/").Handler(http.StripPrefix("/api", inner))
	}},
	{"another router as the handler", "GET", "", "/api/users/7", "GET /api", func(router *mux.Router, h http.Handler) {
		inner := mux.NewRouter()
		inner.Handle("/api/users/{id}", h)
		router.PathPrefix("/api").Handler(inner)
	}},
	{"a route of a host", "GET", "shop.example.com", "/cart/7", "GET shop.example.com/cart/{id}", func(router *mux.Router, h http.Handler) {
		router.Host("shop.example.com").Path("/cart/{id}").Handler(h)
	}},
	{"a rule without the host of the route", "GET", "shop.example.com", "/cart/7", "GET /cart/{id}", func(router *mux.Router, h http.Handler) {
		router.Host("shop.example.com").Path("/cart/{id}").Handler(h)
	}},
	{"a subrouter of hosts", "GET", "berlin.example.com", "/cart", "GET {city:[a-z]+}.example.com/cart", func(router *mux.Router, h http.Handler) {
		router.Host("shop.example.com").Subrouter().Handle("/cart", http.NotFoundHandler())
		router.Host("{city:[a-z]+}.example.com").Subrouter().Handle("/cart", h)
	}},
	{"a route without a template", "GET", "", "/any/where", "GET /", func(router *mux.Router, h http.Handler) {
		router.NewRoute().Handler(h)
	}},
	{"two methods of one path", "POST", "", "/users/7", "POST /users/{id}", func(router *mux.Router, h http.Handler) {
		router.Handle("/users/{id:[a-z]+}", http.NotFoundHandler()).Methods("POST")
		router.Handle("/users/{id}", http.NotFoundHandler()).Methods("GET")
		router.Handle("/users/{id}", h).Methods("POST")
	}},
	{"two wildcards in a segment", "GET", "", "/news/2026-11", "GET /news/{year}-{month}", func(router *mux.Router, h http.Handler) {
		router.Handle("/news/{year}-{month}", h)
	}},
}

// subject is the adapter with Wrap, or with Middleware.
func subject(wrap bool) adaptertest.Subject {
	s := adaptertest.Subject{
		Readme:  "../README.md",
		New:     newApp(wrap),
		Pattern: adaptertest.ReplaceRest("{rest:.*}"),
		Handler: func(a adaptertest.App) http.Handler { return a.(*app).Handler() },
		UseHTTP: func(a adaptertest.App, m func(http.Handler) http.Handler) { a.(*app).Add(m) },
		Values: []adaptertest.Values{
			{Pattern: "/orgs/{org}/teams/{team:[a-z]+}", Path: "/orgs/acme/teams/red", Want: map[string]any{"org": "acme", "team": "red"}},
		},
		Known: "GET /docs", Register: func(a adaptertest.App) { a.(*app).compose = append(a.(*app).compose, town) }, Checks: checks,
		Impossible: map[string]string{
			"Track in the handler knows the route":                          lateRoute,
			"the request is the original without a context value":           "mux makes a copy of each request",
			"middlewares above see the same request as without the adapter": "a middleware of net/http has its own request, which none below can replace",
		},
	}
	in := wrapped
	if wrap {
		s.Nested = []footfalltest.Nested{{
			Name: "a router wrapped that is part of another", Method: "GET", Path: "/api/users/7", Route: "GET /api/users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := mux.NewRouter()
				router.PathPrefix("/api").Handler(wrapped(app, func(inner *mux.Router) { inner.Handle("/api/users/{id}", app.Routes[0].Handler) }))
				return router
			},
		}}
	} else {
		in, s.Nested = used, []footfalltest.Nested{{
			Name: "Use of a subrouter", Method: "GET", Path: "/api/users/7", Route: "GET /api/users/{id}",
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				router := mux.NewRouter()
				api := router.PathPrefix("/api").Subrouter()
				api.Use(footfallmux.Middleware(app.Tracker, app.Rules...))
				api.Handle("/users/{id}", app.Routes[0].Handler)
				return router
			},
		}}
		s.Impossible["an upload leaves no temporary file behind"] = "mux copies each request before its middlewares, and the server does not remove the files of the copy's form. They stay without this middleware too"
	}
	for _, c := range compositions {
		s.Nested = append(s.Nested, footfalltest.Nested{
			Name: c.name, Method: c.method, Host: c.host, Path: c.path, Route: c.route,
			Handler: func(_ testing.TB, app footfalltest.App) http.Handler {
				return in(app, func(router *mux.Router) { c.compose(router, app.Routes[0].Handler) })
			},
		})
	}
	return s
}

// Not parallel: the row about uploads sets an environment variable.
func TestWrapPassesTheSuite(t *testing.T) { adaptertest.Conform(t, subject(true)) }

func TestMiddlewarePassesTheSuite(t *testing.T) { adaptertest.Conform(t, subject(false)) }

func TestTheAdapterBehavesLikeTheOthers(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]bool{"Wrap": true, "Use": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adaptertest.Run(t, subject(wrap))
		})
	}
}

// slack is the number of additional allocations that are allowed.
var slack = 0.0

func TestInUseARequestCostsAtMostFiveAllocations(t *testing.T) {
	subject(false).AllocatesAtMost(t, 5+slack)
}

func TestWrappedARequestCostsAtMostFiveAllocations(t *testing.T) {
	subject(true).AllocatesAtMost(t, 5+slack)
}

func BenchmarkGorillaMux(b *testing.B) { subject(false).Benchmark(b) }

func BenchmarkGorillaMuxWrapped(b *testing.B) { subject(true).Benchmark(b) }
