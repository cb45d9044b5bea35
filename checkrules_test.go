package footfall_test

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestCheckRulesFindsRoutesThatAreNotRegistered(t *testing.T) {
	t.Parallel()
	mux := muxOf(
		"GET /{$}", "GET /pricing", "POST /checkout", "/account", "GET /products/{id}", "GET /products/new",
		"GET /files/{rest...}", "/docs/", "/api/", "blog.example.com/posts", "GET blog.example.com/about",
		"GET /only-blog", "GET /a%2Fb", "GET /größe", "PATCH /users/{id}/cards/{card}", "GET /shops/{shop}/",
	)
	for name, tc := range map[string]struct {
		route string
		want  bool
	}{
		"a route":                       {"GET /pricing", true},
		"a typo":                        {"GET /princing", false},
		"a typo in the method":          {"POST /pricing", false},
		"a lower-case method":           {"get /pricing", false},
		"no method":                     {"/checkout", true},
		"no method, a rare one":         {"/users/{id}/cards/{card}", true},
		"a method of a route under any": {"DELETE /account", true},
		"HEAD of a GET":                 {"HEAD /pricing", true},
		"a wildcard":                    {"GET /products/{id}", true},
		"a wildcard of another name":    {"GET /products/{product}", false},
		"a neighbour of a wildcard":     {"GET /products/new", true},
		"a value of a wildcard":         {"GET /products/42", false},
		"the end of the root":           {"GET /{$}", true},
		"the root's subtree":            {"GET /", false},
		"the rest of a path":            {"GET /files/{rest...}", true},
		"a subtree":                     {"/docs/", true},
		"a subtree below a wildcard":    {"GET /shops/{shop}/", true},
		"below a mount":                 {"POST /api/v1/users/{id}", true},
		"beside a mount":                {"POST /apiv1", false},
		"a host":                        {"blog.example.com/posts", true},
		"a host and a method":           {"GET blog.example.com/about", true},
		"a typo in the host":            {"blog.example.org/posts", false},
		"a host whose mux has none":     {"GET shop.example.com/pricing", false}, // never applies
		"an escaped path":               {"GET /a%2Fb", true},
		"letters of other languages":    {"GET /größe", true},
		"any route":                     {footfall.AnyRoute, true},
		"no route":                      {footfall.NoRoute, true},
		"a tab":                         {"GET\t/pricing", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkRules(t, mux, footfall.Rule{Route: tc.route})
			if tc.want {
				assert.NoError(t, err)
				return
			}
			var field *footfall.FieldError
			require.ErrorAs(t, err, &field)
			assert.Contains(t, field.Field, "Rule{")
			assert.Contains(t, field.Reason, "not registered")
		})
	}
}

func checkRules(t *testing.T, next http.Handler, rules ...footfall.Rule) error {
	t.Helper()
	return footfalltest.New(t, quiet).CheckRules(next, rules...)
}

// A mux does not list its hosts. A rule without a host is reported if every route of its path
// has one, although the rule applies.
func TestRuleWithoutAHostAppliesToRoutesWithAHost(t *testing.T) {
	t.Parallel()
	mux := muxOf("127.0.0.1/posts")
	rule := footfall.Rule{Route: "/posts", Event: "posts_viewed"}
	assert.Error(t, checkRules(t, mux, rule))
	site := setup{rules: []footfall.Rule{rule}}.open(t, mux)
	site.get(t, "/posts")
	assert.Equal(t, []string{"posts_viewed"}, site.names())
}

func TestCheckRulesFindsATypoDespiteACatchAll(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{"/", "/{path...}", "GET /{path...}"} {
		assert.Error(t, checkRules(t, muxOf("GET /pricing", rest), footfall.Rule{Route: "GET /princing"}), rest)
		assert.NoError(t, checkRules(t, muxOf("GET /pricing", rest), footfall.Rule{Route: "GET /pricing"}, footfall.Rule{Route: rest}), rest)
	}
	assert.NoError(t, checkRules(t, muxOf("/docs/"), footfall.Rule{Route: "GET /docs/start"}), "may be below a mux that is mounted")
}

