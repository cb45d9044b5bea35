package footfall_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// routing is a rule's route and the routes of a mux.
type routing struct {
	mux    []string // patterns registered
	route  string   // of the rule
	events []string // requests that make an event
	silent []string // requests that make none
}

func routings() map[string]routing {
	return map[string]routing{
		"a method": {
			[]string{"POST /checkout", "GET /checkout"}, "POST /checkout",
			[]string{"POST /checkout"}, []string{"GET /checkout", "PUT /checkout"},
		},
		"no method holds under any": {
			[]string{"POST /checkout", "GET /checkout"}, "/checkout",
			[]string{"POST /checkout", "GET /checkout"}, []string{"HEAD /checkout"},
		},
		"a method of a route under any": {
			[]string{"/checkout"}, "POST /checkout",
			[]string{"POST /checkout"}, []string{"GET /checkout", "HEAD /checkout"},
		},
		"a wildcard": {
			[]string{"GET /products/{id}", "GET /products/{id}/reviews"}, "GET /products/{id}",
			[]string{"GET /products/42", "GET /products/a%2Fb"}, []string{"GET /products/42/reviews", "GET /products/"},
		},
		"a neighbour of a wildcard": {
			[]string{"GET /products/{id}", "GET /products/new"}, "GET /products/{id}",
			[]string{"GET /products/42"}, []string{"GET /products/new"},
		},
		"the more specific neighbour": {
			[]string{"GET /products/{id}", "GET /products/new"}, "GET /products/new",
			[]string{"GET /products/new"}, []string{"GET /products/42"},
		},
		"a subtree": {
			[]string{"/docs/", "/docs/api"}, "/docs/",
			[]string{"GET /docs/", "GET /docs/a", "GET /docs/a/b"}, []string{"GET /docs/api", "GET /doc"},
		},
		"the end of a path": {
			[]string{"GET /{$}", "GET /"}, "GET /{$}",
			[]string{"GET /"}, []string{"GET /a", "POST /"},
		},
		"the rest of a path": {
			[]string{"GET /files/{rest...}"}, "GET /files/{rest...}",
			[]string{"GET /files/", "GET /files/a/b"}, []string{"GET /file"},
		},
		"two blanks after the method": {
			[]string{"GET /pricing"}, "GET  /pricing",
			[]string{"GET /pricing"}, nil,
		},
		"a tab after the method": { // net/http accepts it
			[]string{"GET /pricing"}, "GET\t/pricing",
			[]string{"GET /pricing"}, nil,
		},
		"HEAD named": {
			[]string{"GET /feed"}, "HEAD /feed",
			[]string{"HEAD /feed"}, []string{"GET /feed"},
		},
		"OPTIONS named": {
			[]string{"OPTIONS /feed", "/feed"}, "OPTIONS /feed",
			[]string{"OPTIONS /feed"}, []string{"GET /feed"},
		},
	}
}

func TestRuleAppliesToItsRouteOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range routings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: tc.route, Event: "it"}}}.open(t, muxOf(tc.mux...))
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

// sendNamed sends a request such as "GET /pricing" and returns its path and query. The query
// contains the method, with a key that pages keep.
func (s *siteUnderTest) sendNamed(t *testing.T, request string) string {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	path += "?ref=" + method
	s.do(t, method, path)
	return path
}

func urls(events []footfalltest.Event) (all []string) {
	for _, e := range events {
		all = append(all, e.URL)
	}
	return all
}

func TestRuleOfAHostAppliesToThatHostOnly(t *testing.T) {
	t.Parallel()
	mux := muxOf("shop.example.com/pricing", "blog.example.com/pricing", "/pricing")
	for name, tc := range map[string]struct {
		route string
		hosts []string // that make an event
	}{
		"a host":                     {"shop.example.com/pricing", []string{"shop.example.com"}},
		"a method and a host":        {"GET shop.example.com/pricing", []string{"shop.example.com"}},
		"no host holds for them all": {"/pricing", []string{"shop.example.com", "blog.example.com", "other.example.com"}},
		"a host the mux has not":     {"other.example.com/pricing", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{
				rules:  []footfall.Rule{{Route: tc.route, Event: "it"}},
				config: func(c *footfall.Config) { c.PublicURL = "" },
			}.open(t, mux)
			for _, host := range []string{"shop.example.com", "blog.example.com", "other.example.com"} {
				r := site.request(t, "GET", "/pricing", nil)
				r.Host = host
				resp, err := site.Client().Do(r)
				require.NoError(t, err)
				resp.Body.Close()
			}
			var want []string
			for _, host := range tc.hosts {
				want = append(want, "http://"+host+"/pricing")
			}
			assert.Equal(t, want, urls(site.events()))
		})
	}
}

func TestRuleAppliesToItsStatusClasses(t *testing.T) {
	t.Parallel()
	statuses := []int{200, 201, 204, 299, 302, 304, 400, 404, 405, 499, 500, 503}
	for name, tc := range map[string]struct {
		classes footfall.StatusClass
		want    []int
	}{
		"none given": {0, statuses},
		"success":    {footfall.Success, []int{200, 201, 204, 299, 302, 304}},
		"client":     {footfall.Status4xx, []int{400, 404, 405, 499}},
		"server":     {footfall.Status5xx, []int{500, 503}},
		"failure":    {footfall.Failure, []int{400, 404, 405, 499, 500, 503}},
		"two": {footfall.Success | footfall.Status5xx,
			[]int{200, 201, 204, 299, 302, 304, 500, 503}},
		"aborted": {footfall.Aborted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			for _, status := range statuses {
				mux.Handle(fmt.Sprintf("GET /answer/%d", status), answering(status))
			}
			rules := make([]footfall.Rule, 0, len(statuses))
			for _, status := range statuses {
				rules = append(rules, footfall.Rule{Route: fmt.Sprintf("GET /answer/%d", status), Event: fmt.Sprint(status), Status: tc.classes})
			}
			site := setup{rules: rules}.open(t, mux)
			for _, status := range statuses {
				site.get(t, fmt.Sprintf("/answer/%d", status))
			}
			want := make([]string, 0, len(tc.want))
			for _, status := range tc.want {
				want = append(want, fmt.Sprint(status))
			}
			assert.Equal(t, want, append([]string{}, site.names()...))
		})
	}
}

