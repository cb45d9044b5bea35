package footfallchi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/adapters/footfallchi"
	"github.com/footfall-dev/footfall/footfalltest"
)

func nothing(http.ResponseWriter, *http.Request) {}

// ask sends one request to the handler and returns the answer.
func ask(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

// forEachPlace runs test with the middleware around the router and in Use.
func forEachPlace(t *testing.T, test func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler)) {
	for name, place := range map[string]func(footfalltest.App, func(*chi.Mux)) http.Handler{"around the router": wrapped, "in Use": used} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place)
		})
	}
}

// town is a router of everything that chi composes.
func town(router *chi.Mux) {
	router.Get("/", nothing)
	router.Get("/docs", nothing)
	router.Get("/static/*", nothing)
	router.Mount("/files", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/gone") {
			http.NotFound(w, r)
		}
	}))
	router.Route("/api", func(r chi.Router) {
		r.Get("/", nothing)
		r.Get("/users/{id}", func(w http.ResponseWriter, r *http.Request) {
			if chi.URLParam(r, "id") == "0" {
				http.NotFound(w, r)
			}
		})
		r.Route("/v1", func(r chi.Router) { r.Get("/orders/{order:[0-9]+}", nothing) })
		r.Mount("/assets", http.HandlerFunc(nothing))
		r.Route("/shared", func(r chi.Router) { r.Get("/more", nothing) })
		r.Get("/shared", nothing) // replaces the handler that Route registered for /shared
	})
	router.Route("/pages", func(r chi.Router) { r.Get("/*", nothing) })
	router.Route("/shelf", func(r chi.Router) {
		inner := chi.NewRouter()
		inner.Get("/books", nothing)
		r.Mount("/", inner)
	})
	router.Route("/orgs/{org}", func(r chi.Router) { r.Get("/teams", nothing) })
	router.Route("/private", func(r chi.Router) {
		r.Use(adaptertest.Deny)
		r.Get("/", nothing)
		r.Get("/{room}", nothing)
	})
}

// none is recorded for a request without a route.
const none = "no route"

// answered are the requests to town, and the event of each.
var answered = map[string]string{
	"GET /":                        "get_root",
	"GET /docs":                    "get_docs",
	"GET /static/":                 "get_static",
	"GET /static/a/b":              "get_static_any",
	"GET /files":                   "get_files",
	"GET /files/":                  "get_files",
	"GET /files/a":                 "get_files_any",
	"GET /files/gone":              none,
	"GET /api":                     "get_api",
	"GET /api/":                    "get_api",
	"GET /api/users/7":             "get_api_users_id",
	"GET /api/users/0":             "get_api_users_id",
	"GET /api/v1/orders/7":         "get_api_v1_orders_order",
	"GET /api/assets":              "get_api_assets",
	"GET /api/assets/":             "get_api_assets",
	"GET /api/assets/a":            "get_api_assets_any",
	"GET /api/shared":              "get_api_shared",
	"GET /api/shared/more":         "get_api_shared_more",
	"GET /pages":                   "get_pages",
	"GET /pages/":                  "get_pages",
	"GET /pages/a/b":               "get_pages_any",
	"GET /orgs/a/teams":            "get_orgs_org_teams",
	"GET /private/7":               "get_private_room",
	"GET /shelf/books":             "get_shelf_books",
	"GET /shelf":                   none,
	"GET /shelf/":                  none,
	"GET /shelf/missing":           none,
	"POST /shelf/books":            none,
	"GET /missing":                 none,
	"GET /docs/":                   none,
	"POST /docs":                   none,
	"BREW /docs":                   none,
	"GET /api/missing":             none,
	"GET /api/users":               none,
	"POST /api/users/7":            none,
	"POST /api":                    none,
	"GET /api/v1":                  none,
	"GET /api/v1/":                 none,
	"GET /api/v1/missing":          none,
	"GET /api/v1/orders/x":         none,
	"POST /api/v1/orders/7":        none,
	"POST /pages":                  none,
	"POST /pages/a":                none,
	"GET /orgs/a":                  none,
	"GET /orgs/a/":                 none,
	"GET /orgs/a/missing":          none,
	"GET /orgs/a/teams?x=/missing": "get_orgs_org_teams",
}

