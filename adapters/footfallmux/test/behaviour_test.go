package footfallmux_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/mux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallmux"
	"github.com/footfall-dev/footfall/footfalltest"
)

func nothing(http.ResponseWriter, *http.Request) {}

// ask sends one request to the handler and returns the answer.
func ask(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

// runsForMethods reports whether this version of mux runs the middlewares of Use for a 405
// that a subrouter's own handler answers, as v1.8.1 does.
func runsForMethods() (ran bool) {
	router := mux.NewRouter()
	router.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ran = true
			next.ServeHTTP(w, r)
		})
	})
	town(router)
	ask(router, "POST", "/own/known")
	return ran
}

// town is a router of everything that mux composes.
func town(router *mux.Router) {
	router.HandleFunc("/", nothing).Methods("GET")
	router.HandleFunc("/docs", nothing).Methods("GET", "POST")
	router.HandleFunc("/hooks", nothing)
	router.Path("/search").Queries("q", "{q}").HandlerFunc(nothing)
	router.PathPrefix("/static/").HandlerFunc(nothing)
	router.NewRoute().Path("/never").BuildOnly()
	router.Host("shop.example.com").Path("/cart/{id}").Methods("GET").HandlerFunc(nothing)
	router.Host("blog.example.com").HandlerFunc(nothing)

	api := router.PathPrefix("/api").Subrouter()
	api.HandleFunc("/users/{id:[0-9]+}", func(w http.ResponseWriter, r *http.Request) {
		if mux.Vars(r)["id"] == "0" {
			http.NotFound(w, r)
		}
	}).Methods("GET")
	slashed := api.PathPrefix("/v1").Subrouter().StrictSlash(true)
	slashed.HandleFunc("/orders/", nothing).Methods("GET")

	own := router.PathPrefix("/own").Subrouter()
	own.HandleFunc("/known", nothing).Methods("GET")
	own.NotFoundHandler = http.NotFoundHandler()
	own.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })

	private := router.PathPrefix("/private").Subrouter()
	private.Use(adaptertest.Deny)
	private.HandleFunc("/{room}", nothing)

	inner := mux.NewRouter()
	inner.HandleFunc("/legacy/users/{id}", nothing)
	router.PathPrefix("/legacy").Handler(inner)
}

// Events are named after method and route.
func TestRouteBelongsToTheHandlerThatAnswered(t *testing.T) {
	t.Parallel()
	const none = "no route"
	tests := map[string]string{ // the request: the event, or what is noted for a request without a route
		"GET /":                               "get_root",
		"GET /docs":                           "get_docs",
		"POST /docs":                          "post_docs",
		"DELETE /hooks":                       "delete_hooks",
		"BREW /hooks":                         "other_hooks",
		"GET /search?q=tea":                   "get_search",
		"GET /static/":                        "get_static",
		"GET /static/a/b":                     "get_static_any",
		"GET http://shop.example.com/cart/7":  "get_cart_id",
		"GET http://blog.example.com/a/b":     "get_any",
		"GET /api/users/7":                    "get_api_users_id",
		"GET /api/users/0":                    "get_api_users_id",
		"GET /api/v1/orders/":                 "get_api_v1_orders",
		"GET /api/v1/orders":                  "", // redirected
		"GET //docs":                          "", // redirected
		"GET /own/known":                      "get_own_known",
		"GET /private/7":                      "get_private_room",
		"GET /legacy/users/7":                 "get_legacy_any",
		"GET /legacy/missing":                 none, // of a catch-all
		"GET /missing":                        none,
		"GET /docs/":                          none,
		"PUT /docs":                           none,
		"GET /search":                         none,
		"GET /never":                          none,
		"GET /static":                         none,
		"GET http://else.example.com/cart/7":  none,
		"POST http://shop.example.com/cart/7": none,
		"GET /api":                            none,
		"GET /api/users/x":                    none,
		"POST /api/users/7":                   none,
		"POST /api/v1/orders":                 none,
		"GET /own/missing":                    none,
		"POST /own/known":                     none,
	}
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute, Event: none}}
	for name, in := range map[string]place{"Wrap": wrapped, "Use": used} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			handler := in(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, town)
			seen := 0
			for request, want := range tests {
				method, target, _ := strings.Cut(request, " ")
				answer := ask(handler, method, target)
				if name == "Use" && (request == "GET /own/missing" || request == "POST /own/known" && !runsForMethods()) {
					want = "" // the subrouter's own handler, without the middleware
				}
				names := tracker.Names()
				assert.Equal(t, want, strings.Join(names[seen:], " "), "%s, answered with %d", request, answer.Code)
				seen = len(names)
			}
		})
	}
}

