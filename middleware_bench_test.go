package footfall_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// BenchmarkMiddleware measures one request through a ServeMux with a writer that does nothing.
// The difference to the bare handler is the cost of the middleware.
func BenchmarkMiddleware(b *testing.B) {
	rule := footfall.Rule{Route: routeOfOneRequest, Event: "checkout_completed", Status: footfall.Success}
	other := footfall.Rule{Route: "GET /pricing", Event: "pricing_viewed"}
	b.Run("bare", func(b *testing.B) { benchmarkRequest(b, muxOf(routeOfOneRequest)) })
	for _, bench := range []struct {
		name    string
		noValue bool
		rules   []footfall.Rule
	}{
		{"no value, no rule", true, nil},
		{"no value, rule of another route", true, []footfall.Rule{other}},
		{"no value, rule and event", true, []footfall.Rule{rule}},
		{"value, no rule", false, nil},
		{"value, rule of another route", false, []footfall.Rule{other}},
		{"value, rule and event", false, []footfall.Rule{rule}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			mux := muxOf(routeOfOneRequest, "GET /pricing")
			benchmarkRequest(b, cheapTracker(b, bench.noValue).Middleware(bench.rules...)(mux))
		})
	}
	b.Run("value, rule and event, below another", func(b *testing.B) {
		benchmarkRequest(b, below(cheapTracker(b, false).Middleware(rule)(muxOf(routeOfOneRequest))))
	})
	b.Run("bare, plain route", func(b *testing.B) { benchmarkRequestFor(b, "/checkout", muxOf("POST /checkout")) })
	b.Run("value, rule and event, plain route", func(b *testing.B) {
		plain := footfall.Rule{Route: "POST /checkout", Event: "checkout_completed", Status: footfall.Success}
		benchmarkRequestFor(b, "/checkout", cheapTracker(b, false).Middleware(plain)(muxOf("POST /checkout")))
	})
	b.Run("value, Track inside", func(b *testing.B) {
		mux := mounted(routeOfOneRequest, http.HandlerFunc(trackInside))
		benchmarkRequest(b, cheapTracker(b, false).Middleware()(mux))
	})
	b.Run("no value, TrackRequest inside", func(b *testing.B) {
		tracker := cheapTracker(b, true)
		mux := mounted(routeOfOneRequest, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_ = tracker.TrackRequest(r, "coupon_applied", footfall.P("code", "SUMMER"), footfall.P("amount", 4999))
		}))
		benchmarkRequest(b, tracker.Middleware()(mux))
	})
}

func benchmarkRequest(b *testing.B, handler http.Handler) {
	b.Helper()
	benchmarkRequestFor(b, "/checkout/42", handler)
}

func benchmarkRequestFor(b *testing.B, path string, handler http.Handler) {
	b.Helper()
	b.ReportAllocs()
	request := requestFor(path, handler)
	for b.Loop() {
		request()
	}
}

// A file of 100 MB over loopback. The server uses sendfile, because the writer remains an
// io.ReaderFrom.
func BenchmarkDownload(b *testing.B) {
	file := filepath.Join(b.TempDir(), "film.bin")
	require.NoError(b, os.WriteFile(file, nil, 0o600))
	require.NoError(b, os.Truncate(file, 100<<20))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /film", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	rule := footfall.Rule{Route: "GET /film", Event: "film_downloaded"}
	for _, bench := range []struct {
		name    string
		handler http.Handler
	}{
		{"bare", mux},
		{"wrapped", cheapTracker(b, false).Middleware(rule)(mux)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			server := httptest.NewServer(bench.handler)
			defer server.Close()
			b.SetBytes(100 << 20)
			for b.Loop() {
				resp, err := server.Client().Get(server.URL + "/film")
				require.NoError(b, err)
				n, err := io.Copy(io.Discard, resp.Body)
				require.NoError(b, err)
				require.EqualValues(b, 100<<20, n)
				require.NoError(b, resp.Body.Close())
			}
		})
	}
}

// nullWriter is a ResponseWriter that does nothing.
type nullWriter struct{ header http.Header }

func (w nullWriter) Header() http.Header       { return w.header }
func (nullWriter) Write(p []byte) (int, error) { return len(p), nil }
func (nullWriter) WriteHeader(int)             {}

// cheapTracker is a tracker whose delivery allocates nothing and never lags.
func cheapTracker(tb testing.TB, noValue bool) *footfall.Tracker {
	tb.Helper()
	return footfalltest.New(tb, func(c *footfall.Config) {
		c.Transport = discard{}
		c.Logger = slog.New(slog.DiscardHandler)
		c.NoContextValue = noValue
		c.MaxQueueEvents, c.MaxQueueBytes = 1<<20, 1<<30
	}).Tracker
}