func TestCheckRulesReportsInvalidPatterns(t *testing.T) {
	t.Parallel()
	for _, route := range []string{"GET /{", "GET /{a}/{a}", "GET /{rest...}/x", "G@T /a"} {
		err := checkRules(t, muxOf("/api/"), footfall.Rule{Route: route})
		assert.ErrorContains(t, err, "not a pattern of net/http", route)
	}
}

func TestCheckRulesReportsEachMistake(t *testing.T) {
	t.Parallel()
	err := checkRules(t, muxOf("GET /pricing"),
		footfall.Rule{Route: "GET /princing"}, footfall.Rule{Route: "GET /pricing"}, footfall.Rule{Route: "POST /chekout"})
	require.Error(t, err)
	assert.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 2)
	assert.Contains(t, err.Error(), "/princing")
	assert.Contains(t, err.Error(), "/chekout")
}

func TestCheckRulesAcceptsHandlersWithoutARouteLookup(t *testing.T) {
	t.Parallel()
	assert.NoError(t, checkRules(t, http.NotFoundHandler(), footfall.Rule{Route: "GET /nowhere"}))
	assert.NoError(t, checkRules(t, nil, footfall.Rule{Route: "GET /nowhere"}))
	assert.NoError(t, checkRules(t, muxOf()))
}

// muxLike is another router with the Handler method of http.ServeMux.
type muxLike struct{ mux *http.ServeMux }

func (m muxLike) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }
func (m muxLike) Handler(r *http.Request) (http.Handler, string)   { return m.mux.Handler(r) }

func TestCheckRulesAsksAnyRouterWithAHandlerMethod(t *testing.T) {
	t.Parallel()
	handler := muxLike{muxOf("GET /pricing")}
	assert.NoError(t, checkRules(t, handler, footfall.Rule{Route: "GET /pricing"}))
	assert.Error(t, checkRules(t, handler, footfall.Rule{Route: "GET /princing"}))
}

func FuzzCheckRulesAndMiddlewareNeverPanic(f *testing.F) {
	for _, route := range []string{"", " ", "/", "GET", "GET ", "{", "/{", "/{}", "/{$}", "/{a...}", "/{a...}/b", "a/b", "*", "-", "\x00 /\xff", "/%zz", "GET /a b"} {
		f.Add(route, "event")
	}
	tracker := footfalltest.New(f, quiet)
	mux := muxOf("GET /pricing", "/docs/")
	f.Fuzz(func(t *testing.T, route, event string) {
		rule := footfall.Rule{Route: route, Event: event, PathProps: []string{"id"}}
		_ = tracker.CheckRules(mux, rule)
		tracker.Middleware(rule)(mux)
	})
}

