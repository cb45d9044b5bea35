package footfall_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestAnyRouteNamesEventsByMethodAndPattern(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ pattern, request, want string }{
		"the root":                {"GET /{$}", "GET /", "get_root"},
		"the root's subtree":      {"/", "GET /anything/at/all", "get_any"},
		"the subtree's root":      {"/", "GET /", "get_root"},
		"a path":                  {"GET /pricing", "GET /pricing", "get_pricing"},
		"the request's method":    {"/pricing", "PUT /pricing", "put_pricing"},
		"a wildcard by its name":  {"GET /products/{id}", "GET /products/42", "get_products_id"},
		"two wildcards":           {"DELETE /users/{user}/cards/{card}", "DELETE /users/jane/cards/4111", "delete_users_user_cards_card"},
		"the rest of a path":      {"GET /files/{rest...}", "GET /files/a/secret.txt", "get_files_rest"},
		"a subtree":               {"POST /docs/", "POST /docs/a/b", "post_docs_any"},
		"the root of a subtree":   {"POST /docs/", "POST /docs/", "post_docs"},
		"a host is not named":     {"example.com/pricing", "GET /pricing", "get_pricing"},
		"capitals":                {"GET /API/V2", "GET /API/V2", "get_api_v2"},
		"a dash and a dot":        {"GET /robots-2.txt", "GET /robots-2.txt", "get_robots_2_txt"},
		"other letters":           {"GET /preise/größe", "GET /preise/gr%C3%B6%C3%9Fe", "get_preise_gr__e"},
		"signs only leave no gap": {"GET /a/~/b", "GET /a/~/b", "get_a_b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := setup{rules: []footfall.Rule{{Route: footfall.AnyRoute}}}.open(t, muxOf(tc.pattern))
			method, path, _ := strings.Cut(tc.request, " ")
			r := site.request(t, method, path, nil)
			r.Host = "example.com"
			resp, err := site.Client().Do(r)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, []string{tc.want}, site.names())
		})
	}
}

func TestAnyRouteMeansRoutesThatNoOtherRuleNames(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{
		{Route: footfall.AnyRoute},
		{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Status5xx},
	}}.open(t, muxOf("POST /checkout", "GET /pricing"))
	site.do(t, "POST", "/checkout") // its rule does not match a 200
	site.get(t, "/pricing")
	site.get(t, "/nowhere")
	site.do(t, "PUT", "/pricing")
	site.do(t, "HEAD", "/pricing")
	assert.Equal(t, []string{"get_pricing"}, site.names())
}

func TestAnyRouteWithAnEventNamesThemAllAlike(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{{Route: footfall.AnyRoute, Event: "pageview"}}}.open(t, muxOf("GET /a", "GET /b"))
	site.get(t, "/a")
	site.get(t, "/b")
	assert.Equal(t, []string{"pageview", "pageview"}, site.names())
}

func TestNoRouteMeans404And405(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules []footfall.Rule
		want  []string
	}{
		"not asked": {[]footfall.Rule{{Route: footfall.AnyRoute}}, []string{"get_found", "get_found"}},
		"automatic names": {[]footfall.Rule{{Route: footfall.NoRoute}},
			[]string{"get_no_route", "get_no_route", "post_no_route"}},
		"a name": {[]footfall.Rule{{Route: footfall.NoRoute, Event: "not_found", Status: footfall.Status4xx}},
			[]string{"not_found", "not_found", "not_found"}},
		"a class that cannot be": {[]footfall.Rule{{Route: footfall.NoRoute, Status: footfall.Success}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := muxOf("GET /found")
			mux.Handle("GET /found/but-missing", answering(http.StatusNotFound))
			site := setup{rules: append(tc.rules, footfall.Rule{Route: "GET /found/but-missing", Event: "get_found"})}.open(t, mux)
			if name != "not asked" {
				site.get(t, "/users/jane@example.com")
				site.get(t, "/users/joe")
				site.do(t, "POST", "/found")
				site.do(t, "HEAD", "/nowhere")
				assert.Equal(t, tc.want, namesOrNil(site))
				return
			}
			site.get(t, "/nowhere")
			site.do(t, "POST", "/found")
			site.get(t, "/found")
			site.get(t, "/found/but-missing") // a 404 by the route's handler
			assert.Equal(t, tc.want, namesOrNil(site))
		})
	}
}

func namesOrNil(s *siteUnderTest) []string {
	if names := s.names(); len(names) > 0 {
		return names
	}
	return nil
}