// oneRequest returns a function that repeats the same request.
func oneRequest(handler http.Handler) func() { return requestFor("/checkout/42", handler) }

func requestFor(path string, handler http.Handler) func() {
	w := nullWriter{make(http.Header)}
	r := &http.Request{
		Method: "POST", Host: "shop.example.com", URL: &url.URL{Path: path},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header), RemoteAddr: "192.0.2.1:4711",
	}
	server := &http.Server{Handler: handler}
	r = r.WithContext(context.WithValue(context.Background(), http.ServerContextKey, server)) // as the server does
	return func() {
		fresh := *r // the server makes a new one for each request, which the mux changes
		handler.ServeHTTP(w, &fresh)
	}
}

const routeOfOneRequest = "POST /checkout/{id}"

func allocsOf(t *testing.T, handler http.Handler) float64 {
	t.Helper()
	request := oneRequest(handler)
	for range 2000 { // fills pools and grows slabs
		request()
	}
	return testing.AllocsPerRun(5000, request)
}

func TestMiddlewareAllocatesNoMoreThanPromised(t *testing.T) {
	bare := allocsOf(t, muxOf(routeOfOneRequest))
	rule := footfall.Rule{Route: routeOfOneRequest, Event: "checkout_completed", Status: footfall.Success}
	withProps := rule
	withProps.Props = []footfall.Prop{footfall.P("plan", "pro")}
	for _, tc := range []struct {
		name    string
		noValue bool
		rules   []footfall.Rule
		most    float64
	}{
		{"without a context value and a rule", true, nil, 1},
		{"without a context value, a rule of another route", true, []footfall.Rule{{Route: "GET /"}}, 1},
		{"without a context value, with a rule and its event", true, []footfall.Rule{rule}, 1},
		{"with a context value, without a rule", false, nil, 1},
		{"with a context value, a rule and its event", false, []footfall.Rule{rule}, 1},
		{"with a context value, a rule with a prop and its event", false, []footfall.Rule{withProps}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tracker := cheapTracker(t, tc.noValue)
			more := allocsOf(t, tracker.Middleware(tc.rules...)(muxOf(routeOfOneRequest))) - bare
			t.Logf("%.0f allocations more than the %.0f of the bare handler", more, bare)
			assert.LessOrEqual(t, more, tc.most)
			if len(tc.rules) > 0 && tc.rules[0].Route == routeOfOneRequest {
				assert.Equal(t, uint64(7001), tracker.Stats().Tracked, "what is measured makes events")
			}
		})
	}
}

// The values of wildcards are copied to the original request, into a new map.
func TestMiddlewareBelowAnotherAllocatesNoMoreThanPromised(t *testing.T) {
	bare := allocsOf(t, below(muxOf(routeOfOneRequest)))
	tracker := cheapTracker(t, false)
	rule := footfall.Rule{Route: routeOfOneRequest, Event: "checkout_completed", Status: footfall.Success}
	more := allocsOf(t, below(tracker.Middleware(rule)(muxOf(routeOfOneRequest)))) - bare
	t.Logf("%.0f allocations more than the %.0f of the bare handler", more, bare)
	assert.LessOrEqual(t, more, 3.0)
}

// below puts another handler between the server and next.
func below(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}

func TestMiddlewareWithSeveralRulesOfAPathAllocatesNoMore(t *testing.T) {
	bare := allocsOf(t, muxOf(routeOfOneRequest))
	tracker := cheapTracker(t, false)
	more := allocsOf(t, tracker.Middleware(
		footfall.Rule{Route: routeOfOneRequest, Event: "checkout_completed"},
		footfall.Rule{Route: "GET /checkout/{id}", Event: "checkout_viewed"},
	)(muxOf(routeOfOneRequest, "GET /checkout/{id}"))) - bare
	t.Logf("%.0f allocations more than the %.0f of the bare handler", more, bare)
	assert.LessOrEqual(t, more, 1.0)
}

func TestTrackInAHandlerAllocatesNothing(t *testing.T) {
	tracker := cheapTracker(t, false)
	silent := allocsOf(t, tracker.Middleware()(muxOf(routeOfOneRequest)))
	tracking := allocsOf(t, tracker.Middleware()(mounted(routeOfOneRequest, http.HandlerFunc(trackInside))))
	require.NotZero(t, tracker.Stats().Tracked)
	assert.LessOrEqual(t, tracking, silent)
}

func trackInside(w http.ResponseWriter, r *http.Request) {
	_ = footfall.Track(r.Context(), "coupon_applied", footfall.P("code", "SUMMER"), footfall.P("amount", 4999))
	w.WriteHeader(http.StatusOK)
}