func TestCheckRoutesNamesTheNearestRoute(t *testing.T) {
	t.Parallel()
	const withPrefix = ": give the rules its prefix, as footfall.Prefix("
	routes := []string{
		"GET /health", "GET /pricing", "POST /checkout", "GET /users/:id", "GET /users/:id/cards", "DELETE /users/:id/cards/:card",
		"GET /api/articles", "POST /api/articles", "GET /api/articles/:slug", "GET /article", "/hooks", "GET /shops/:shop/stock",
		"GET example.com/terms", "GET /v2/status", "GET /v1/status",
	}
	for name, c := range map[string]struct{ route, nearest string }{
		"a typo":                                 {"GET /princing", "GET /pricing"},
		"another method":                         {"PUT /checkout", "POST /checkout"},
		"no method":                              {"/chekout", "POST /checkout"},
		"a name of a wildcard":                   {"GET /users/:user", "GET /users/:id"},
		"a wildcard as net/http writes it":       {"GET /users/{id}/cards", "GET /users/:id/cards"},
		"a value of a wildcard":                  {"GET /users/7", "GET /users/:id"},
		"a typo below wildcards":                 {"DELETE /users/:id/card/:card", "DELETE /users/:id/cards/:card"},
		"a segment too many":                     {"GET /v1/users/:id/cards", "GET /users/:id/cards"},
		"prefixes too many":                      {"GET /api/v3/pricing", "GET /pricing"},
		"a host":                                 {"GET example.org/terms", "GET example.com/terms"},
		"below a prefix":                         {"GET /articles/:slug", `GET /api/articles/:slug` + withPrefix + `"/api", rules...) does`},
		"below a prefix, although a typo nearer": {"GET /articles", `GET /api/articles` + withPrefix + `"/api", rules...) does`},
		"below a prefix with another method":     {"DELETE /articles/:slug", "GET /api/articles/:slug"},
		"below a prefix, any method":             {"/articles/:slug", `GET /api/articles/:slug` + withPrefix + `"/api", rules...) does`},
		"below a wildcard":                       {"GET /stock", `GET /shops/:shop/stock` + withPrefix + `"/shops/:shop", rules...) does`},
		"below two prefixes: the first":          {"GET /status", `GET /v1/status` + withPrefix + `"/v1", rules...) does`},
		"not at a slash":                         {"GET icles", ""}, // has no path
		"nothing like it":                        {"GET /sitemap.xml", ""},
		"the root":                               {"GET /", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := footfalltest.New(t, quiet).CheckRoutes(routes, footfall.Rule{Route: c.route})
			require.Error(t, err)
			if c.nearest == "" {
				assert.NotContains(t, err.Error(), "nearest")
				return
			}
			assert.EqualError(t, err, `footfall: Rule{"`+c.route+`"}.Route: not registered in the router; the nearest is `+c.nearest)
		})
	}
	assert.EqualError(t, footfalltest.New(t, quiet).CheckRoutes(nil, footfall.Rule{Route: "GET /a"}),
		`footfall: Rule{"GET /a"}.Route: not registered in the router`)
}

func TestCheckRulesSaysWhatTheMuxAnswers(t *testing.T) {
	t.Parallel()
	mux := muxOf("POST /checkout", "GET /products/{id}", "GET /files/{path...}", "PUT /users/{id}", "GET /docs/")
	const missing = "not registered in the mux, which "
	for route, reason := range map[string]string{
		"GET /princing":         missing + "answers 404 there (register routes before wrapping the mux in the middleware)",
		"GET /checkout":         missing + "has the route POST /checkout there",
		"GET /products/new":     missing + "has the route GET /products/{id} there",
		"GET /products/{slug}":  missing + "has the route GET /products/{id} there",
		"GET /users/{user}":     missing + "has the route PUT /users/{id} there",
		"DELETE /products/{id}": missing + "has the route GET /products/{id} there",
		"POST /checkout/":       missing + "has the route POST /checkout",
		"GET /docs":             missing + "has the route GET /docs/ there", // the mux redirects to it
		"GET /docs/*":           "* is not a wildcard of net/http: use {name} or {name...}",
		"GET /users/:id":        ":id is not a wildcard of net/http: use {name} or {name...}",
	} {
		assert.EqualError(t, checkRules(t, mux, footfall.Rule{Route: route}), `footfall: Rule{"`+route+`"}.Route: `+reason)
	}
}

func TestPrefixPutsRulesBelowAPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, route, want string }{
		{"/api", "GET /users/{id}", "GET /api/users/{id}"},
		{"/api/", "/users", "/api/users"},
		{"api/v2", "GET /users", "GET /api/v2/users"},
		{"/shops/{shop}", "GET /", "GET /shops/{shop}/"},
		{"/api", "GET /{$}", "GET /api/{$}"},
		{"/api", "GET example.com/users", "GET example.com/api/users"},
		{"/api", "/shop.v1.CartService/Add", "/api/shop.v1.CartService/Add"},
		{"", "GET /users", "GET /users"},
		{"/", "GET /users", "GET /users"},
		{"/api", footfall.AnyRoute, footfall.AnyRoute},
		{"/api", footfall.NoRoute, footfall.NoRoute},
		{"/api", "users", "users"}, // CheckRules says that it has no path
	} {
		rules := []footfall.Rule{{Route: c.route, Event: "seen", PathProps: []string{"id"}}}
		assert.Equal(t, []footfall.Rule{{Route: c.want, Event: "seen", PathProps: []string{"id"}}}, footfall.Prefix(c.prefix, rules...), c.prefix)
		assert.Equal(t, c.route, rules[0].Route, "the rules given are left alone")
	}
	assert.Empty(t, footfall.Prefix("/api"))
}