// Events are named after method and route.
func TestRouteBelongsToTheHandlerThatAnswered(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute, Event: none}}
	forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
		tracker := footfalltest.New(t)
		handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, town)
		seen := 0
		for request, want := range answered {
			method, target, _ := strings.Cut(request, " ")
			answer := ask(handler, method, target)
			names := tracker.Names()
			assert.Equal(t, []string{want}, names[seen:], "%s, answered with %d", request, answer.Code)
			seen = len(names)
		}
	})
}

func TestMiddlewaresOfChiThatChooseTheRoute(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, target, want string
		middleware                 handlers
	}{
		{"StripSlashes", "GET", "/docs/", "get_docs", middleware.StripSlashes},
		{"StripSlashes, below a Mount", "GET", "/api/users/7/", "get_api_users_id", middleware.StripSlashes},
		{"StripSlashes, no route below a Mount", "GET", "/api/missing/", "none", middleware.StripSlashes},
		{"CleanPath", "GET", "//docs", "get_docs", middleware.CleanPath},
		{"CleanPath, the root", "GET", "//", "get_root", middleware.CleanPath},
		{"CleanPath, a route beside a Mount", "GET", "/api//shared", "get_api_shared", middleware.CleanPath},
		{"URLFormat", "GET", "/api/users/7.json", "get_api_users_id", middleware.URLFormat},
		{"a middleware that refuses", "GET", "/api/users/7", "get_api_users_id", adaptertest.Deny},
		{"StripSlashes before a middleware that refuses", "GET", "/docs/", "get_docs", func(next http.Handler) http.Handler { return middleware.StripSlashes(adaptertest.Deny(next)) }},
		{"a middleware that refuses what has no route", "GET", "/missing", "", adaptertest.Deny},
		{"a middleware of a sub-router that refuses", "GET", "/private/7", "get_private_room", middleware.CleanPath},
		{"a middleware of a sub-router that refuses its root", "GET", "/private", "", middleware.CleanPath},
	}
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute, Event: "none"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
				tracker := footfalltest.New(t)
				handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, func(router *chi.Mux) {
					router.Use(tt.middleware)
					town(router)
				})
				answer := ask(handler, tt.method, tt.target)
				assert.Equal(t, tt.want, strings.Join(tracker.Names(), " "), "answered with %d", answer.Code)
			})
		})
	}
}

func TestAHandlerMayChangeTheURL(t *testing.T) {
	t.Parallel()
	forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
		tracker := footfalltest.New(t)
		handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: []footfall.Rule{{Route: footfall.AnyRoute}}}, func(router *chi.Mux) {
			change := func(_ http.ResponseWriter, r *http.Request) { r.URL.Path = "/elsewhere" }
			router.Route("/pages", func(r chi.Router) { r.Get("/*", change) })
			router.Route("/users", func(r chi.Router) { r.Get("/{id}", change) })
		})
		ask(handler, "GET", "/pages/a")
		ask(handler, "GET", "/users/7")
		events := tracker.Events()
		require.Len(t, events, 2)
		assert.Equal(t, "get_pages_any", events[0].Name)
		assert.Equal(t, "http://example.com/pages/a", events[0].URL)
		assert.Equal(t, "get_users_id", events[1].Name)
	})
}

// Match records the patterns that it visits in its context.
func TestHandlerMayCallMatchWithItsRouteContext(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}}
	find := func(times int, path string) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			rctx := chi.RouteContext(r.Context())
			for range times {
				rctx.Routes.Match(rctx, "GET", path) // as Find does, which chi has since v5.2.0
			}
		}
	}
	forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
		tracker := footfalltest.New(t)
		handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, func(router *chi.Mux) {
			router.Route("/api", func(r chi.Router) {
				r.Get("/once/{id}", find(1, "/api/other/7/parts"))
				r.Get("/often/{id}", find(4, "/api/other/7/parts"))
				r.Get("/itself/{id}", find(1, "/api/itself/7"))
				r.Get("/missing/{id}", find(2, "/api/nowhere"))
				r.Get("/other/{other}/parts", nothing)
			})
			router.Get("/", find(3, "/api/other/7/parts"))
			router.Get("/top", find(1, "/top"))
		})
		for request, want := range map[string]string{
			"/api/once/7": "get_api_once_id", "/api/often/7": "get_api_often_id", "/api/itself/7": "get_api_itself_id",
			"/api/missing/7": "get_api_missing_id", "/": "get_root", "/top": "get_top",
		} {
			before := len(tracker.Names())
			ask(handler, "GET", request)
			assert.Equal(t, []string{want}, tracker.Names()[before:], request)
		}
	})
}

