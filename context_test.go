package footfall_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// closeTracker closes with a separate deadline, at the end of a test.
func closeTracker(tracker *footfall.Tracker) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return tracker.Close(ctx)
}

func TestTrackInAHandlerFindsTrackerAndPage(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /basket/{id}", func(_ http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context()) // at any depth
		defer cancel()
		assert.NoError(t, footfall.Track(ctx, "coupon_applied", footfall.P("code", "SUMMER")))
	})
	site := setup{}.open(t, copying(mux))
	site.get(t, "/basket/7?ref=mail&token=secret")
	events := site.events()
	require.Len(t, events, 1)
	assert.Equal(t, "coupon_applied", events[0].Name)
	assert.Equal(t, shopURL+"/basket/7?ref=mail", events[0].URL)
	assert.Equal(t, map[string]any{"code": "SUMMER"}, events[0].Props)
}

func TestTrackInAGoroutineThatOutlivesTheRequest(t *testing.T) {
	t.Parallel()
	answered, tracked := make(chan struct{}), make(chan error, 1)
	site := setup{}.open(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		go func() {
			<-answered
			<-r.Context().Done()
			tracked <- footfall.Track(r.Context(), "mail_sent")
		}()
	}))
	site.get(t, "/order/7")
	site.Close()
	close(answered)
	require.NoError(t, <-tracked)
	assert.Equal(t, []string{shopURL + "/order/7"}, urls(site.tracker.Events()))
}

func TestTrackAfterTheClientWentAway(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /order/{id}", func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		assert.NoError(t, footfall.Track(r.Context(), "by_context"))
	})
	site := setup{rules: []footfall.Rule{{Route: "GET /order/{id}", Event: "by_rule"}}}.open(t, mux)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-arrived
		leave()
	}()
	_, err := site.Client().Do(site.request(t, "GET", "/order/7", nil).WithContext(ctx)) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.Canceled)
	events := site.events()
	require.Len(t, events, 2)
	for i, name := range []string{"by_context", "by_rule"} {
		assert.Equal(t, name, events[i].Name)
		assert.Equal(t, shopURL+"/order/7", events[i].URL)
	}
}

func TestTrackWithoutATrackerInTheContextSaysSo(t *testing.T) {
	t.Parallel()
	var without error
	tracker := setup{
		config: func(c *footfall.Config) { c.NoContextValue = true },
	}.open(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { without = footfall.Track(r.Context(), "x") }))
	tracker.get(t, "/")
	assert.Empty(t, tracker.events())
	var none context.Context // a mistake of the caller
	for name, err := range map[string]error{
		"below a middleware with NoContextValue": without,
		"no context value":                       footfall.Track(t.Context(), "x"),
		"only a URL":                             footfall.Track(footfall.WithURL(t.Context(), "https://example.com/"), "x"),
		"no context":                             footfall.Track(none, "x"),
	} {
		assert.ErrorIs(t, err, footfall.ErrNoTracker, name)
	}
}

func TestWithTrackerWorksOutsideTheMiddleware(t *testing.T) {
	t.Parallel()
	one, other := footfalltest.New(t), footfalltest.New(t)
	ctx := footfall.WithTracker(t.Context(), one.Tracker)
	require.NoError(t, footfall.Track(ctx, "job_done"))
	require.NoError(t, footfall.Track(footfall.WithURL(ctx, "https://example.org/job"), "with_url"))
	require.NoError(t, footfall.Track(footfall.WithTracker(ctx, other.Tracker), "for_other"))
	require.NoError(t, footfall.Track(footfall.WithTracker(ctx, nil), "for_nobody"))
	onPage := footfall.WithTracker(footfall.WithURL(t.Context(), "https://example.org/first"), one.Tracker)
	require.NoError(t, footfall.Track(onPage, "url_first"))
	assert.Equal(t, []string{"https://example.com/", "https://example.org/job", "https://example.org/first"}, urls(one.Events()))
	assert.Equal(t, []string{"for_other"}, other.Names())
}

func TestTheInnermostURLAndTrackerWin(t *testing.T) {
	t.Parallel()
	other := footfalltest.New(t)
	const exact = "https://example.org/exact?token=kept#top"
	mux := http.NewServeMux()
	site := setup{rules: []footfall.Rule{{Route: "GET /p", Event: "by_rule"}}}.open(t, mux)
	mux.HandleFunc("GET /p", func(_ http.ResponseWriter, r *http.Request) {
		ctx := footfall.WithURL(footfall.WithURL(r.Context(), "https://example.org/outer"), exact)
		assert.NoError(t, footfall.Track(ctx, "url"))
		assert.NoError(t, site.tracker.TrackRequest(r.WithContext(ctx), "url_of_request"))
		assert.NoError(t, site.tracker.TrackEvent(ctx, footfall.Event{Name: "url_of_event", URL: "https://example.org/event"}))
		assert.NoError(t, site.tracker.TrackEvent(ctx, footfall.Event{Name: "url_of_context"}))
		assert.Error(t, footfall.Track(footfall.WithURL(r.Context(), "/relative"), "relative"))
		assert.NoError(t, footfall.Track(footfall.WithTracker(r.Context(), other.Tracker), "other"))
	})
	site.get(t, "/p")
	assert.Equal(t, []string{exact, exact, "https://example.org/event", exact, shopURL + "/p"}, urls(site.events()))
	assert.Equal(t, []string{shopURL + "/p"}, urls(other.Events()), "the page stays that of the request")
}

