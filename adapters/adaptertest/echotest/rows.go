package echotest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/adaptertest"
)

// Run runs the table of adaptertest, and the rows below.
func (s Subject[C, H, M, R, G, E]) Run(t *testing.T) {
	adaptertest.Run(t, s.Adapter(), []adaptertest.Row{
		{Name: "an error that goes up is recorded as answered", Test: s.errorIsRecordedAsAnswered},
		{Name: "an error without an answer keeps the request", Test: s.errorKeepsTheRequest},
		{Name: "the status is known below writers of other middlewares", Test: s.writersAreSeenThrough},
		{Name: "requests that no route matches", Test: s.requestsWithoutRoute},
		{Name: "Pre middlewares see the same request as without the adapter", Test: s.preMiddlewaresWork},
	}...)
}

func (s Subject[C, H, M, R, G, E]) errorIsRecordedAsAnswered(st *adaptertest.Stage) {
	boom := func(adaptertest.Context) error { return errBoom }
	with := func(instead func(c adaptertest.Context, err error) error) func(*adaptertest.Stage) {
		return func(st *adaptertest.Stage) {
			st.App.Use(func(c adaptertest.Context, next func() error) error {
				if err := next(); err != nil {
					return instead(c, err)
				}
				return nil
			})
		}
	}
	for name, tt := range map[string]struct {
		above   func(*adaptertest.Stage)
		handler adaptertest.Handler
		status  int // which the client sees
		want    []string
	}{
		"without a status": {func(*adaptertest.Stage) {}, boom, 500, []string{"server error"}},
		"by a middleware above": {with(func(c adaptertest.Context, _ error) error {
			c.SetHeader("Location", "/login")
			return c.Answer(http.StatusSeeOther, "")
		}), boom, 303, []string{"success"}},
		"by a middleware above that makes another error of it": {with(func(_ adaptertest.Context, err error) error {
			return s.Error(http.StatusTooManyRequests, err)
		}), boom, 429, []string{"client error"}},
		"by a middleware above, below a writer that shows the one below it": {func(st *adaptertest.Stage) {
			st.UseHTTP(st.App, showing)
			with(func(c adaptertest.Context, _ error) error { return c.Answer(http.StatusConflict, "no") })(st)
		}, boom, 409, []string{"client error"}},
		"by a logger above, at once": {func(st *adaptertest.Stage) { s.echo(st.App).Use(s.Logger()) }, boom, 500, []string{"server error"}},
		"by the handler already": {func(*adaptertest.Stage) {}, func(c adaptertest.Context) error {
			_ = c.Answer(http.StatusCreated, "done")
			return errBoom
		}, 201, []string{"success"}},
		"by nobody": {func(st *adaptertest.Stage) { st.OnError(st.App, func(adaptertest.Context, error) {}) }, boom, 200, nil},
	} {
		st.Each(name, func(st *adaptertest.Stage) {
			tt.above(st)
			var seen error
			st.App.Use(func(_ adaptertest.Context, next func() error) error { seen = next(); return seen })
			st.Watch(adaptertest.Classes("GET /fails")...)
			st.On("/fails", tt.handler)
			assert.Equal(st, tt.status, st.Get("/fails"))
			assert.ErrorIs(st, seen, errBoom, "what the middlewares above see")
			st.Expect(tt.want...)
		})
	}
}

// Changes that the handler makes, such as reading a form, are on the original request.
func (s Subject[C, H, M, R, G, E]) errorKeepsTheRequest(st *adaptertest.Stage) {
	var came *http.Request
	st.App.Use(func(c adaptertest.Context, next func() error) error { came = c.Request(); return next() })
	st.Watch()
	st.On("/fails", func(c adaptertest.Context) error {
		assert.Equal(st, "2", c.Request().FormValue("n"))
		return errBoom
	})
	st.OnError(st.App, func(adaptertest.Context, error) {}) // answers nothing
	st.Get("/fails?n=2")
	assert.Equal(st, "2", came.Form.Get("n"))
}

// copying is a middleware of net/http that copies the request and wraps the writer.
func copying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(struct{ http.ResponseWriter }{w}, r.WithContext(r.Context()))
	})
}

// showing is copying with a writer that http.ResponseController sees through.
func showing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(window{w}, r.WithContext(r.Context()))
	})
}

type window struct{ http.ResponseWriter }

