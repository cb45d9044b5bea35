package echotest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
	"github.com/footfall-dev/footfall/footfalltest"
)

// Missing is an Echo with the route GET /api/known that is asked for GET /api/secret,
// POST /api/known and OPTIONS /api/known of the host example.com.
type Missing[E, M any] struct {
	Name  string
	Build func(e E, m M)
	Want  []string
}

func (s Subject[C, H, M, R, G, E]) nothing(C) error { return nil }

func (s Subject[C, H, M, R, G, E]) requestsWithoutRoute(t *testing.T) {
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}}
	both := []string{"get_no_route", "post_no_route"}
	ofGroup := both
	if !s.groupsRunForAll() {
		ofGroup = nil
	}
	known := func(e E, m M) { e.Use(m); e.GET("/api/known", s.nothing) }
	page := func(status int) H { return func(c C) error { return c.String(status, "a page") } }
	tests := append(s.Missing, []Missing[E, M]{
		{"they are asked for", known, both},
		{"with the middleware in Pre", func(e E, m M) { e.Pre(m); e.GET("/api/known", s.nothing) }, both},
		{"with the middleware on a group", func(e E, m M) { e.Group("/api", m).GET("/known", s.nothing) }, ofGroup},
		{"below a group with a wildcard", func(e E, m M) { e.Group("/:api", m).GET("/known", s.nothing) }, ofGroup},
		{"RouteNotFound answers 404", func(e E, m M) { known(e, m); e.RouteNotFound("/*", page(404)) }, both},
		{"RouteNotFound answers 200", func(e E, m M) { known(e, m); e.RouteNotFound("/*", page(200)) }, nil},
		{"a route at the path of RouteNotFound", func(e E, m M) {
			known(e, m)
			e.RouteNotFound("/api/*", page(404))
			e.GET("/api/*", s.nothing)
		}, []string{"get_api_any", "post_no_route"}},
	}...)
	check := func(tt Missing[E, M], rules ...footfall.Rule) {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			tracker, e := footfalltest.New(t), s.New()
			tt.Build(e, s.Middleware(tracker.Tracker, rules...))
			base, stop := serve(t, e)
			for method, path := range map[string]string{"GET": "/api/secret", "POST": "/api/known", "OPTIONS": "/api/known"} {
				adaptertest.Ask(t, base, adaptertest.Request{Method: method, Host: "example.com", Path: path})
			}
			stop()
			assert.ElementsMatch(t, tt.Want, tracker.Names())
		})
	}
	check(Missing[E, M]{"they are not asked for", known, nil}, rules[0])
	for _, tt := range tests {
		check(tt, rules...)
	}
}

// groupsRunForAll reports whether this version runs the middlewares of a group for requests
// that none of its routes matches.
func (s Subject[C, H, M, R, G, E]) groupsRunForAll() (ran bool) {
	e := s.New()
	e.Group("/api", s.WrapMiddleware(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ran = true
			next.ServeHTTP(w, r)
		})
	})).GET("/known", s.nothing)
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/secret", nil))
	return ran
}

func (s Subject[C, H, M, R, G, E]) preMiddlewaresWork(t *testing.T) {
	others := []M{s.rewrite(), s.MethodOverride()}
	for _, tt := range []struct {
		name  string
		build func(e E, m M)
		page  string
	}{
		{"the middleware is the first", func(e E, m M) { e.Pre(m); e.Pre(others...) }, "/people/7"},
		{"the middleware is the last", func(e E, m M) { e.Pre(others...); e.Pre(m) }, "/users/7"},
		{"the middleware is not in Pre", func(e E, m M) { e.Pre(others...); e.Use(m) }, "/users/7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s.preMiddlewaresWorkFor(t, tt.build, tt.page)
		})
	}
}

func (s Subject[C, H, M, R, G, E]) rewrite() M {
	return s.Rewrite(map[string]string{"/people/*": "/users/$1"})
}

func (s Subject[C, H, M, R, G, E]) preMiddlewaresWorkFor(t *testing.T, build func(e E, m M), page string) {
	rules := []footfall.Rule{{Route: "DELETE /users/:id", Event: "deleted", PathProps: []string{"id"}}, {Route: footfall.AnyRoute}}
	tracker, e := footfalltest.New(t), s.New()
	build(e, s.Middleware(tracker.Tracker, rules...))
	e.DELETE("/users/:id", func(c C) error {
		assert.NoError(t, s.Track(c, "in"))
		return c.String(http.StatusOK, c.Request().Method)
	})
	e.DELETE("/failing/:id", func(C) error { return errBoom })
	var method string // which a handler of net/http above sees without the middleware too
	base, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.ServeHTTP(w, r)
		method = r.Method
	}))
	override := []string{"X-HTTP-Method-Override", "DELETE"}
	_, body := adaptertest.Ask(t, base, adaptertest.Request{Method: "POST", Path: "/people/7", Header: override})
	assert.Equal(t, "DELETE", body)
	assert.Equal(t, "DELETE", method)
	ask(t, base, "POST", "/failing/7", override...)
	assert.Equal(t, "DELETE", method, "after an error")
	stop()
	require.Equal(t, []string{"in", "deleted", "delete_failing_id"}, tracker.Names())
	events := tracker.Events()
	assert.Equal(t, base+page, events[0].URL)
	assert.Equal(t, base+page, events[1].URL)
	assert.Equal(t, map[string]any{"id": "7"}, events[1].Props)
}

func (s Subject[C, H, M, R, G, E]) checkRulesAsksTheRouter(t *testing.T) {
	tracker, e := footfalltest.New(t).Tracker, s.New()
	e.GET("/users/:id", s.nothing)
	e.Group("/api").Group("/v1", s.Recover()).POST("/carts", s.nothing)
	s.Any(e, "/hooks", s.nothing)
	s.Static(e, "/assets", ".")
	e.RouteNotFound("/lost/*", s.nothing)
	if s.Register != nil {
		s.Register(e)
	}
	check := func(rules ...footfall.Rule) error { return s.CheckRules(tracker, e, rules...) }
	says := "not registered"
	if s.GroupHasRoute {
		says = ""
	}
	adaptertest.CheckRules(t, check, "GET /users/:id", [2]string{"GET /a", "GET /b"}, append(append(adaptertest.Colons(), s.Checks...),
		adaptertest.Check{Name: "static files", Rule: footfall.Rule{Route: "GET /assets*", PathProps: []string{"*"}}},
		adaptertest.Check{Name: "a route of RouteNotFound", Rule: footfall.Rule{Route: "GET /lost/*"}, Says: "not registered"},
		adaptertest.Check{Name: "the route that a group has for what it does not", Rule: footfall.Rule{Route: "/api/v1/*"}, Says: says}))
}