// rawly sends one request, to the shop if it has no host, and waits for the end of the answer.
func (s *siteUnderTest) rawly(t *testing.T, lines ...string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.Listener.Addr().String(), 10*time.Second)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	if len(lines) == 1 {
		lines = append(lines, "Host: shop.example.com")
	}
	_, err = fmt.Fprintf(conn, "%s\r\nConnection: close\r\n\r\n", strings.Join(lines, "\r\n"))
	require.NoError(t, err)
	text, err := io.ReadAll(bufio.NewReader(conn))
	require.NoError(t, err)
	return string(text)
}

func TestNamesNeverHaveTheRawPath(t *testing.T) {
	t.Parallel()
	mux := muxOf("/users/{id}/", "GET /cards/{card}", "GET /docs/")
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}, {Route: "/users/{id}/"}}
	for _, withRule := range []bool{false, true} {
		for name, line := range map[string]string{
			"a redirect to the subtree":            "GET /users/secret HTTP/1.1",
			"a redirect to the subtree of CONNECT": "CONNECT /users/secret HTTP/1.1",
			"a redirect to the clean path":         "GET /users/./secret/../secret/x HTTP/1.1",
			"a wildcard":                           "GET /cards/secret HTTP/1.1",
			"nothing found":                        "GET /secret HTTP/1.1",
			"another method":                       "POST /cards/secret HTTP/1.1",
			"a whole URL as target":                "GET http://secret.example.com/secret HTTP/1.1",
			"an authority as target":               "CONNECT secret.example.com:443 HTTP/1.1",
			"an encoded path":                      "GET /users/%73ecret HTTP/1.1",
		} {
			t.Run(fmt.Sprintf("%s, with a rule of the route %t", name, withRule), func(t *testing.T) {
				t.Parallel()
				s := setup{rules: rules[:2]}
				if withRule {
					s.rules = rules
				}
				site := s.open(t, mux)
				site.rawly(t, line)
				for _, name := range site.names() {
					assert.NotContains(t, name, "secret")
				}
			})
		}
	}
}

func TestNamesNeverContainANonStandardMethod(t *testing.T) {
	t.Parallel()
	site := setup{rules: []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}}}.open(t, muxOf("/any"))
	site.rawly(t, "SECRET /any HTTP/1.1")
	site.rawly(t, "SECRET /nowhere HTTP/1.1")
	for _, name := range site.names() {
		assert.NotContains(t, name, "secret", "any client could fill the dashboard with names")
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

func TestBadRulesAreLoggedAndLeftOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bad  footfall.Rule
		want string // in the log
	}{
		"no route":             {footfall.Rule{Event: "it"}, "empty"},
		"no path":              {footfall.Rule{Route: "GET pricing"}, "has no path"},
		"method only":          {footfall.Rule{Route: "GET "}, "has no path"},
		"an open wildcard":     {footfall.Rule{Route: "GET /products/{id"}, "not a pattern"},
		"two wildcards alike":  {footfall.Rule{Route: "GET /{a}/{a}"}, "not a pattern"},
		"a bad method":         {footfall.Rule{Route: "G@T /good"}, "not a pattern"},
		"a blank name":         {footfall.Rule{Route: "GET /good", Event: "  "}, "empty"},
		"a broken name":        {footfall.Rule{Route: "GET /good", Event: "\xff"}, "UTF-8"},
		"NaN":                  {footfall.Rule{Route: "GET /good", Props: []footfall.Prop{footfall.P("n", math.NaN())}}, "NaN"},
		"a prop without key":   {footfall.Rule{Route: "GET /good", Props: []footfall.Prop{{}}}, "key is empty"},
		"an empty path prop":   {footfall.Rule{Route: "GET /good", PathProps: []string{""}}, "not a wildcard"},
		"a misspelt path prop": {footfall.Rule{Route: "GET /good/{id}", PathProps: []string{"idd"}}, "not a wildcard"},
		"a huge prop":          {footfall.Rule{Route: "GET /good", Props: []footfall.Prop{footfall.P("n", strings.Repeat("x", 40_000))}}, "Limits.PropText"},
		"a single status":      {footfall.Rule{Route: "GET /good", Status: http.StatusOK}, "not a set of classes"},
		"a status of no class": {footfall.Rule{Route: "GET /good", Status: 64}, "not a set of classes"},
		"a typo":               {footfall.Rule{Route: "GET /godo", Event: "it"}, "not registered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log journal
			good := footfall.Rule{Route: "GET /good", Event: "good"}
			site := setup{rules: []footfall.Rule{tc.bad, good}, config: log.into}.open(t, muxOf("GET /good"))
			site.get(t, "/good")
			assert.Equal(t, []string{"good"}, site.names())
			assert.Contains(t, log.String(), tc.want)
			assert.Equal(t, 1, strings.Count(log.String(), "level=ERROR"), "one line for one mistake:\n%s", log.String())
		})
	}
}

