package footfall_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// late is a handler that answers after a time.
func late(after time.Duration) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { time.Sleep(after) }
}

func TestTheRouteBelowACopyIsKnownWithNoteRoute(t *testing.T) {
	t.Parallel()
	every, named := footfall.Rule{Route: footfall.AnyRoute, PathProps: []string{"id"}, StatusProp: "status"}, footfall.Rule{Route: "GET /users/{id}", Event: "user"}
	timeout := func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Second, "late") }
	for name, tc := range map[string]struct {
		around  func(http.Handler) http.Handler
		request string
		want    map[string]map[string]any // props by name
	}{
		"a copy":                    {copying, "/orders/7", map[string]map[string]any{"get_orders_id": {"id": "7", "status": 200.}}},
		"no copy":                   {below, "/orders/7", map[string]map[string]any{"get_orders_id": {"id": "7", "status": 200.}}},
		"http.TimeoutHandler":       {timeout, "/orders/7", map[string]map[string]any{"get_orders_id": {"id": "7", "status": 200.}}},
		"an answer that comes late": {timeout, "/late/7", map[string]map[string]any{"get_late_id": {"status": 503.}}},
		"a route that a rule names": {copying, "/users/7", map[string]map[string]any{"user": nil}},
		"a redirect of the mux":     {copying, "/docs", map[string]map[string]any{}},
		"no route":                  {copying, "/missing", map[string]map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tracker := footfalltest.New(t)
				mux := muxOf("GET /users/{id}", "GET /orders/{id}", "GET /docs/")
				mux.Handle("GET /late/{id}", late(time.Minute))
				handler := tracker.Middleware(every, named)(tc.around(footfall.NoteRoute(mux)))
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tc.request, nil))
				assert.Equal(t, tc.want, propsByName(tracker.Events()))
				assert.Len(t, tracker.Events(), len(tc.want), "one event")
				time.Sleep(time.Hour)
			})
		})
	}
}

// Track in a handler below a copy hides the secret of its route, also below contexts that the handler made.
func TestTrackBelowNoteRouteKnowsTheRoute(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /reset/{token}", func(_ http.ResponseWriter, r *http.Request) {
		for _, ctx := range []context.Context{r.Context(), footfall.WithTracker(r.Context(), tracker.Tracker), footfall.WithSite(r.Context(), "site_2")} {
			assert.NoError(t, footfall.Track(ctx, "tracked"))
		}
		assert.NoError(t, footfall.Track(footfall.WithURL(r.Context(), "https://shop.example.com/exact"), "exact"))
	})
	tracker.Middleware()(copying(footfall.NoteRoute(mux))).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "https://shop.example.com/reset/abc", nil))
	require.Len(t, tracker.Events(), 4)
	for _, e := range tracker.Events() {
		if e.Name == "tracked" {
			assert.Equal(t, "https://shop.example.com/reset/%7Btoken%7D", e.URL)
		} else {
			assert.Equal(t, "https://shop.example.com/exact", e.URL)
		}
	}
}

func TestNoteRouteWithoutMiddlewareOnlyCallsTheMux(t *testing.T) {
	t.Parallel()
	noValue := footfalltest.New(t, func(c *footfall.Config) { c.NoContextValue = true })
	handler := footfall.NoteRoute(muxOf("GET /p"))
	for _, h := range []http.Handler{handler, noValue.Middleware()(handler), (*footfall.Tracker)(nil).Middleware()(handler)} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/p", nil))
		assert.Equal(t, http.StatusOK, w.Code)
	}
	assert.NoError(t, noValue.CheckRules(handler, footfall.Rule{Route: "GET /p"}), "the rules are checked as with the mux")
	assert.Error(t, noValue.CheckRules(handler, footfall.Rule{Route: "GET /q"}))
}

// A handler that panics is answered and counted as without NoteRoute.
func TestNoteRoutePassesPanicsOn(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p/{id}", func(http.ResponseWriter, *http.Request) { panic("oops") })
	handler := tracker.Middleware(footfall.Rule{Route: footfall.AnyRoute})(copying(footfall.NoteRoute(mux)))
	assert.PanicsWithValue(t, "oops", func() {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/p/1", nil))
	})
	assert.Equal(t, []string{"get_p_id"}, tracker.Names())
}

