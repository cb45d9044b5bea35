package footfall_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// copying is a middleware that calls next with a copy of the request, as many middlewares do.
// The mux below notes the pattern in the copy.
func copying(next http.Handler) http.Handler {
	type key struct{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, 1)))
	})
}

// cutting strips a prefix in place, as programs did before http.StripPrefix.
func cutting(prefix string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = strings.TrimPrefix(r.URL.Path, prefix)
		next.ServeHTTP(w, r)
	})
}

func mounted(pattern string, below http.Handler, others ...string) *http.ServeMux {
	mux := muxOf(others...)
	mux.Handle(pattern, below)
	return mux
}

// detour is a case where the original request does not get its pattern.
type detour struct {
	handler http.Handler
	route   string   // of the rule
	events  []string // requests that make an event
	silent  []string // requests that make none
}

func detours() map[string]detour {
	products := muxOf("GET /products/{id}", "GET /products/new", "GET /{$}")
	api := muxOf("GET /api/products/{id}", "GET /api/products/new")
	return map[string]detour{
		"an inner middleware copies the request": {
			copying(products), "GET /products/{id}",
			[]string{"GET /products/42"}, []string{"POST /products/42", "GET /nowhere"},
		},
		"an inner middleware copies twice": {
			copying(copying(products)), "GET /products/{id}",
			[]string{"GET /products/42"}, nil,
		},
		"below StripPrefix": {
			http.StripPrefix("/api", products), "GET /api/products/{id}",
			[]string{"GET /api/products/42"}, []string{"GET /products/42", "GET /api/"},
		},
		"a mount below StripPrefix": {
			mounted("/api/", http.StripPrefix("/api", products), "/products/{id}"), "GET /api/products/{id}",
			[]string{"GET /api/products/42"}, []string{"GET /products/42", "GET /api/"},
		},
		"a mount that keeps the prefix": {
			mounted("/api/", api), "GET /api/products/{id}",
			[]string{"GET /api/products/42"}, []string{"GET /api/products/new"},
		},
		"a mount of a mount": {
			mounted("/v1/", http.StripPrefix("/v1", mounted("/api/", http.StripPrefix("/api", products)))), "GET /v1/api/products/{id}",
			[]string{"GET /v1/api/products/42"}, []string{"GET /v1/api/"},
		},
		"a mount with a wildcard for the rest": {
			mounted("/api/{rest...}", http.StripPrefix("/api", products)), "GET /api/products/{id}",
			[]string{"GET /api/products/42"}, []string{"GET /api/"},
		},
		"a mount at the root": {
			mounted("/", copying(products)), "GET /products/{id}",
			[]string{"GET /products/42"}, []string{"GET /"},
		},
		"the mount itself": {
			mounted("/api/", http.StripPrefix("/api", products)), "/api/",
			[]string{"GET /api/products/42", "GET /api/"}, nil,
		},
		"a prefix cut in place": {
			mounted("/api/", cutting("/api", copying(products))), "GET /api/products/{id}",
			[]string{"GET /api/products/42"}, []string{"GET /api/"},
		},
		"a prefix cut in place must not look like another route": {
			mounted("/admin/", cutting("/admin", copying(muxOf("GET /pricing"))), "GET /pricing"), "GET /pricing",
			[]string{"GET /pricing"}, []string{"GET /admin/pricing"},
		},
	}
}

func TestRouteIsFoundIfTheRequestHasNoPattern(t *testing.T) {
	t.Parallel()
	for name, tc := range detours() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: tc.route, Event: "it"}}}.open(t, tc.handler)
			var want []string
			for _, request := range tc.events {
				want = append(want, shopURL+site.sendNamed(t, request))
			}
			for _, request := range tc.silent {
				site.sendNamed(t, request)
			}
			assert.Equal(t, want, urls(site.events()))
		})
	}
}

func TestWrongRouteIsNotFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handler http.Handler
		route   string
		request string
	}{
		"the mux took a more specific route": {
			muxOf("GET /products/{id}", "GET /products/new"), "GET /products/{id}", "GET /products/new",
		},
		"the mux took the subtree of all": {
			muxOf("GET /products/{id}", "/"), "GET /products/{id}", "POST /products/42",
		},
		"the rule is of the subtree below the path": {
			copying(muxOf("GET /docs")), "/docs/", "GET /docs",
		},
		"the mux found nothing, the rule is of any method": {
			muxOf("POST /checkout"), "/checkout", "GET /checkout",
		},
		"the mux found nothing, the rule is not registered": {
			muxOf("GET /pricing"), "GET /products/{id}", "GET /products/42",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: tc.route, Event: "it"}}}.open(t, tc.handler)
			site.sendNamed(t, tc.request)
			assert.Empty(t, site.events())
		})
	}
}

