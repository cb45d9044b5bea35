package footfallmux_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gorilla/mux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
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

// forEachPlace runs test with Wrap and with Middleware in Use.
func forEachPlace(t *testing.T, test func(t *testing.T, in place)) {
	for name, in := range map[string]place{"Wrap": wrapped, "Use": used} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, in)
		})
	}
}

// deny is a middleware that answers by itself.
func deny(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
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
	private.Use(deny)
	private.HandleFunc("/{room}", nothing)

	inner := mux.NewRouter()
	inner.HandleFunc("/legacy/users/{id}", nothing)
	router.PathPrefix("/legacy").Handler(inner)
}

// Events are named after method and route.
func TestTheRouteIsThatOfTheHandlerThatAnswered(t *testing.T) {
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
		"GET /static/a/b":                     "get_static",
		"GET http://shop.example.com/cart/7":  "get_cart_id",
		"GET http://blog.example.com/a/b":     "get_root",
		"GET /api/users/7":                    "get_api_users_id",
		"GET /api/users/0":                    "get_api_users_id",
		"GET /api/v1/orders/":                 "get_api_v1_orders",
		"GET /api/v1/orders":                  "", // redirected
		"GET //docs":                          "", // redirected
		"GET /own/known":                      "get_own_known",
		"GET /private/7":                      "get_private_room",
		"GET /legacy/users/7":                 "get_legacy",
		"GET /legacy/missing":                 "get_legacy",
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
				if name == "Use" && strings.HasSuffix(request, " /own/missing") {
					want = "" // the subrouter's own handler, in which the middleware is not
				}
				method, target, _ := strings.Cut(request, " ")
				answer := ask(handler, method, target)
				names := tracker.Names()
				assert.Equal(t, want, strings.Join(names[seen:], " "), "%s, answered with %d", request, answer.Code)
				seen = len(names)
			}
		})
	}
}

func TestWhatAMiddlewareRefusesCountsForTheRouteThatMatches(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{
		{Route: "GET /users/{id}", Event: "refused", Status: footfall.ClientError, PathProps: []string{"id"}},
		{Route: footfall.NoRoute, Event: "none"},
	}
	tests := map[string]func(router *mux.Router, tracker *footfall.Tracker) http.Handler{
		"Wrap above": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			handler := footfallmux.Wrap(tracker, router, rules...)
			router.Use(deny)
			return handler
		},
		"Wrap, the last to be added": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			router.Use(deny)
			return footfallmux.Wrap(tracker, router, rules...)
		},
		"Use above": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			router.Use(footfallmux.Middleware(tracker, rules...), deny)
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
	assert.Equal(t, []string{"get_users"}, one.Names())
	assert.Empty(t, two.Names())
	ask(handler, "GET", "/api/users/7")
	assert.Equal(t, []string{"get_users", "get_api"}, one.Names())
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

func TestHandlersSeeTheContextOfWhatIsAboveWrap(t *testing.T) {
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

func TestPathPropsAreTheRoutersValues(t *testing.T) {
	t.Parallel()
	forEachPlace(t, func(t *testing.T, in place) {
		tracker := footfalltest.New(t)
		rules := []footfall.Rule{{Route: "GET /orgs/{org}/teams/{team:[a-z]+}", Event: "team", PathProps: []string{"org", "team"}}}
		handler := in(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, func(router *mux.Router) {
			router.PathPrefix("/orgs/{org}").Subrouter().HandleFunc("/teams/{team:[a-z]+}", nothing)
		})
		ask(handler, "GET", "/orgs/acme/teams/red")
		events := tracker.Events()
		require.Len(t, events, 1)
		assert.Equal(t, map[string]any{"org": "acme", "team": "red"}, events[0].Props)
	})
}

// recovery is a host's recovery, as handlers.RecoveryHandler of gorilla.
func recovery(next http.Handler) http.Handler {
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

func TestRecoveryMayStandOnEitherSide(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{
		{Route: "GET /panic", Event: "success", Status: footfall.Success},
		{Route: "GET /panic", Event: "server error", Status: footfall.ServerError},
		{Route: "GET /panic", Event: "aborted", Status: footfall.Aborted},
	}
	places := map[string]func(router *mux.Router, tracker *footfall.Tracker) http.Handler{
		"Wrap below it": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			return recovery(footfallmux.Wrap(tracker, router, rules...))
		},
		"Wrap above it": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			router.Use(recovery)
			return footfallmux.Wrap(tracker, router, rules...)
		},
		"Use below it": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			router.Use(recovery, footfallmux.Middleware(tracker, rules...))
			return router
		},
		"Use above it": func(router *mux.Router, tracker *footfall.Tracker) http.Handler {
			router.Use(footfallmux.Middleware(tracker, rules...), recovery)
			return router
		},
	}
	for name, build := range places {
		for want, value := range map[string]any{"server error": errors.New("boom"), "aborted": http.ErrAbortHandler} {
			t.Run(name+", "+want, func(t *testing.T) {
				t.Parallel()
				tracker := footfalltest.New(t)
				router := mux.NewRouter()
				router.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic(value) })
				handler := build(router, tracker.Tracker)
				func() {
					defer func() { _ = recover() }() // http.ErrAbortHandler comes through
					assert.Equal(t, http.StatusInternalServerError, ask(handler, "GET", "/panic").Code)
				}()
				assert.Equal(t, []string{want}, tracker.Names())
			})
		}
	}
}

