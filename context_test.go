package footfall_test

import (
	"context"
	"io"
	"net/http"
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