func TestMethodNotAllowedIsNoRouteEvenIfARuleNamesThePath(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{
		{Route: "/checkout", Event: "checkout"},
		{Route: footfall.NoRoute, Event: "no_route"},
	}}.open(t, muxOf("POST /checkout"))
	site.get(t, "/checkout")
	assert.Equal(t, []string{"no_route"}, site.names())
}

func TestPathPropsWorkIfTheRequestHasNoPattern(t *testing.T) {
	t.Parallel()
	products := muxOf("GET /products/{id}")
	for name, tc := range map[string]struct {
		handler     http.Handler
		route, path string
	}{
		"copied":         {copying(products), "GET /products/{id}", "/products/a%2F42"},
		"stripped":       {mounted("/api/", http.StripPrefix("/api", products)), "GET /api/products/{id}", "/api/products/a%2F42"},
		"on the request": {products, "GET /products/{id}", "/products/a%2F42"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: tc.route, PathProps: []string{"id"}}}}.open(t, tc.handler)
			site.get(t, tc.path)
			events := site.events()
			require.Len(t, events, 1)
			assert.Equal(t, map[string]any{"id": "a/42"}, events[0].Props)
		})
	}
}

func TestRulesWorkAboveHandlersThatAreNoMux(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{
		{Route: "GET /products/{id}", Event: "product_viewed"},
		{Route: "GET /products/new", Event: "product_form"},
		{Route: footfall.NoRoute, Event: "no_route"},
	}}.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/nowhere" {
			http.NotFound(w, r)
		}
	}))
	site.get(t, "/products/42")
	site.get(t, "/products/new")
	site.get(t, "/nowhere")
	site.get(t, "/elsewhere") // 200 with an unknown route
	assert.Equal(t, []string{"product_viewed", "product_form", "no_route"}, site.names())
}

// docs/frameworks.md describes rules above a router that is not an http.ServeMux.
func TestRulesAboveAnotherRouter(t *testing.T) {
	t.Parallel()
	router := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	site := setup{rules: []footfall.Rule{
		{Route: "GET /user/reset/{key}", Event: "reset_opened", PathProps: []string{"key"}},
		{Route: footfall.AnyRoute},
		{Route: footfall.NoRoute},
	}}.open(t, router)
	site.get(t, "/user/reset/abc")
	site.get(t, "/other")
	site.get(t, "/missing")
	assert.ElementsMatch(t, []string{"reset_opened", "get_no_route"}, site.names())
	assert.Contains(t, urls(site.events()), "https://shop.example.com/user/reset/%7Bkey%7D")
}

func TestRulesThatConflictForAMuxAreFoundByTheirPattern(t *testing.T) {
	t.Parallel()
	one, other := muxOf("GET /{kind}/latest"), muxOf("GET /posts/{id}")
	site := setup{rules: []footfall.Rule{
		{Route: "GET /{kind}/latest", Event: "latest"},
		{Route: "GET /posts/{id}", Event: "post"},
	}}.open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/posts/") {
			other.ServeHTTP(w, r)
			return
		}
		one.ServeHTTP(w, r)
	}))
	site.get(t, "/posts/latest")
	site.get(t, "/jobs/latest")
	assert.Equal(t, []string{"post", "latest"}, site.names())
}

func TestHeadOptionsAndPrefetchMakeNoEvent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		method string
		header []string
	}{
		"HEAD":                     {"HEAD", nil},
		"OPTIONS":                  {"OPTIONS", nil},
		"TRACE":                    {"TRACE", nil},
		"prefetch":                 {"GET", []string{"Sec-Purpose", "prefetch"}},
		"prerender":                {"GET", []string{"Sec-Purpose", "prefetch;prerender"}},
		"anonymous client IP":      {"GET", []string{"Sec-Purpose", "prefetch;anonymous-client-ip"}},
		"prefetch of old browsers": {"GET", []string{"Purpose", "prefetch"}},
		"prefetch of Firefox":      {"GET", []string{"X-Moz", "prefetch"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{
				{Route: "/pricing"}, {Route: footfall.AnyRoute}, {Route: footfall.NoRoute},
			}}.open(t, muxOf("/pricing", "/other"))
			for _, path := range []string{"/pricing", "/other", "/"} {
				site.do(t, tc.method, path, tc.header...)
			}
			assert.Empty(t, site.events())
		})
	}
}