func TestTrackKnowsTrackerAndPage(t *testing.T) {
	t.Parallel()
	forEachPlace(t, func(t *testing.T, in place) {
		tracker := footfalltest.New(t)
		handler := in(footfalltest.App{Tracker: tracker.Tracker}, func(router *mux.Router) {
			router.PathPrefix("/users").Subrouter().HandleFunc("/{id}", func(_ http.ResponseWriter, r *http.Request) {
				assert.NoError(t, footfall.Track(r.Context(), "in_handler", footfall.P("id", mux.Vars(r)["id"])))
			})
		})
		ask(handler, "GET", "https://shop.example.com/users/7?ref=mail&token=secret")
		events := tracker.Events()
		require.Len(t, events, 1)
		assert.Equal(t, "https://shop.example.com/users/7?ref=mail", events[0].URL)
		assert.Equal(t, map[string]any{"id": "7"}, events[0].Props)
	})
}

func TestWithoutAContextValueTrackRequestWorks(t *testing.T) {
	t.Parallel()
	forEachPlace(t, func(t *testing.T, in place) {
		tracker := footfalltest.New(t, func(c *footfall.Config) { c.NoContextValue = true })
		rules := []footfall.Rule{{Route: "GET /users/{id}", Event: "seen", PathProps: []string{"id"}}}
		handler := in(footfalltest.App{Tracker: tracker.Tracker, Rules: rules}, func(router *mux.Router) {
			router.HandleFunc("/users/{id}", func(_ http.ResponseWriter, r *http.Request) {
				assert.ErrorIs(t, footfall.Track(r.Context(), "in_handler"), footfall.ErrNoTracker)
				assert.NoError(t, tracker.TrackRequest(r, "by_request"))
			})
		})
		ask(handler, "GET", "/users/7")
		assert.Equal(t, []string{"by_request", "seen"}, tracker.Names())
	})
}

// Not parallel: the folder of temporary files is the process's.
func TestWrapLeavesNoFileOfAnUploadBelowACopyingMiddlewareAndWithoutAContextValue(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.NoContextValue = true })
	router := mux.NewRouter()
	router.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r.WithContext(r.Context())) })
	})
	router.HandleFunc("/upload", func(_ http.ResponseWriter, r *http.Request) { assert.NoError(t, r.ParseMultipartForm(1)) })
	server := httptest.NewServer(footfallmux.Wrap(tracker.Tracker, router))
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "large.bin")
	require.NoError(t, err)
	_, err = part.Write(make([]byte, 1<<20))
	require.NoError(t, errors.Join(err, w.Close()))
	resp, err := http.Post(server.URL+"/upload", w.FormDataContentType(), &form)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	server.Close()
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestATrackerThatDoesNothingIsSafe(t *testing.T) {
	t.Parallel()
	disabled, err := footfall.New(footfall.Config{Disabled: true})
	require.NoError(t, err)
	rules := []footfall.Rule{{Route: "GET /nowhere", Event: "never"}, {Route: footfall.AnyRoute}}
	for name, tracker := range map[string]*footfall.Tracker{"nil": nil, "disabled": disabled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			router := mux.NewRouter()
			router.Use(footfallmux.Middleware(tracker, rules...))
			router.HandleFunc("/users/{id}", func(w http.ResponseWriter, r *http.Request) {
				assert.NoError(t, footfall.Track(r.Context(), "in_handler"))
				_, _ = io.WriteString(w, mux.Vars(r)["id"])
			})
			assert.Equal(t, "7", ask(router, "GET", "/users/7").Body.String())
			assert.Equal(t, "7", ask(footfallmux.Wrap(tracker, router, rules...), "GET", "/users/7").Body.String())
			assert.NoError(t, footfallmux.CheckRules(tracker, router, rules...))
		})
	}
}