func TestWrongRulesAreReportedAndTheOthersKept(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	rules := []footfall.Rule{
		{Route: ""},
		{Route: "POST /checkout", Event: "checkout_completed"},
		{Route: "GET pricing"},
	}
	err := tracker.CheckRoutes([]string{"POST /checkout"}, rules...)
	require.Error(t, err)
	assert.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 2)
	assert.Contains(t, err.Error(), `Rule{""}.Route`)
	assert.Contains(t, err.Error(), `Rule{"GET pricing"}.Route`)
	tracker.Rules(rules...).Observe(&footfall.Observation{Method: "POST", Route: "POST /checkout", Status: 200})
	assert.Equal(t, []string{"checkout_completed"}, tracker.Names())
}

func TestCheckRoutesFindsRulesThatNoRouterHas(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	registered := []string{"GET /users/:id", "/any", "POST /shop.Cart/Add", "shop.example.com/cart"}
	for route, ok := range map[string]bool{
		"GET /users/:id": true, "/users/:id": true, "POST /users/:id": false, "GET /users/:name": false,
		"GET shop.example.com/cart": true, "/cart": true, "GET else.example.com/cart": false,
		"GET /any": true, "/any": true, "/shop.Cart/Add": true, "/shop.Cart/Remove": false,
		footfall.AnyRoute: true, footfall.NoRoute: true,
	} {
		assert.Equal(t, ok, tracker.CheckRoutes(registered, footfall.Rule{Route: route}) == nil, route)
	}
}

func TestPathPropsMayNameEveryWildcardThatARouterHas(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	for route, names := range map[string][]string{
		"GET /users/{id}/files/{rest...}": {"id", "rest"},
		"GET /news/{year}-{month}":        {"year", "month"},
		"GET /items/{id:[0-9]{3}}.json":   {"id"},
		"GET /reports/year_:year":         {"year"},
		"GET /files/*path":                {"path"},
		"GET /files/*":                    {"*"},
		"GET /a/:b?":                      {"b"},
		"GET /a/:b<int;min(1)>/c":         {"b"},
		"GET {sub}.example.com/x":         {"sub"},
	} {
		assert.NoError(t, tracker.CheckRoutes([]string{route}, footfall.Rule{Route: route, PathProps: names}), route)
		assert.Error(t, tracker.CheckRoutes([]string{route}, footfall.Rule{Route: route, PathProps: []string{"other"}}), route)
	}
}

func TestLongAutomaticNamesFitAndStayDistinct(t *testing.T) {
	t.Parallel()
	begin := "/" + strings.Repeat("shops/of_a_town/", 12)
	routes := []string{"GET " + begin + "one", "POST " + begin + "one", "GET " + begin + "two", "GET " + begin + "docs/", "GET /short"}
	for _, limit := range []int{20, 120, 500} {
		site := setup{
			rules:  []footfall.Rule{{Route: footfall.AnyRoute}},
			config: func(c *footfall.Config) { c.Limits.Name = limit },
		}.open(t, muxOf(routes...))
		for _, path := range []string{"one", "two", "docs/", "docs/x", "docs/y"} {
			site.get(t, begin+path)
		}
		site.do(t, "POST", begin+"one")
		site.get(t, "/short")
		names := site.names()
		distinct := make(map[string]bool)
		for _, name := range names {
			distinct[name] = true
			assert.LessOrEqual(t, len(name), limit)
			assert.Regexp(t, "^(get|post)_sho", name)
		}
		assert.Len(t, names, 7)
		assert.Len(t, distinct, 6, "docs/x and docs/y are one route: %v", names)
		assert.Zero(t, site.tracker.Stats().Invalid)
		assert.Contains(t, names, "get_short")
	}
}

// Goals and reports refer to names, so a new version must not change them.
func TestALongAutomaticNameNeverChanges(t *testing.T) {
	t.Parallel()
	route := "GET /" + strings.Repeat("a_route_that_is_long/", 6) + "end"
	site := setup{rules: []footfall.Rule{{Route: footfall.AnyRoute}}}.open(t, muxOf(route))
	site.get(t, strings.TrimPrefix(route, "GET "))
	assert.Equal(t, []string{"get_a_route_that_is_long_a_route_that_is_long_a_route_that_is_long_a_route_that_is_long_a_route_that_is_long_a_346a305d"}, site.names())
}