func TestRulesBelowAPrefixMakeEvents(t *testing.T) {
	t.Parallel()
	rules := footfall.Prefix("/api/v2", footfall.Rule{Route: "GET /users/{id}", Event: "user_viewed", PathProps: []string{"id"}})
	mux := muxOf("GET /api/v2/users/{id}")
	require.NoError(t, checkRules(t, mux, rules...))
	site := setup{rules: rules}.open(t, mux)
	site.get(t, "/api/v2/users/7")
	assert.Equal(t, []string{"user_viewed"}, site.names())
}

func FuzzCheckRoutesNamesAnyRoute(f *testing.F) {
	for _, route := range []string{"", "/", "GET /", "//", "GET /a/{b}/:c", "/ü", "x", "GET  a/\xff"} {
		f.Add(route, "GET /users/:id")
	}
	tracker := footfalltest.New(f, quiet)
	f.Fuzz(func(t *testing.T, registered, route string) {
		_ = tracker.CheckRoutes([]string{registered, "GET /users/{id}"}, footfall.Rule{Route: route})
	})
}

func TestCheckRulesNamesRoutesThatShareAnAutomaticName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules []footfall.Rule
		want  string // the error without its beginning
	}{
		"a wildcard and a word": {[]footfall.Rule{{Route: "GET /users/{id}"}, {Route: "GET /users/id"}},
			`{"GET /users/id"}.Event: empty, and GET /users/{id} and GET /users/id have the same automatic name, get_users_id`},
		"an underscore and a slash": {[]footfall.Rule{{Route: "/a/b_c"}, {Route: "/a/b/c"}},
			`{"/a/b/c"}.Event: empty, and /a/b_c and /a/b/c have the same automatic name, get_a_b_c`},
		"any method and one": {[]footfall.Rule{{Route: "POST /a-b"}, {Route: "/a.b"}},
			`{"/a.b"}.Event: empty, and POST /a-b and /a.b have the same automatic name, post_a_b`},
		"the root": {[]footfall.Rule{{Route: "GET /{$}"}, {Route: "GET /root"}},
			`{"GET /root"}.Event: empty, and GET /{$} and GET /root have the same automatic name, get_root`},
		"a subtree": {[]footfall.Rule{{Route: "GET /docs/"}, {Route: "GET /docs/any"}},
			`{"GET /docs/any"}.Event: empty, and GET /docs/ and GET /docs/any have the same automatic name, get_docs_any`},
		"the default site by its id": {[]footfall.Rule{{Route: "/a/b_c", SiteID: footfalltest.SiteID}, {Route: "/a/b/c"}},
			`{"/a/b/c"}.Event: empty, and /a/b_c and /a/b/c have the same automatic name, get_a_b_c`},
		"no route": {[]footfall.Rule{{Route: footfall.NoRoute}, {Route: "/no-route"}},
			`{"/no-route"}.Event: empty, and - and /no-route have the same automatic name, get_no_route`},
		"a prefix that is left out": {[]footfall.Rule{{Route: "GET /users"}, {Route: "GET /api/users", TrimPrefix: "/api"}},
			`{"GET /api/users"}.Event: empty, and GET /users and GET /api/users have the same automatic name, get_users`},
		"other methods":                 {[]footfall.Rule{{Route: "GET /users/{id}"}, {Route: "PUT /users/id"}}, ""},
		"other sites":                   {[]footfall.Rule{{Route: "GET /users/{id}", SiteID: "a"}, {Route: "GET /users/id", SiteID: "b"}}, ""},
		"an event of one":               {[]footfall.Rule{{Route: "GET /users/{id}"}, {Route: "GET /users/id", Event: "own_profile_viewed"}}, ""},
		"no event of one":               {[]footfall.Rule{{Route: "GET /users/{id}"}, {Route: "GET /users/id", Event: footfall.NoEvent}}, ""},
		"an event of both":              {[]footfall.Rule{{Route: "GET /a", Event: "seen"}, {Route: "GET /b", Event: "seen"}}, ""},
		"a slash at the end":            {[]footfall.Rule{{Route: "GET /docs"}, {Route: "GET /docs/{$}"}}, ""},
		"rules of one route":            {[]footfall.Rule{{Route: "GET /a", Status: footfall.Success}, {Route: "GET /a", Status: footfall.Failure}}, ""},
		"a route with and without host": {[]footfall.Rule{{Route: "GET example.com/a"}, {Route: "GET /a"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkRules(t, nil, c.rules...)
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, "footfall: Rule"+c.want+": add a rule with an Event for one of them")
		})
	}
}

