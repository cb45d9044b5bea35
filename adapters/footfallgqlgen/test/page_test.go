package footfallgqlgen_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallgqlgen"
	"github.com/footfall-dev/footfall/footfalltest"
)

func newTracker(t *testing.T, with ...func(*footfall.Config)) *footfalltest.Tracker {
	t.Helper()
	return footfalltest.New(t, with...)
}

// direct sends a query through the handler without a server.
func direct(t *testing.T, h http.Handler, query string, header ...string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "https://shop.example.com/graphql", strings.NewReader(`{"query":"`+query+`"}`))
	r.Header.Set("Content-Type", jsonType)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}

func TestThePageIsTheRequestOrTheOneThatTheRuleNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		page   footfall.PageSource
		header string
		want   string
	}{
		"path":     {footfall.PagePath, "", "https://shop.example.com/graphql"},
		"route":    {footfall.PageRoute, "", "https://shop.example.com/Products"},
		"referer":  {footfall.PageReferer, "Referer", "https://shop.example.com/tea"},
		"header":   {0, "X-Page", "https://shop.example.com/tea"},
		"no value": {footfall.PageReferer, "", "https://shop.example.com/graphql"},
	} {
		tracker := newTracker(t, func(c *footfall.Config) { c.PageHeader, c.Hosts = "X-Page", []string{"shop.example.com"} })
		server := footfallgqlgen.Middleware(tracker.Tracker, footfall.Rule{Route: "query Products", Event: "viewed", Page: tc.page})(newServer(new(atomic.Int32)))
		direct(t, server, "query Products {products}", tc.header, "https://shop.example.com/tea")
		require.Len(t, tracker.Events(), 1, name)
		assert.Equal(t, tc.want, tracker.Events()[0].URL, name)
	}
}

func TestSkipAndPropsOfGetTheRequest(t *testing.T) {
	t.Parallel()
	tracker := newTracker(t, func(c *footfall.Config) {
		c.Skip = func(r *http.Request) bool { return r.URL.Path != "/graphql" || r.Header.Get("X-Robot") != "" }
	})
	type key struct{}
	rule := everything
	rule.PropsOf = func(r *http.Request) []footfall.Prop {
		return []footfall.Prop{footfall.P("plan", r.Context().Value(key{}).(string)), footfall.P("method", r.Method)}
	}
	server := footfallgqlgen.Middleware(tracker.Tracker, rule)(newServer(new(atomic.Int32)))
	above := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := footfall.WithSite(context.WithValue(r.Context(), key{}, "pro"), "site_2")
		server.ServeHTTP(w, r.WithContext(ctx))
	})
	direct(t, above, "query Seen {products}")
	direct(t, above, "query Skipped {products}", "X-Robot", "1")
	require.Equal(t, []string{"query_seen"}, tracker.Names())
	assert.Equal(t, "site_2", tracker.Events()[0].SiteID)
	assert.Equal(t, map[string]any{"plan": "pro", "method": "POST"}, tracker.Events()[0].Props)
}

// The server of the Middleware may be served by itself, which leaves only the headers.
func TestAServerWithoutTheHandlerOfTheMiddlewareMakesEvents(t *testing.T) {
	t.Parallel()
	tracker := newTracker(t)
	server := newServer(new(atomic.Int32))
	footfallgqlgen.Middleware(tracker.Tracker, footfall.Rule{Route: footfall.AnyRoute, Page: footfall.PageReferer}, footfall.Rule{Route: footfall.NoRoute})(server)
	assert.Contains(t, direct(t, server, "query Products {products}", "Referer", "https://shop.example.com/tea"), "tea")
	direct(t, server, "query Products {products}")
	direct(t, server, "{secret}")
	assert.Equal(t, []string{"query_products", "query_products", "post_no_route"}, tracker.Names())
	assert.Equal(t, "https://shop.example.com/tea", tracker.Events()[0].URL)
	assert.Equal(t, "https://example.com/", tracker.Events()[1].URL, "Config.DefaultURL")
}