func TestFindInAHandlerChangesNeitherRouteNorValues(t *testing.T) {
	t.Parallel()
	find := func(path string) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			rctx := chi.RouteContext(r.Context())
			rctx.Routes.Match(rctx, "GET", path)
		}
	}
	every := footfall.Rule{Route: footfall.AnyRoute, PathProps: []string{"id", "*"}}
	for found, target := range map[string]string{
		"a catch-all":             "/some/unknown",
		"the root":                "/",
		"a route":                 "/orders/9",
		"a route of the same key": "/users/9",
		"a catch-all, empty":      "/spa/",
		"a route below a Mount":   "/api/carts/9",
		"a Mount's root":          "/api",
		"nothing":                 "/orders/9/none",
	} {
		t.Run(found, func(t *testing.T) {
			t.Parallel()
			forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
				tracker := footfalltest.New(t)
				rules := []footfall.Rule{every, {Route: "GET /users/{id}", Event: "user", PathProps: []string{"id"}}}
				handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, func(router *chi.Mux) {
					router.Get("/users/{id}", find(target))
					router.Get("/orders/{id}", nothing)
					router.Get("/spa/*", find(target))
					router.Route("/api", func(r chi.Router) {
						r.Get("/", nothing)
						r.Get("/carts/{id}", find(target))
						r.Get("/rest/{id:[a-z]{2,3}}/*", find(target))
					})
					if target == "/some/unknown" {
						router.Get("/*", nothing)
					}
				})
				for _, path := range []string{"/users/7", "/api/carts/7", "/api/rest/xyz/a/b", "/spa/a", "/users/7/"} {
					ask(handler, "GET", path)
				}
				type event struct{ name, id, rest any }
				var got []event
				for _, e := range tracker.Events() {
					got = append(got, event{e.Name, e.Props["id"], e.Props["*"]})
				}
				want := []event{{"user", "7", nil}, {"get_api_carts_id", "7", ""}, {"get_api_rest_id_any", "xyz", "a/b"}, {"get_spa_any", "", "a"}}
				if target == "/some/unknown" {
					want = append(want, event{"get_any", "", "users/7/"})
				}
				assert.Equal(t, want, got)
			})
		})
	}
}

func TestTrackKnowsTheRouteInMiddlewaresAndAfterFind(t *testing.T) {
	t.Parallel()
	forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
		tracker := footfalltest.New(t, func(c *footfall.Config) { c.Page = footfall.PageRoute })
		tracking := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.NoError(t, footfallchi.Track(r, "above"))
				next.ServeHTTP(w, r)
			})
		}
		handler := place(footfalltest.App{Tracker: tracker.Tracker}, func(router *chi.Mux) {
			router.Use(tracking)
			router.Route("/users/{id}", func(r chi.Router) {
				r.Use(tracking)
				r.Get("/orders/{order}", func(_ http.ResponseWriter, r *http.Request) {
					rctx := chi.RouteContext(r.Context())
					rctx.Routes.Match(rctx, "GET", "/users/8/orders/9")
					assert.NoError(t, footfallchi.Track(r, "in the handler"))
				})
			})
		})
		ask(handler, "GET", "/users/7/orders/3")
		events := tracker.Events()
		require.Len(t, events, 3)
		for _, e := range events {
			assert.Equal(t, "http://example.com/users/%7Bid%7D/orders/%7Border%7D", e.URL, e.Name)
		}
	})
}

func TestHEADAnsweredByGetHeadMakesNoEvent(t *testing.T) {
	t.Parallel()
	forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
		tracker := footfalltest.New(t)
		rules := []footfall.Rule{{Route: "GET /docs", Event: "read"}, {Route: "/static/*", Event: "loaded"}}
		handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, func(router *chi.Mux) {
			router.Use(middleware.GetHead)
			town(router)
		})
		assert.Equal(t, http.StatusOK, ask(handler, "HEAD", "/docs").Code)
		assert.Equal(t, http.StatusOK, ask(handler, "HEAD", "/static/a").Code)
		assert.Empty(t, tracker.Names())
	})
}

func TestAMiddlewareMayServeSeveralRouters(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	track := footfallchi.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute})
	first, second := chi.NewRouter(), chi.NewRouter()
	first.Get("/first/{id}", nothing)
	second.Route("/second", func(r chi.Router) { r.Get("/{id}", nothing) })
	one, two := track(first), track(second)
	ask(one, "GET", "/first/1")
	ask(two, "GET", "/second/2")
	ask(two, "GET", "/first/1")
	assert.Equal(t, []string{"get_first_id", "get_second_id"}, tracker.Names())
}