func TestRefusalByAMiddlewareCountsForTheMatchingRoute(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{
		{Route: "GET /users/{id}", Event: "refused", Status: footfall.Status4xx, PathProps: []string{"id"}},
		{Route: footfall.NoRoute, Event: "none"},
	}
	tests := map[string]func(router *mux.Router, tracker *footfall.Tracker) http.Handler{
		"Wrap above": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			handler := footfallmux.Wrap(tracker, router, rules...)
			router.Use(adaptertest.Deny)
			return handler
		},
		"Wrap, the last to be added": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			router.Use(adaptertest.Deny)
			return footfallmux.Wrap(tracker, router, rules...)
		},
		"Use above": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			router.Use(footfallmux.Middleware(tracker, rules...), adaptertest.Deny)
			return router
		},
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t)
			router := mux.NewRouter()
			router.HandleFunc("/users/{id}", nothing).Methods("GET")
			handler := build(router, tracker.Tracker)
			assert.Equal(t, http.StatusUnauthorized, ask(handler, "GET", "/users/7").Code)
			events := tracker.Events()
			require.Len(t, events, 1)
			assert.Equal(t, "refused", events[0].Name)
			assert.Equal(t, map[string]any{"id": "7"}, events[0].Props)
		})
	}
}

func TestSeveralMiddlewaresDoNotMix(t *testing.T) {
	t.Parallel()
	one, two := footfalltest.New(t), footfalltest.New(t)
	inner, outer := mux.NewRouter(), mux.NewRouter()
	inner.HandleFunc("/users/{id}", nothing)
	rule := footfall.Rule{Route: footfall.AnyRoute}
	innerHandler := footfallmux.Wrap(two.Tracker, inner, rule)
	outer.PathPrefix("/users").Handler(inner) // not what Wrap returned
	outer.PathPrefix("/api").Handler(http.StripPrefix("/api", innerHandler))
	handler := footfallmux.Wrap(one.Tracker, outer, rule)
	ask(handler, "GET", "/users/7")
	assert.Equal(t, []string{"get_users_any"}, one.Names())
	assert.Empty(t, two.Names())
	ask(handler, "GET", "/api/users/7")
	assert.Equal(t, []string{"get_users_any", "get_api_any"}, one.Names())
	assert.Equal(t, []string{"get_users_id"}, two.Names())
}

func TestWrapKeepsTheRoutersOwnAnswersFor404And405(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	router := mux.NewRouter()
	router.HandleFunc("/known", nothing).Methods("GET")
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not here", http.StatusNotFound) })
	router.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not so", http.StatusMethodNotAllowed) })
	handler := footfallmux.Wrap(tracker.Tracker, router, footfall.Rule{Route: footfall.AnyRoute}, footfall.Rule{Route: footfall.NoRoute, Event: "none"})
	assert.Equal(t, "not here\n", ask(handler, "GET", "/secret/path").Body.String())
	assert.Equal(t, "not so\n", ask(handler, "POST", "/known").Body.String())
	assert.Equal(t, []string{"none", "none"}, tracker.Names())
}

func TestHandlersSeeTheContextOfMiddlewaresAboveWrap(t *testing.T) {
	t.Parallel()
	type key struct{}
	router := mux.NewRouter()
	router.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Context().Value(key{}).(string))
		assert.ErrorIs(t, r.Context().Err(), context.Canceled)
	})
	handler := footfallmux.Wrap(footfalltest.New(t).Tracker, router)
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "from above"))
	cancel()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	assert.Equal(t, "from above", w.Body.String())
}

func TestBrokenRouteIsNotRegistered(t *testing.T) {
	t.Parallel()
	router := mux.NewRouter()
	router.HandleFunc("/a", nothing).Methods("GET").Name("twice").Name("again") // an error, and so never matched
	tracker := footfalltest.New(t)
	for _, route := range []string{"GET /a", "GET /"} {
		assert.Error(t, footfallmux.CheckRules(tracker.Tracker, router, footfall.Rule{Route: route, Event: "seen"}), route)
	}
}

// Not parallel: the folder of temporary files is the process's.
func TestWrapRemovesFilesOfAnUploadBelowACopyingMiddleware(t *testing.T) {
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.NoContextValue = true })
	router := mux.NewRouter()
	router.Use(adaptertest.Copying)
	router.HandleFunc("/upload", func(_ http.ResponseWriter, r *http.Request) { assert.NoError(t, r.ParseMultipartForm(1)) })
	adaptertest.UploadLeavesNoFile(t, 1<<20, adaptertest.Server{Handler: footfallmux.Wrap(tracker.Tracker, router)}.Serve)
}