// Unwrap implements what http.ResponseController looks for.
func (w window) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s Subject[C, H, M, R, G, E]) writersAreSeenThrough(st *adaptertest.Stage) {
	gzip, copies, shows := s.Gzip(), s.WrapMiddleware(copying), s.WrapMiddleware(showing)
	for _, tt := range []struct {
		name, accepts string
		above, below  []M
	}{
		{"compression above", "gzip", []M{gzip}, nil},
		{"compression below", "gzip", nil, []M{gzip}},
		{"a middleware of net/http above", "gzip", []M{copies}, nil},
		{"a middleware of net/http below", "gzip", nil, []M{copies}},
		{"both of both", "gzip", []M{gzip, shows}, []M{shows, gzip}},
		// Not compressed: echo 5 answers the error by a Response that cannot be reached
		// through a writer that hides it (README, "What is impossible").
		{"both of both, by a writer that hides what is below", "identity", []M{gzip, copies}, []M{copies, gzip}},
	} {
		st.Each(tt.name, func(st *adaptertest.Stage) {
			s.echo(st.App).Use(tt.above...)
			st.Watch(adaptertest.Classes(footfall.AnyRoute)...)
			s.echo(st.App).Use(tt.below...)
			st.On("/fails", adaptertest.Failing(http.StatusServiceUnavailable))
			st.On("/answers", func(c adaptertest.Context) error { return c.Answer(http.StatusNotFound, "no") })
			assert.Equal(st, http.StatusServiceUnavailable, st.Get("/fails", "Accept-Encoding", tt.accepts))
			assert.Equal(st, http.StatusNotFound, st.Get("/answers", "Accept-Encoding", tt.accepts))
			st.Expect("server error", "client error")
		})
	}
}

// Missing is an Echo with the route GET /api/known that is asked for GET /api/secret,
// POST /api/known and OPTIONS /api/known of the host example.com.
type Missing[E, M any] struct {
	Name  string
	Build func(e E, m M)
	Want  []string
}

func (s Subject[C, H, M, R, G, E]) requestsWithoutRoute(st *adaptertest.Stage) {
	rules := []footfall.Rule{{Route: footfall.AnyRoute}, {Route: footfall.NoRoute}}
	both := []string{"get_no_route", "post_no_route"}
	ofGroup := both
	if !s.groupsRunForAll() {
		ofGroup = nil
	}
	known := func(e E, m M) { e.Use(m); e.GET("/api/known", s.nothing) }
	page := func(status int) H { return func(c C) error { return c.String(status, "a page") } }
	for i, tt := range append([]Missing[E, M]{
		{"they are not asked for", known, nil},
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
	}, s.Missing...) {
		st.Each(tt.Name, func(st *adaptertest.Stage) {
			of := rules
			if i == 0 {
				of = rules[:1]
			}
			tt.Build(s.echo(st.App), s.Middleware(st.Tracker.Tracker, of...))
			for _, r := range []adaptertest.Request{{Path: "/api/secret"}, {Method: "POST", Path: "/api/known"}, {Method: "OPTIONS", Path: "/api/known"}} {
				r.Host = "example.com"
				st.Ask(r)
			}
			st.Expect(tt.Want...)
		})
	}
}

// groupsRunForAll reports whether this version runs the middlewares of a group for requests
// that none of its routes matches.
func (s Subject[C, H, M, R, G, E]) groupsRunForAll() (ran bool) {
	e := s.New()
	e.Group("/api", func(next H) H { return func(c C) error { ran = true; return next(c) } }).GET("/known", s.nothing)
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/secret", nil))
	return ran
}

func (s Subject[C, H, M, R, G, E]) preMiddlewaresWork(st *adaptertest.Stage) {
	others := []M{s.rewrite(), s.MethodOverride()}
	for name, tt := range map[string]struct {
		build func(e E, m M)
		page  string
	}{
		"the middleware is the first":  {func(e E, m M) { e.Pre(m); e.Pre(others...) }, "/people/7"},
		"the middleware is the last":   {func(e E, m M) { e.Pre(others...); e.Pre(m) }, "/users/7"},
		"the middleware is not in Pre": {func(e E, m M) { e.Pre(others...); e.Use(m) }, "/users/7"},
	} {
		st.Each(name, func(st *adaptertest.Stage) {
			rules := []footfall.Rule{{Route: "DELETE /users/:id", Event: "deleted", PathProps: []string{"id"}}, {Route: footfall.AnyRoute}}
			tt.build(s.echo(st.App), s.Middleware(st.Tracker.Tracker, rules...))
			st.App.Handle(nil, "DELETE", "/users/:id", func(c adaptertest.Context) error {
				assert.NoError(st, c.Track("in"))
				return c.Answer(http.StatusOK, c.Request().Method)
			})
			st.App.Handle(nil, "DELETE", "/failing/:id", func(adaptertest.Context) error { return errBoom })
			var method string // which a handler of net/http above sees without the middleware too
			e := s.echo(st.App)
			base, stop := adaptertest.ServeHTTP(st.T, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				e.ServeHTTP(w, r)
				method = r.Method
			}))
			for path, want := range map[string]string{"/people/7": "DELETE", "/failing/7": ""} {
				_, body := adaptertest.Ask(st.T, base, adaptertest.Request{Method: "POST", Path: path, Header: []string{"X-HTTP-Method-Override", "DELETE"}})
				if want != "" {
					assert.Equal(st, want, body)
				}
				assert.Equal(st, "DELETE", method, path)
			}
			stop()
			require.ElementsMatch(st, []string{"in", "deleted", "delete_failing_id"}, st.Tracker.Names())
			for _, e := range st.Tracker.Events() {
				if e.Name == "delete_failing_id" {
					continue
				}
				assert.Equal(st, base+tt.page, e.URL)
				if e.Name == "deleted" {
					assert.Equal(st, map[string]any{"id": "7"}, e.Props)
				}
			}
		})
	}
}