// The route is that of the rule, or of the request, if these know more than the mux that notes it.
func TestARouteThatIsKnownBetterIsNotTheNotedOne(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	inner := http.NewServeMux()
	inner.HandleFunc("GET /api/reset/{token}", func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, tracker.TrackRequest(r, "tracked"))
	})
	outer := http.NewServeMux()
	outer.Handle("/api/", inner)
	outer.Handle("/v2/", http.StripPrefix("/v2", footfall.NoteRoute(muxOf("GET /users/{id}"))))
	rules := []footfall.Rule{{Route: "GET /v2/users/{id}", Event: "user"}, {Route: footfall.AnyRoute, Event: "other"}}
	handler := tracker.Middleware(rules...)(copying(footfall.NoteRoute(outer)))
	for _, path := range []string{"/api/reset/abc", "/v2/users/7"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "https://shop.example.com"+path, nil))
	}
	assert.Equal(t, []string{"tracked", "other", "user"}, tracker.Names())
	for _, e := range tracker.Events()[:2] {
		assert.Equal(t, "https://shop.example.com/api/reset/%7Btoken%7D", e.URL)
	}
}

// A handler between the two may add values to the context, and the context may come from elsewhere.
func TestNoteRouteFindsTheMiddlewareThroughOtherContexts(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	for name, with := range map[string]func(context.Context) context.Context{
		"url":     func(ctx context.Context) context.Context { return footfall.WithURL(ctx, "https://shop.example.com/") },
		"tracker": func(ctx context.Context) context.Context { return footfall.WithTracker(ctx, tracker.Tracker) },
	} {
		mux := footfall.NoteRoute(muxOf("GET /" + name))
		between := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mux.ServeHTTP(w, r.WithContext(with(r.Context()))) })
		handler := tracker.Middleware(footfall.Rule{Route: footfall.AnyRoute})(between)
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/"+name, nil))
		assert.Contains(t, tracker.Names(), "get_"+name)
		assert.NotPanics(t, func() { between.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/"+name, nil)) })
	}
	assert.Len(t, tracker.Events(), 2)
}

// An adapter below observes what was asked for, so AnyRoute leaves the request out.
func TestAnyRouteLeavesOutWhatAnAdapterBelowObserves(t *testing.T) {
	t.Parallel()
	tracker, other := footfalltest.New(t), footfalltest.New(t)
	noting := func(by *footfall.Tracker) http.Handler {
		mux := http.NewServeMux()
		rules := by.Rules()
		mux.HandleFunc("GET /query", func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "plain" {
				rules.NoteObserved(footfall.WithSite(r.Context(), "site_2"))
			}
		})
		return mux
	}
	every, named := footfall.Rule{Route: footfall.AnyRoute}, footfall.Rule{Route: "GET /query", Event: "named"}
	for name, tc := range map[string]struct {
		handler http.Handler
		target  string
		want    []string
	}{
		"observed below":         {tracker.Middleware(every)(noting(tracker.Tracker)), "/query", nil},
		"not observed":           {tracker.Middleware(every)(noting(tracker.Tracker)), "/query?plain", []string{"get_query"}},
		"a rule names the route": {tracker.Middleware(every, named)(noting(tracker.Tracker)), "/query", []string{"named"}},
		"by another tracker":     {tracker.Middleware(every)(noting(other.Tracker)), "/query", []string{"get_query"}},
		"without a tracker":      {tracker.Middleware(every)(noting(nil)), "/query", []string{"get_query"}},
		"below Wrap": {tracker.Rules(every).Wrap(noting(tracker.Tracker), func(r *http.Request) (string, bool, footfall.PathValuer) {
			return r.Pattern, false, nil
		}), "/query", nil},
		"no middleware": {noting(tracker.Tracker), "/query", nil},
	} {
		before := len(tracker.Names())
		tc.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, tc.target, nil))
		assert.Equal(t, tc.want, append([]string(nil), tracker.Names()[before:]...), name)
	}
}
