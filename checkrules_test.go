package footfall_test

import (
	"net/http"
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

// A mux cannot be asked for its hosts: a rule that leaves the host open is reported
// where every route of its path has one, and applies all the same.
func TestRuleWithoutAHostAppliesToRoutesThatHaveOneAlthoughTheMuxCannotTell(t *testing.T) {
	t.Parallel()
	mux := muxOf("127.0.0.1/posts")
	rule := footfall.Rule{Route: "/posts", Event: "posts_viewed"}
	assert.Error(t, checkRules(t, mux, rule))
	site := setup{rules: []footfall.Rule{rule}}.open(t, mux)
	site.get(t, "/posts")
	assert.Equal(t, []string{"posts_viewed"}, site.names())
}

func TestCheckRulesFindsATypoBesideARouteForAllTheRest(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{"/", "/{path...}", "GET /{path...}"} {
		assert.Error(t, checkRules(t, muxOf("GET /pricing", rest), footfall.Rule{Route: "GET /princing"}), rest)
		assert.NoError(t, checkRules(t, muxOf("GET /pricing", rest), footfall.Rule{Route: "GET /pricing"}, footfall.Rule{Route: rest}), rest)
	}
	assert.NoError(t, checkRules(t, muxOf("/docs/"), footfall.Rule{Route: "GET /docs/start"}), "may be below a mux that is mounted")
}

func TestCheckRulesReportsWhatIsNoPattern(t *testing.T) {
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

func TestCheckRulesSaysNothingOfHandlersThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	assert.NoError(t, checkRules(t, http.NotFoundHandler(), footfall.Rule{Route: "GET /nowhere"}))
	assert.NoError(t, checkRules(t, nil, footfall.Rule{Route: "GET /nowhere"}))
	assert.NoError(t, checkRules(t, muxOf()))
}

// muxLike is a router of another make that can be asked as http.ServeMux can.
type muxLike struct{ mux *http.ServeMux }

func (m muxLike) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }
func (m muxLike) Handler(r *http.Request) (http.Handler, string)   { return m.mux.Handler(r) }

func TestCheckRulesAsksWhateverCanBeAsked(t *testing.T) {
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