// docs/frameworks.md describes the events of a form that always redirects.
func TestFormThatRedirectsEitherWay(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/{answer}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("answer") == "right" {
			assert.NoError(t, footfall.Track(r.Context(), "logged_in"))
		}
		w.Header().Set("Location", "/")
		w.WriteHeader(http.StatusSeeOther)
	})
	site := setup{rules: []footfall.Rule{{Route: "GET /login/{answer}", Event: "by_rule", Status: footfall.Success}}}.open(t, mux)
	site.get(t, "/login/right")
	site.get(t, "/login/wrong")
	assert.ElementsMatch(t, []string{"logged_in", "by_rule", "by_rule"}, site.names())
}

func TestHandlerThatWritesNothingIsASuccess(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p", func(http.ResponseWriter, *http.Request) {})
	site := setup{rules: onEveryClass("GET /p")}.open(t, mux)
	site.get(t, "/p")
	assert.Equal(t, []string{"success"}, site.names())
}

func TestFirstStatusCounts(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		w.WriteHeader(http.StatusOK) // ignored, as in net/http
	})
	mux.HandleFunc("GET /body-first", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "body")
		w.WriteHeader(http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /flush-first", func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.WriteHeader(http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /copy-first", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader("body"))
		w.WriteHeader(http.StatusInternalServerError)
	})
	mux.HandleFunc("GET /bytes-first", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("body"))
		w.WriteHeader(http.StatusInternalServerError)
	})
	var rules []footfall.Rule
	paths := []string{"/p", "/body-first", "/flush-first", "/copy-first", "/bytes-first"}
	for _, path := range paths {
		rules = append(rules, onEveryClass("GET "+path)...)
	}
	site := setup{rules: rules}.open(t, mux)
	for _, path := range paths {
		site.get(t, path)
	}
	assert.Equal(t, []string{"client_error", "success", "success", "success", "success"}, site.names())
}

func TestSeveralRulesOfARouteEachMakeTheirEvent(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{
		{Route: "POST /checkout", Event: "checkout_attempted"},
		{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success},
		{Route: "POST /checkout", Event: "checkout_failed", Status: footfall.Failure},
		{Route: "/checkout", Event: "checkout_seen"},
		{Route: "GET /checkout", Event: "checkout_opened"},
	}}.open(t, muxOf("POST /checkout", "GET /checkout"))
	site.do(t, "POST", "/checkout")
	site.do(t, "GET", "/checkout")
	assert.Equal(t, []string{
		"checkout_attempted", "checkout_completed", "checkout_seen",
		"checkout_seen", "checkout_opened",
	}, site.names())
}

func TestPropsAndPathPropsOfARule(t *testing.T) {
	t.Parallel()
	props := []footfall.Prop{footfall.P("plan", "pro"), footfall.P("amount", 4999)}
	rules := []footfall.Rule{{
		Route: "GET /shops/{shop}/products/{id}", Props: props, PathProps: []string{"shop", "id"},
	}}
	site := setup{rules: rules}.open(t, muxOf("GET /shops/{shop}/products/{id}"))
	props[0] = footfall.P("plan", "changed after the middleware was made")
	rules[0].PathProps[0] = "changed"
	site.get(t, "/shops/k%C3%B6ln/products/a%2Fb")
	site.get(t, "/shops/jane@example.com/products/2")
	events := site.events()
	require.Len(t, events, 2)
	assert.Equal(t, map[string]any{"plan": "pro", "amount": 4999.0, "shop": "köln", "id": "a/b"}, events[0].Props)
	assert.Equal(t, "[redacted]", events[1].Props["shop"], "the guard looks at path props as well")
}

func TestRefererPage(t *testing.T) {
	t.Parallel()
	own := shopURL + "/api/cart"
	for name, tc := range map[string]struct{ referer, want string }{
		"a page":                     {"https://www.example.org/shoes", "https://www.example.org/shoes"},
		"query and fragment cut":     {"https://www.example.org/shoes?token=secret&utm_source=mail#top", "https://www.example.org/shoes?utm_source=mail"},
		"a user and password cut":    {"https://jane:secret@www.example.org/shoes", "https://www.example.org/shoes"},
		"no header":                  {"", own},
		"no URL":                     {"::not a url::", own},
		"a path only":                {"/shoes", own},
		"a scheme that runs scripts": {"javascript:alert(1)", own},
		"an app's scheme":            {"android-app://com.example", own},
		"no host":                    {"https:///shoes", own},
		"a quote in the host":        {"https://a\"b/shoes", own},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: "POST /api/cart", Event: "added", Page: footfall.PageReferer}}}.open(t, muxOf("POST /api/cart"))
			site.do(t, "POST", "/api/cart", "Referer", tc.referer)
			assert.Equal(t, []string{tc.want}, urls(site.events()))
		})
	}
}

func TestRuleWithoutRefererPageIgnoresTheReferer(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{{Route: "POST /api/cart"}}}.open(t, muxOf("POST /api/cart"))
	site.do(t, "POST", "/api/cart", "Referer", "https://www.example.org/shoes")
	assert.Equal(t, []string{shopURL + "/api/cart"}, urls(site.events()))
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
