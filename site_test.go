package footfall_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// sites returns the site of each event by the event's name.
func sites(events []footfalltest.Event) map[string]string {
	byName := make(map[string]string)
	for _, e := range events {
		byName[e.Name] = e.SiteID
	}
	return byName
}

// ofSite is a middleware that sets the site of a tenant.
func ofSite(siteID string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(footfall.WithSite(r.Context(), siteID)))
		})
	}
}

func TestSiteComesFromEventThenRuleThenContextThenConfig(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		around  func(http.Handler) http.Handler
		noValue bool
		want    string // the site if neither event nor rule names one
	}{
		"no site in the context":                          {nil, false, footfalltest.SiteID},
		"a site above the middleware":                     {ofSite("site_above"), false, "site_above"},
		"a site above another middleware":                 {func(next http.Handler) http.Handler { return ofSite("site_above")(copying(next)) }, false, "site_above"},
		"a site above the middleware, no context value":   {ofSite("site_above"), true, "site_above"},
		"two sites above the middleware":                  {func(next http.Handler) http.Handler { return ofSite("site_out")(ofSite("site_in")(next)) }, false, "site_in"},
		"an empty site below another, for the Config's":   {func(next http.Handler) http.Handler { return ofSite("site_out")(ofSite("")(next)) }, false, footfalltest.SiteID},
		"an empty site and no other, for the Config's":    {ofSite(""), false, footfalltest.SiteID},
		"no site in the context and no context value":     {nil, true, footfalltest.SiteID},
		"a URL above the middleware, and above that site": {func(next http.Handler) http.Handler { return ofSite("site_above")(withURL(next)) }, false, "site_above"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			site := setup{
				around: tc.around,
				config: func(c *footfall.Config) { c.NoContextValue = tc.noValue },
				rules: []footfall.Rule{
					{Route: "GET /p", Event: "rule"}, {Route: "GET /p", Event: "rule_of_site", SiteID: "site_rule"},
				},
			}.open(t, mux)
			mux.HandleFunc("GET /p", func(_ http.ResponseWriter, r *http.Request) {
				ctx := r.Context()
				assert.NoError(t, site.tracker.TrackRequest(r, "request"))
				assert.NoError(t, site.tracker.Track(footfall.WithSite(ctx, "site_below"), "below"))
				assert.NoError(t, site.tracker.TrackDurable(ctx, footfall.Event{Name: "durable"}))
				assert.NoError(t, site.tracker.TrackDurable(ctx, footfall.Event{Name: "durable_of_site", SiteID: "site_event"}))
				assert.NoError(t, site.tracker.TrackEvent(ctx, footfall.Event{Name: "event"}))
				assert.NoError(t, site.tracker.TrackEvent(ctx, footfall.Event{Name: "event_of_site", SiteID: "site_event"}))
				if !tc.noValue {
					assert.NoError(t, footfall.Track(ctx, "track"))
				}
			})
			site.get(t, "/p")
			want := map[string]string{
				"rule": tc.want, "request": tc.want, "durable": tc.want, "event": tc.want,
				"rule_of_site": "site_rule", "event_of_site": "site_event", "durable_of_site": "site_event", "below": "site_below",
			}
			if !tc.noValue {
				want["track"] = tc.want
			}
			assert.Equal(t, want, sites(site.events()))
		})
	}
}

// withURL is a middleware above the tracker's that sets a URL.
func withURL(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(footfall.WithURL(r.Context(), "https://example.org/above")))
	})
}

func TestAnAdapterWithoutARequestGivesTheContext(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	rules := tracker.Rules(footfall.Rule{Route: footfall.AnyRoute})
	other := httptest.NewRequest(http.MethodGet, "/", nil)
	for route, o := range map[string]footfall.Observation{
		"/context": {Context: footfall.WithSite(t.Context(), "site_2")},
		"/request": {Request: other.WithContext(footfall.WithSite(t.Context(), "site_3"))},
		"/both":    {Context: footfall.WithSite(t.Context(), "site_2"), Request: other.WithContext(footfall.WithSite(t.Context(), "site_3"))},
		"/neither": {},
	} {
		o.Method, o.Route, o.Status = http.MethodGet, route, http.StatusOK
		rules.Observe(&o)
	}
	assert.Equal(t, map[string]string{
		"get_context": "site_2", "get_request": "site_3", "get_both": "site_2", "get_neither": footfalltest.SiteID,
	}, sites(tracker.Events()))
}

// contextStep is a function that adds a value to a context.
type contextStep struct {
	name string
	add  func(context.Context) context.Context
}

// orders calls visit with the steps in every order.
func orders(steps, chosen []contextStep, visit func([]contextStep)) {
	if len(steps) == 0 {
		visit(chosen)
		return
	}
	for i := range steps {
		rest := append(append([]contextStep(nil), steps[:i]...), steps[i+1:]...)
		orders(rest, append(chosen[:len(chosen):len(chosen)], steps[i]), visit)
	}
}