// A request is counted once, by the rules of the adapter or by a middleware above.
func TestAMiddlewareAboveCountsOnlyWhatTheRulesHereDoNotName(t *testing.T) {
	t.Parallel()
	rule := footfall.Rule{Route: "query Products", Event: "products_viewed", Status: footfall.Success}
	failed := footfall.Rule{Route: "mutation Checkout", Event: "checkout_completed", Status: footfall.Success}
	for name, tc := range map[string]struct {
		outer []footfall.Rule
		query string
		want  []string
	}{
		"a named operation":        {[]footfall.Rule{everything}, "query Products {products}", []string{"products_viewed"}},
		"another status":           {[]footfall.Rule{everything}, `mutation Checkout {checkout(code: \"none\")}`, nil},
		"no rule":                  {[]footfall.Rule{everything}, "query Other {products}", []string{"post_graphql"}},
		"no operation":             {[]footfall.Rule{everything}, "{", []string{"post_graphql"}},
		"a rule for the route":     {[]footfall.Rule{{Route: "POST /graphql", Event: "asked"}}, "query Products {products}", []string{"products_viewed", "asked"}},
		"no event for the route":   {[]footfall.Rule{everything, {Route: "/graphql", Event: footfall.NoEvent}}, "query Other {products}", nil},
		"a middleware in between":  {[]footfall.Rule{everything}, "query Products {products}", []string{"products_viewed"}},
		"another tracker above it": {[]footfall.Rule{everything}, "query Products {products}", []string{"products_viewed", "post_graphql"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker, outer := newTracker(t), newTracker(t)
			mux := http.NewServeMux()
			var h http.Handler = footfallgqlgen.Middleware(tracker.Tracker, rule, failed)(newServer(new(atomic.Int32)))
			if name == "a middleware in between" {
				inner := h
				h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					inner.ServeHTTP(w, r.WithContext(footfall.WithSite(r.Context(), "site_2")))
				})
			}
			mux.Handle("/graphql", h)
			if name != "another tracker above it" {
				outer = tracker
			}
			direct(t, outer.Middleware(tc.outer...)(mux), tc.query)
			names := tracker.Names()
			if outer != tracker {
				names = append(names, outer.Names()...)
			}
			assert.ElementsMatch(t, tc.want, names)
		})
	}
}

func TestWrongRulesAreLoggedAndRefused(t *testing.T) {
	t.Parallel()
	schema := newSchema(new(atomic.Int32))
	tracker := newTracker(t).Tracker
	for route, reason := range map[string]string{
		"query Products":              "",
		"subscription StockChanged":   "",
		"\tmutation  checkout":        "",
		footfall.AnyRoute:             "",
		footfall.NoRoute:              "",
		"":                            "empty",
		"Products":                    "does not begin with query",
		"POST /query":                 "does not begin with query",
		"query":                       "has no name",
		"query /Products":             "has no name",
		"query 9":                     "has no name",
		"query Products { products }": "has no name",
		"Query Products":              "does not begin",
	} {
		var log footfalltest.Log
		logged := newTracker(t, func(c *footfall.Config) { c.Logger = log.Logger() })
		rule := footfall.Rule{Route: route, Event: "seen"}
		footfallgqlgen.Middleware(logged.Tracker, rule)(newServer(new(atomic.Int32)))
		err := footfallgqlgen.CheckRules(tracker, schema, rule)
		if reason == "" {
			assert.NoError(t, err, route)
			assert.Empty(t, log.String(), route)
		} else {
			assert.ErrorContains(t, err, reason, route)
			assert.Contains(t, log.String(), "Rule{", route)
		}
		assert.NoError(t, footfallgqlgen.CheckRules(nil, schema, rule))
	}
	err := footfallgqlgen.CheckRules(tracker, schema, footfall.Rule{Route: "query Products", Event: "a", Status: 128}, footfall.Rule{Route: "x"})
	assert.ErrorContains(t, err, `Rule{"query Products"}.Status`)
	assert.ErrorContains(t, err, `Rule{"x"}.Route`)
}