func TestRequestThatIsNoPrefetchIsNotSkipped(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{{Route: "/pricing"}}}.open(t, muxOf("/pricing"))
	site.get(t, "/pricing", "Purpose", "")
	site.get(t, "/pricing", "Sec-Purpose", "preview")
	assert.Len(t, site.events(), 2)
}

func TestSkipLeavesRequestsOut(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	site := setup{
		rules: []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}},
		config: func(c *footfall.Config) {
			c.Skip = func(r *http.Request) bool { return r.Header.Get("X-Staff") != "" || r.Pattern == "GET /health" }
		},
	}.open(t, mux)
	mux.HandleFunc("GET /pricing", func(_ http.ResponseWriter, r *http.Request) {
		_ = footfall.Track(r.Context(), "tracked_by_the_handler")
	})
	mux.Handle("GET /health", answering(http.StatusOK))
	site.get(t, "/pricing", "X-Staff", "1")
	site.get(t, "/health")
	site.get(t, "/nowhere", "X-Staff", "1")
	site.get(t, "/pricing")
	assert.Equal(t, []string{"tracked_by_the_handler", "tracked_by_the_handler", "get_pricing"}, site.names())
}

func TestSkipThatPanicsIsHarmless(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"a string": "boom", "the abort error": http.ErrAbortHandler} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outer recovery
			var log journal
			site := setup{
				rules:  []footfall.Rule{{Route: "GET /pricing"}},
				around: outer.around,
				config: func(c *footfall.Config) {
					log.into(c)
					c.Skip = func(*http.Request) bool { panic(value) }
				},
			}.open(t, muxOf("GET /pricing"))
			status, _ := site.do(t, "GET", "/pricing")
			assert.Equal(t, http.StatusOK, status)
			assert.Empty(t, site.events())
			seen, _ := outer.seen()
			assert.Nil(t, seen)
			require.NoError(t, site.tracker.Close(t.Context())) // it writes the last line
			assert.Eventually(t, func() bool { return strings.Contains(log.String(), "panic in Config.Skip") }, 10*time.Second, time.Millisecond)
		})
	}
}

func TestObserveWorksForAdaptersWithoutARequest(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) {
		c.Skip = func(*http.Request) bool { panic("there is no request to look at") }
	})
	set := tracker.Rules(
		footfall.Rule{Route: "GET /users/:id", PathProps: []string{"id"}, Page: footfall.PageReferer},
		footfall.Rule{Route: footfall.AnyRoute},
		footfall.Rule{Route: "/shop.Cart/Add", Event: "added"},
	)
	page := tracker.Page(&http.Request{Host: "example.com", URL: &url.URL{Path: "/users/42"}})
	set.Observe(&footfall.Observation{Method: "GET", Route: "GET /users/:id", Status: 200, Page: page})
	set.Observe(&footfall.Observation{Method: "GET", Route: "/files/*path", Status: 200})
	set.Observe(&footfall.Observation{Method: "GET", Route: "/items/{id:[0-9]+}", Status: 200})
	set.Observe(&footfall.Observation{Method: "POST", Route: "/shop.Cart/Add", Status: 200})
	set.Observe(&footfall.Observation{Method: "GET", Status: 404})
	events := tracker.Events()
	assert.Equal(t, []string{"get_users_id", "get_files_path", "get_items_id", "added"}, tracker.Names())
	assert.Equal(t, "http://example.com/users/42", events[0].URL)
	assert.Equal(t, "https://example.com/", events[1].URL, "without a page the default")
}

// values are the wildcards of a route whose PathValue has a defect.
type values func()

func (v values) PathValue(string) string { v(); return "" }