func TestCheckRulesAsksTheRouter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		route string
		known bool
	}{
		{"GET /", true},
		{"GET /docs", true},
		{"POST /docs", true},
		{"/docs", true},
		{"GET /hooks", true},
		{"PATCH /hooks", true},
		{"GET /search", true},
		{"GET /static/", true},
		{"GET shop.example.com/cart/{id}", true},
		{"GET /cart/{id}", true},
		{"GET blog.example.com/", true},
		{"GET /api/users/{id:[0-9]+}", true},
		{"GET /api/v1/orders/", true},
		{"GET /own/known", true},
		{"GET /private/{room}", true},
		{"GET /legacy", true},
		{footfall.AnyRoute, true},
		{footfall.NoRoute, true},
		{"PUT /docs", false},
		{"GET /docs/", false},
		{"GET /never", false},
		{"GET else.example.com/cart/{id}", false},
		{"GET /api", false},
		{"GET /api/users/{id}", false},
		{"GET /users/{id:[0-9]+}", false},
		{"GET /api/v1/orders", false},
		{"GET /legacy/users/{id}", false},
		{"", false},
	}
	tracker := footfalltest.New(t)
	router := mux.NewRouter()
	town(router)
	for _, tt := range tests {
		err := footfallmux.CheckRules(tracker.Tracker, router, footfall.Rule{Route: tt.route, Event: "seen"})
		if tt.known {
			assert.NoError(t, err, tt.route)
			continue
		}
		assert.ErrorContains(t, err, "Rule{", tt.route)
	}
	err := footfallmux.CheckRules(tracker.Tracker, router,
		footfall.Rule{Route: "GET /a"}, footfall.Rule{Route: "GET /docs"}, footfall.Rule{Route: "GET /b"})
	assert.ErrorContains(t, err, "GET /a")
	assert.ErrorContains(t, err, "GET /b")
	assert.NotContains(t, err.Error(), "GET /docs")
	_, ok := errors.AsType[*footfall.FieldError](err)
	assert.True(t, ok)
}

func TestARouteThatIsBrokenIsNotRegistered(t *testing.T) {
	t.Parallel()
	router := mux.NewRouter()
	router.HandleFunc("/a", nothing).Methods("GET").Name("twice").Name("again") // an error, and so never matched
	tracker := footfalltest.New(t)
	for _, route := range []string{"GET /a", "GET /"} {
		assert.Error(t, footfallmux.CheckRules(tracker.Tracker, router, footfall.Rule{Route: route, Event: "seen"}), route)
	}
}

func TestARuleThatIsWrongIsLoggedAndLeftOut(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	router := mux.NewRouter()
	router.Use(footfallmux.Middleware(tracker.Tracker, footfall.Rule{Event: "wrong"}, footfall.Rule{Route: "GET /", Event: "right"}))
	router.HandleFunc("/", nothing)
	ask(router, "GET", "/")
	ask(router, "GET", "/")
	assert.Equal(t, []string{"right", "right"}, tracker.Names())
	assert.Equal(t, 1, strings.Count(logged.String(), "a rule has no effect"), "once, not for each request")
}

// The README's first Go block is a whole program.
func TestTheProgramOfTheREADMECompiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	require.NotNil(t, block)
	program := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(program, block[1], 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "vet", program).CombinedOutput()
	require.NoError(t, err, strings.TrimSpace(string(out)))
}