func TestMiddlewareAboveSeesTheSameRequestAsWithoutTheAdapter(t *testing.T) {
	t.Parallel()
	look := func(tracker *footfall.Tracker) (pattern, id string) {
		router := chi.NewRouter()
		router.Use(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				pattern, id = r.Pattern, r.PathValue("id")
			})
		})
		if tracker != nil {
			router.Use(footfallchi.Middleware(tracker, footfall.Rule{Route: footfall.AnyRoute}))
		}
		router.Route("/users", func(r chi.Router) { r.Get("/{id}", nothing) })
		ask(router, "GET", "/users/7")
		return pattern, id
	}
	pattern, id := look(nil)
	withPattern, withID := look(footfalltest.New(t).Tracker)
	assert.Equal(t, pattern, withPattern)
	if id != "" { // chi sets it since v5.0.12
		assert.Equal(t, id, withID)
	}
}

func TestAroundTheRouterHandlersHaveARouteContextAsWithout(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	router := chi.NewRouter()
	for round := range 3 { // contexts are used again
		router.Get("/"+strings.Repeat("a", round)+"{id}", func(w http.ResponseWriter, r *http.Request) {
			rctx := chi.RouteContext(r.Context())
			assert.Same(t, router, rctx.Routes)
			assert.Equal(t, "/"+strings.Repeat("a", round)+"{id}", rctx.RoutePattern())
			_, _ = io.WriteString(w, chi.URLParam(r, "id"))
		})
	}
	handler := footfallchi.Middleware(tracker.Tracker)(router)
	assert.Equal(t, "7", ask(handler, "GET", "/7").Body.String())
	assert.Equal(t, "8", ask(handler, "GET", "/a8").Body.String())
	assert.Equal(t, "9", ask(handler, "GET", "/aa9").Body.String())
	assert.Equal(t, http.StatusNotFound, ask(handler, "GET", "/a/b").Code)
	assert.Equal(t, http.StatusNotFound, ask(footfallchi.Middleware(tracker.Tracker)(chi.NewRouter()), "GET", "/").Code, "a router without routes")
}

func TestAroundAnotherHandlerNoRouteIsKnownAndNothingBreaks(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	router := chi.NewRouter()
	router.Get("/", nothing)
	cors := http.HandlerFunc(router.ServeHTTP)
	handler := footfallchi.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute})(cors)
	assert.Equal(t, http.StatusOK, ask(handler, "GET", "/").Code)
	assert.Empty(t, tracker.Names())
}

// Tests of handlers make such contexts.
func TestARouteContextWithoutARouterIsNoRoute(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	handler := footfallchi.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute})(http.HandlerFunc(nothing))
	r := httptest.NewRequest("GET", "/users/7", nil)
	handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, chi.NewRouteContext())))
	assert.Empty(t, tracker.Names())
}

// Not parallel: the folder of temporary files is the process's.
func TestAroundTheRouterAnUploadLeavesNoFileWithoutAContextValueEither(t *testing.T) {
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.NoContextValue = true })
	router := chi.NewRouter()
	router.Post("/upload", func(_ http.ResponseWriter, r *http.Request) { assert.NoError(t, r.ParseMultipartForm(1)) })
	adaptertest.UploadLeavesNoFile(t, 1<<20, adaptertest.Server{Handler: footfallchi.Middleware(tracker.Tracker)(router)}.Serve)
}

func TestARouteWithTwoWildcardsInASegmentHidesTheSecret(t *testing.T) {
	t.Parallel()
	forEachPlace(t, func(t *testing.T, place func(footfalltest.App, func(*chi.Mux)) http.Handler) {
		tracker := footfalltest.New(t)
		handler := place(footfalltest.App{Tracker: tracker.Tracker, Rules: []footfall.Rule{{Route: footfall.AnyRoute}}}, func(router *chi.Mux) {
			router.Get("/r/{user}-{token}", nothing)
		})
		ask(handler, "GET", "/r/ada-k3y")
		events := tracker.Events()
		require.Len(t, events, 1)
		assert.Equal(t, "http://example.com/r/%7Btoken%7D", events[0].URL)
		assert.Equal(t, "get_r_user_token", events[0].Name)
	})
}