func TestRuntimeGoexitInAFunctionOfARequestEndsThatRequestOnly(t *testing.T) {
	goexit := func(r *http.Request) {
		if r.URL.Path == "/ends" {
			runtime.Goexit()
		}
	}
	rule := footfall.Rule{Route: footfall.AnyRoute, PathProps: []string{"id"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{id}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") })
	for name, wrap := range map[string]func(*footfall.Tracker) http.Handler{
		"Skip": func(tracker *footfall.Tracker) http.Handler { return tracker.Middleware(rule)(mux) },
		"the route": func(tracker *footfall.Tracker) http.Handler {
			return tracker.Rules(rule).Wrap(mux, func(r *http.Request) (string, bool, footfall.PathValuer) { goexit(r); return r.Pattern, false, r })
		},
		"a path value": func(tracker *footfall.Tracker) http.Handler {
			return tracker.Rules(rule).Wrap(mux, func(r *http.Request) (string, bool, footfall.PathValuer) {
				return r.Pattern, false, values(func() { goexit(r) })
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, log := footfalltest.NewAPI(t), &footfalltest.Log{}
			cfg := api.Config()
			cfg.Logger = log.Logger()
			if name == "Skip" {
				cfg.Skip = func(r *http.Request) bool { goexit(r); return false }
			}
			tracker, err := footfall.New(cfg)
			require.NoError(t, err)
			server := httptest.NewServer(wrap(tracker))
			t.Cleanup(server.Close)
			for range 20 {
				for _, path := range []string{"/ends", "/goes_on"} {
					if resp, err := http.Get(server.URL + path); err == nil {
						_ = resp.Body.Close()
					} else {
						require.Equal(t, "/ends", path, "%v", err)
					}
				}
			}
			require.NoError(t, tracker.Flush(t.Context()))
			server.Close() // no request is under way
			require.NoError(t, closeWithin(tracker, 10*time.Second))
			s := tracker.Stats()
			assert.Equal(t, []uint64{20, 20}, []uint64{s.Tracked, s.Delivered})
			if name != "the route" {
				assert.Contains(t, log.String(), "runtime.Goexit was called")
			}
		})
	}
}

func TestAPanicInAnAdapterDoesNotChangeTheAnswer(t *testing.T) {
	t.Parallel()
	var log journal
	tracker := footfalltest.New(t, log.into)
	handler := tracker.Rules(footfall.Rule{Route: footfall.AnyRoute}).
		Wrap(answering(http.StatusCreated), func(*http.Request) (string, bool, footfall.PathValuer) { panic("no route") })
	answer := httptest.NewRecorder()
	assert.NotPanics(t, func() { handler.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil)) })
	assert.Equal(t, http.StatusCreated, answer.Code)
	require.NoError(t, tracker.Close(t.Context()))
	assert.Contains(t, log.String(), "no route")
}

func TestHeadersNamesTheHeadersThatAnAdapterHasToCopy(t *testing.T) {
	prefetch := []string{"Sec-Purpose", "Purpose", "X-Moz"}
	forwarded := []string{"X-Forwarded-Proto", "X-Forwarded-Host"}
	for _, tc := range []struct {
		name   string
		config func(*footfall.Config)
		rule   footfall.Rule
		want   footfall.NeededHeaders
		ofPost bool // whether a POST needs them too
	}{
		{"a plain rule", nil, footfall.Rule{Route: "GET /"}, footfall.NeededHeaders{Observed: prefetch}, false},
		{"a rule that takes the referring page", nil, footfall.Rule{Route: "GET /", Page: footfall.PageReferer},
			footfall.NeededHeaders{Observed: append(prefetch, "Referer")}, true},
		{"trusted proxies", func(c *footfall.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} },
			footfall.Rule{Route: "GET /"}, footfall.NeededHeaders{Page: forwarded, Observed: prefetch}, false},
		{"a function that may look at any", func(c *footfall.Config) { c.Skip = func(*http.Request) bool { return false } },
			footfall.Rule{Route: "GET /"}, footfall.NeededHeaders{Observed: prefetch, All: true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tracker := footfalltest.New(t, func(c *footfall.Config) {
				if tc.config != nil {
					tc.config(c)
				}
			})
			headers := tracker.Rules(tc.rule).NeededHeaders()
			assert.Equal(t, tc.want, headers)
			assert.True(t, headers.Needed(http.MethodGet))
			assert.Equal(t, tc.ofPost, headers.Needed(http.MethodPost))
		})
	}
}

func TestRedirectOfTheMuxToTheSamePageIsNoEvent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ request, location string }{
		"to the subtree":    {"GET /docs HTTP/1.1", "/docs/"},
		"to the clean path": {"GET //docs/./x HTTP/1.1", "/docs/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: "GET /docs/", Event: "docs_viewed"}}}.open(t, muxOf("GET /docs/"))
			require.Contains(t, site.rawly(t, tc.request), "Location: "+tc.location+"\r\n")
			site.get(t, tc.location)
			assert.Equal(t, []string{"docs_viewed"}, site.names(), "one visit, one event")
		})
	}
}

func TestARedirectOfAHandlerMakesAnEvent(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("next"), http.StatusSeeOther)
	})
	site := setup{rules: []footfall.Rule{{Route: "POST /login", Event: "logged_in", Status: footfall.Success}}}.open(t, mux)
	site.rawly(t, "POST /login?next=/account HTTP/1.1")
	site.rawly(t, "POST /login?next=/login/ HTTP/1.1") // a client must not hide its request
	assert.Equal(t, []string{"logged_in", "logged_in"}, site.names())
}