// checks are rules for the routes of town.
var checks = adaptertest.Routes([]string{
	"GET /", "GET /docs", "POST /docs", "/docs", "GET /hooks", "PATCH /hooks", "GET /search", "GET /static/",
	"GET shop.example.com/cart/{id}", "GET /cart/{id}", "GET blog.example.com/", "GET /api/users/{id:[0-9]+}",
	"GET /api/v1/orders/", "GET /own/known", "GET /private/{room}", "GET /legacy", footfall.AnyRoute, footfall.NoRoute,
}, []string{
	"PUT /docs", "GET /docs/", "GET /never", "GET else.example.com/cart/{id}", "GET /api", "GET /api/users/{id}",
	"GET /users/{id:[0-9]+}", "GET /api/v1/orders", "GET /legacy/users/{id}", "",
})

func TestA404IsNoRouteOfRoutesThatMatchLongerPathsOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		add   func(*mux.Router, http.Handler)
		rule  string
		paths []string
		names []string
	}{
		"a slash at the end": {
			func(r *mux.Router, h http.Handler) { r.Handle("/articles/{slug}/", h) }, "GET /articles/{slug}/",
			[]string{"/articles/none/"}, []string{"article"},
		},
		"a PathPrefix": {
			func(r *mux.Router, h http.Handler) { r.PathPrefix("/articles/").Handler(h) }, "GET /articles/",
			[]string{"/articles/none/", "/articles/"}, []string{"missing", "missing"},
		},
		"a PathPrefix without a slash": {
			func(r *mux.Router, h http.Handler) { r.PathPrefix("/articles").Handler(h) }, "GET /articles",
			[]string{"/articles/none"}, []string{"missing"},
		},
		"a PathPrefix of a subrouter": {
			func(r *mux.Router, h http.Handler) { r.PathPrefix("/articles").Subrouter().Handle("/{slug}", h) }, "GET /articles/{slug}",
			[]string{"/articles/none"}, []string{"article"},
		},
		"any path": {
			func(r *mux.Router, h http.Handler) { r.NewRoute().Handler(h) }, "GET /",
			[]string{"/none"}, []string{"missing"},
		},
		"a wildcard for the rest": {
			func(r *mux.Router, h http.Handler) { r.Handle("/articles/{rest:.*}", h) }, "GET /articles/{rest:.*}",
			[]string{"/articles/none/"}, []string{"missing"},
		},
		"a wildcard that matches no slash": {
			func(r *mux.Router, h http.Handler) { r.Handle("/articles/{slug:[a-z.]+}", h) }, "GET /articles/{slug:[a-z.]+}",
			[]string{"/articles/none"}, []string{"article"},
		},
		"a wildcard before fixed text": {
			func(r *mux.Router, h http.Handler) { r.Handle("/articles/{slug:.*}.html", h) }, "GET /articles/{slug:.*}.html",
			[]string{"/articles/none.html"}, []string{"article"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, in := range []place{wrapped, used} {
				tracker := footfalltest.New(t)
				handler := in(footfalltest.App{Tracker: tracker.Tracker, Rules: []footfall.Rule{
					{Route: tc.rule, Event: "article"}, {Route: footfall.NoRoute, Event: "missing"},
				}}, func(r *mux.Router) { tc.add(r, http.NotFoundHandler()) })
				for _, path := range tc.paths {
					ask(handler, "GET", path)
				}
				assert.Equal(t, tc.names, tracker.Names())
			}
		})
	}
}

func TestARouteWithTwoWildcardsInASegmentHidesTheSecret(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	handler := wrapped(footfalltest.App{Tracker: tracker.Tracker, Rules: []footfall.Rule{{Route: footfall.AnyRoute}}}, func(r *mux.Router) {
		r.HandleFunc("/user/{u}-{token}", nothing)
		r.HandleFunc("/reset/{token:.*}", nothing)
	})
	ask(handler, "GET", "/user/ada-k3y")
	ask(handler, "GET", "/reset/k3y/k4y")
	events := tracker.Events()
	require.Len(t, events, 2)
	assert.Equal(t, "http://example.com/user/%7Btoken%7D", events[0].URL)
	assert.Equal(t, "http://example.com/reset/%7Btoken%7D/%7Btoken%7D", events[1].URL)
	assert.Equal(t, []string{"get_user_u_token", "get_reset_token"}, tracker.Names())
}