func TestWithSiteAndWithURLAndWithTrackerComposeInAnyOrder(t *testing.T) {
	t.Parallel()
	ofPage, ofTracker := footfalltest.New(t), footfalltest.New(t)
	page := ofPage.Page(httptest.NewRequest(http.MethodGet, "https://shop.example.com/page", nil))
	steps := []contextStep{
		{"WithPage", func(ctx context.Context) context.Context { return ofPage.WithPage(ctx, page) }},
		{"WithTracker", func(ctx context.Context) context.Context { return footfall.WithTracker(ctx, ofTracker.Tracker) }},
		{"WithURL", func(ctx context.Context) context.Context {
			return footfall.WithURL(ctx, "https://shop.example.com/url")
		}},
		{"WithSite", func(ctx context.Context) context.Context { return footfall.WithSite(ctx, "site_2") }},
	}
	tried := 0
	orders(steps, nil, func(order []contextStep) {
		tried++
		name, url, tracker := "", "", ofPage
		ctx := t.Context()
		for _, step := range order {
			name += step.name + " "
			ctx = step.add(ctx)
			switch step.name {
			case "WithPage":
				url, tracker = "https://shop.example.com/page", ofPage
			case "WithTracker":
				tracker = ofTracker
			case "WithURL":
				url = "https://shop.example.com/url"
			}
		}
		require.NoError(t, footfall.Track(ctx, "x"), name)
		events := tracker.Events()
		require.NotEmpty(t, events, name)
		last := events[len(events)-1]
		assert.Equal(t, "site_2", last.SiteID, name)
		assert.Equal(t, url, last.URL, name)
	})
	assert.Equal(t, 24, tried)
	assert.Equal(t, 24, len(ofPage.Events())+len(ofTracker.Events()))
}

func TestContextsMadeOfNoContextAreSafe(t *testing.T) {
	t.Parallel()
	var none context.Context // a mistake of the caller
	tracker := footfalltest.New(t)
	require.NoError(t, tracker.Track(none, "no_context"))
	for name, ctx := range map[string]context.Context{
		"site":    footfall.WithSite(none, "site_2"),
		"url":     footfall.WithURL(none, "https://example.com/"),
		"tracker": footfall.WithTracker(none, tracker.Tracker),
		"page":    tracker.WithPage(none, footfall.Page{}),
	} {
		assert.NoError(t, tracker.Track(ctx, name))
		assert.NoError(t, ctx.Err())
	}
	assert.Len(t, tracker.Events(), 5)
}

func TestABadSiteIsAFieldErrorOfEveryCall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ siteID, reason string }{
		"blank":         {" \t", "empty"},
		"invalid UTF-8": {"site_\xff", "not valid UTF-8"},
		"too long":      {string(bytes.Repeat([]byte("s"), 40<<10)), "more than 32768 bytes encoded (Config.MaxEventBytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(slog.DiscardHandler) })
			ctx := footfall.WithSite(footfall.WithTracker(t.Context(), tracker.Tracker), tc.siteID)
			r := httptest.NewRequest(http.MethodGet, "https://shop.example.com/", nil).WithContext(ctx)
			for call, err := range map[string]error{
				"Track":              footfall.Track(ctx, "x"),
				"Tracker.Track":      tracker.Track(ctx, "x"),
				"TrackRequest":       tracker.TrackRequest(r, "x"),
				"TrackEvent":         tracker.TrackEvent(ctx, footfall.Event{Name: "x"}),
				"TrackEvent by site": tracker.TrackEvent(t.Context(), footfall.Event{Name: "x", SiteID: tc.siteID}),
				"TrackDurable":       tracker.TrackDurable(ctx, footfall.Event{Name: "x"}),
			} {
				assert.Equal(t, &footfall.FieldError{Field: "site_id", Reason: tc.reason}, err, call)
			}
			tracker.Rules(footfall.Rule{Route: footfall.AnyRoute}).Observe(&footfall.Observation{Method: "GET", Route: "GET /p", Status: 200, Context: ctx})
			assert.Equal(t, uint64(7), tracker.Stats().Invalid, "the event of a rule, too")
			assert.Empty(t, tracker.Events())
		})
	}
}

func TestARuleOfABadSiteIsAFieldErrorAndLeftOut(t *testing.T) {
	t.Parallel()
	rules := []footfall.Rule{
		{Route: "GET /p", Event: "blank", SiteID: " "},
		{Route: "GET /p", Event: "invalid", SiteID: "site_\xff"},
		{Route: "GET /p", Event: "right", SiteID: "site_2"},
	}
	const blank, invalid = `footfall: Rule{"GET /p"}.SiteID: empty`, `footfall: Rule{"GET /p"}.SiteID: not valid UTF-8`
	var log bytes.Buffer
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	mux := muxOf("GET /p")
	assert.EqualError(t, tracker.CheckRules(mux, rules...), blank+"\n"+invalid)
	assert.EqualError(t, tracker.CheckRoutes([]string{"GET /p"}, rules...), blank+"\n"+invalid)

	tracker.Middleware(rules...)(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/p", nil))
	assert.Equal(t, map[string]string{"right": "site_2"}, sites(tracker.Events()))
	assert.Contains(t, log.String(), `.SiteID: empty`)
	assert.Contains(t, log.String(), `.SiteID: not valid UTF-8`)
}

func TestWithSiteIsOneAllocation(t *testing.T) { // not parallel: it counts allocations
	tracker := cheapTracker(t, false)
	ctx := t.Context()
	assert.Equal(t, 1.0, testing.AllocsPerRun(1000, func() { _ = tracker.Track(footfall.WithSite(ctx, "site_2"), "x") }))
}