func TestCheckRoutesNamesRegisteredRoutesThatShareAnAutomaticName(t *testing.T) {
	t.Parallel()
	anyRoute := footfall.Rule{Route: footfall.AnyRoute}
	routes := []string{"GET /users/:id", "GET /users/id", "GET /a/b_c", "/a/b/c", "GET /files/*", "GET /files", "GET /files/any", "HEAD /users/:id", "HEAD /users/id", "GET /docs", "GET /docs/", "GET /csp-report", "GET /csp_report"}
	check := func(rules ...footfall.Rule) error { return footfalltest.New(t, quiet).CheckRoutes(routes, rules...) }
	err := check(anyRoute)
	require.Error(t, err)
	for _, want := range []string{"/a/b/c and GET /a/b_c", "GET /users/:id and GET /users/id", "GET /files/* and GET /files/any"} {
		assert.ErrorContains(t, err, `Rule{"*"}.Event: empty, and `+want+" have the same automatic name")
	}
	assert.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 3)
	for _, problem := range err.(interface{ Unwrap() []error }).Unwrap() {
		assert.IsType(t, &footfall.FieldError{}, problem)
	}
	assert.NoError(t, check(anyRoute,
		footfall.Rule{Route: "GET /users/id", Event: "own_profile_viewed"}, footfall.Rule{Route: "/a/b/c", Event: footfall.NoEvent},
		footfall.Rule{Route: "GET /files/*", Event: "file_viewed"}))
	assert.ErrorContains(t, check(anyRoute, footfall.Rule{Route: "GET /users/id"}), "GET /users/:id and GET /users/id have", "a rule without an Event names it alike")
	assert.NoError(t, check(footfall.Rule{Route: footfall.AnyRoute, Event: "pageview"}))
	assert.NoError(t, check(footfall.Rule{Route: "GET /users/:id"}), "no event is made of the other")
}

func TestCheckRulesRefusesWhatEveryEventWouldExceed(t *testing.T) {
	t.Parallel()
	many := make([]footfall.Prop, 99)
	for i := range many {
		many[i] = footfall.P(strconv.Itoa(i), i)
	}
	wildcard := strings.Repeat("w", 301)
	for want, r := range map[string]footfall.Rule{
		"name: longer than 120 characters (Config.Limits.Name)":  {Route: "GET /a", Event: strings.Repeat("ü", 121)},
		"props: 101 entries are more than 100":                   {Route: "GET /{a}", Props: many, StatusProp: "s", PathProps: []string{"a"}},
		`…"]: key longer than 300 bytes (Config.Limits.PropKey)`: {Route: "GET /{" + wildcard + "}", PathProps: []string{wildcard}},
		`props["k"]: longer than 2000 bytes`:                     {Route: "GET /a", Props: []footfall.Prop{footfall.P("k", strings.Repeat("x", 2001))}},
	} {
		assert.ErrorContains(t, checkRules(t, nil, r), want)
	}
	assert.NoError(t, checkRules(t, nil, footfall.Rule{Route: "GET /{a}", Event: strings.Repeat("ü", 120), Props: many, PathProps: []string{"a"}}))
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