func TestPageOfTheRequestReplacesAURLSetAboveTheMiddleware(t *testing.T) {
	t.Parallel()
	site := setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(footfall.WithURL(r.Context(), "https://example.org/above")))
		})
	}}.open(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, footfall.Track(r.Context(), "x"))
	}))
	site.get(t, "/p")
	assert.Equal(t, []string{shopURL + "/p"}, urls(site.events()))
}

func TestTwoMiddlewaresUseTheirOwnTrackers(t *testing.T) {
	t.Parallel()
	inner := footfalltest.New(t, func(c *footfall.Config) { c.PublicURL = "https://inner.example.com" })
	rules := []footfall.Rule{{Route: "GET /p/{id}", Event: "by_rule", PathProps: []string{"id"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /p/{id}", func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, footfall.Track(r.Context(), "by_context"))
	})
	site := setup{rules: rules}.open(t, inner.Middleware(rules...)(mux))
	site.get(t, "/p/1")
	assert.Equal(t, []string{"by_rule"}, site.names())
	assert.Equal(t, []string{"by_context", "by_rule"}, inner.Names())
	assert.Equal(t, map[string]any{"id": "1"}, site.tracker.Events()[0].Props)
}

func TestTrackRequestWithAndWithoutContextValue(t *testing.T) {
	t.Parallel()
	for name, noValue := range map[string]bool{"with a context value": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			site := setup{config: func(c *footfall.Config) { c.NoContextValue = noValue }}.open(t, mux)
			mux.HandleFunc("POST /basket/{id}", func(w http.ResponseWriter, r *http.Request) {
				assert.NoError(t, site.tracker.TrackRequest(r, "coupon_applied", footfall.P("code", "X")))
				body, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				assert.Empty(t, body)
				w.WriteHeader(http.StatusNoContent)
			})
			site.do(t, "POST", "/basket/7?utm_source=mail&token=secret")
			events := site.events()
			require.Len(t, events, 1)
			assert.Equal(t, shopURL+"/basket/7?utm_source=mail", events[0].URL)
			assert.Equal(t, map[string]any{"code": "X"}, events[0].Props)
		})
	}
}

// Track finds the route too, but only if the path may contain a secret.
func TestTrackRequestKnowsTheRoute(t *testing.T) {
	t.Parallel()
	for name, noValue := range map[string]bool{"with a context value": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux, below := http.NewServeMux(), http.NewServeMux()
			site := setup{config: func(c *footfall.Config) { c.NoContextValue, c.Page = noValue, footfall.PageRoute }}.open(t, mux)
			track := func(_ http.ResponseWriter, r *http.Request) { assert.NoError(t, site.tracker.TrackRequest(r, "x")) }
			mux.HandleFunc("GET /reset/{key}", track)
			mux.HandleFunc("GET /plain", track)
			mux.Handle("/below/", http.StripPrefix("/below", below))
			below.HandleFunc("GET /plain", track)
			for _, path := range []string{"/reset/k3y", "/plain", "/below/plain"} {
				site.get(t, path)
			}
			stripped := "/below/" // the route of the outer mux
			if noValue {
				stripped = "/plain" // of the handler's request
			}
			assert.Equal(t, []string{shopURL + "/reset/%7Bkey%7D", shopURL + "/plain", shopURL + stripped}, urls(site.events()))
		})
	}
}

func TestTrackRequestOfANilRequestHasNoPage(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, quiet)
	require.NoError(t, tracker.TrackRequest(nil, "x"))
	assert.Equal(t, []string{"x"}, tracker.Names())
	assert.NoError(t, new(footfall.Tracker).TrackRequest(nil, "x"), "a zero Tracker is disabled")
	assert.NoError(t, new(footfall.Tracker).Track(t.Context(), "x"))
	assert.NoError(t, closeTracker(new(footfall.Tracker)))
}

func TestTrackRequestWithoutAnyMiddleware(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	site := setup{without: true}.open(t, mux)
	mux.HandleFunc("GET /p", func(_ http.ResponseWriter, r *http.Request) {
		assert.NoError(t, site.tracker.TrackRequest(r, "x"))
	})
	site.get(t, "/p")
	assert.Equal(t, []string{shopURL + "/p"}, urls(site.events()))
}

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
		"props":   footfall.WithProps(none, footfall.P("tenant", "a")),
		"url":     footfall.WithURL(none, "https://example.com/"),
		"tracker": footfall.WithTracker(none, tracker.Tracker),
		"page":    tracker.WithPage(none, footfall.Page{}),
	} {
		assert.NoError(t, tracker.Track(ctx, name))
		assert.NoError(t, ctx.Err())
	}
	assert.Len(t, tracker.Events(), 6)
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
