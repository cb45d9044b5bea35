package footfall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// benchTracker passes its events to a transport that does almost nothing.
func benchTracker(b *testing.B, transport footfall.Transport) *footfall.Tracker {
	b.Helper()
	cfg := footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/checkout", Transport: transport, MaxQueueEvents: 1 << 20, MaxQueueBytes: 1 << 30}
	quiet(&cfg)
	tracker, err := footfall.New(cfg)
	require.NoError(b, err)
	b.Cleanup(func() { _ = tracker.Close(context.Background()) })
	return tracker
}

// Values that are known only at run time, as an application passes them.
var plan, currency, amount, rate = "pro", "EUR", 4999, 0.19

func trackOne(ctx context.Context, tracker *footfall.Tracker) error {
	return tracker.Track(ctx, "checkout_completed",
		footfall.P("plan", plan), footfall.P("amount", amount), footfall.P("currency", currency), footfall.P("rate", rate))
}

// BenchmarkTrack validates, encodes, stamps and queues four props. The transport takes the
// events on the same cores.
func BenchmarkTrack(b *testing.B) {
	tracker := benchTracker(b, discard{})
	b.ReportAllocs()
	for b.Loop() {
		_ = trackOne(context.Background(), tracker) // a full queue refuses
	}
	b.ReportMetric(float64(tracker.Stats().Refused)/float64(b.N), "refused/op")
}

func BenchmarkTrackParallel(b *testing.B) {
	tracker := benchTracker(b, discard{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = trackOne(context.Background(), tracker)
		}
	})
	b.ReportMetric(float64(tracker.Stats().Refused)/float64(b.N), "refused/op")
}

// The caller alone: bursts of 64 into an idle tracker. The timer is stopped while they are
// delivered.
func BenchmarkTrackBurst(b *testing.B) {
	tracker := benchTracker(b, discard{})
	ctx := context.Background()
	b.ReportAllocs()
	for n := 0; n < b.N; {
		for range min(64, b.N-n) {
			_ = trackOne(ctx, tracker)
			n++
		}
		b.StopTimer()
		_ = tracker.Flush(ctx)
		b.StartTimer()
	}
}

// For comparison: encoding the same event with encoding/json alone.
func BenchmarkJSONMarshal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = json.Marshal(map[string]any{
			"site_id": "site_1", "name": "checkout_completed", "url": "https://shop.example.com/checkout",
			"props": map[string]any{"plan": plan, "amount": amount, "currency": currency, "rate": rate},
		})
	}
}

// accept answers 202 to every request.
func accept(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(202)
		_, _ = io.WriteString(w, `{"accepted":true}`)
	})}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}

// Delivery over loopback, from Track to the answer, with 64 requests in flight.
func BenchmarkDeliver(b *testing.B) {
	cfg := footfall.Config{BaseURL: accept(b), APIKey: testKey, SiteID: "site_1", DefaultURL: "https://shop.example.com/", MaxQueueEvents: 1 << 20, MaxQueueBytes: 1 << 30}
	tracker, err := footfall.New(cfg)
	require.NoError(b, err)
	b.Cleanup(func() { _ = tracker.Close(context.Background()) })
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N { // not b.Loop, which would stop the clock before Flush
		_ = trackOne(context.Background(), tracker)
	}
	require.NoError(b, tracker.Flush(context.Background()))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// The lower bound of BenchmarkDeliver: 64 goroutines that post a fixed body with net/http.
func BenchmarkBareHTTPLoop(b *testing.B) {
	url := accept(b) + "/v1/events"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	body := []byte(`{"site_id":"site_1","name":"checkout_completed","url":"https://shop.example.com/","props":{"plan":"pro","amount":4999,"currency":"EUR","rate":0.19}}`)
	b.ReportAllocs()
	var posters sync.WaitGroup
	work := make(chan struct{}, 64)
	for range 64 {
		posters.Go(func() {
			for range work {
				resp, err := client.Post(url, "application/json", bytes.NewReader(body))
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	b.ResetTimer()
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	posters.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkGoodputBesidePoison measures how much events that always fail delay the others. It
// compares runs with and without them, at 1,000 good events a second and as fast as possible.
// One event in ten fails, and the API takes 5 ms.
func BenchmarkGoodputBesidePoison(b *testing.B) {
	for _, load := range []struct {
		name string
		good int
		pace time.Duration
	}{
		{"50000 at 1000 a second", 50_000, time.Millisecond},
		{"10000 at once", 10_000, 0},
	} {
		b.Run(load.name, func(b *testing.B) {
			var without, with time.Duration
			for range b.N {
				without += goodput(b, 202, load.good, 0, load.pace)
				with += goodput(b, 500, load.good, load.good/10, load.pace)
			}
			b.ReportMetric(float64(load.good*b.N)/with.Seconds(), "events/s")
			b.ReportMetric(without.Seconds()/with.Seconds(), "of-without")
		})
	}
}

// goodput returns the time until all good events are delivered.
func goodput(b *testing.B, status, good, poison int, pace time.Duration) time.Duration {
	b.Helper()
	var accepted atomic.Int64
	all := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		time.Sleep(5 * time.Millisecond)
		if bytes.Contains(body, []byte("poison")) {
			w.WriteHeader(status)
			return
		}
		if accepted.Add(1) == int64(good) {
			close(all)
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer api.Close()
	cfg := footfall.Config{BaseURL: api.URL, APIKey: testKey, SiteID: "s", DefaultURL: "https://example.com/"}
	quiet(&cfg)
	tracker, err := footfall.New(cfg)
	require.NoError(b, err)
	defer func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = tracker.Close(ended)
	}()
	began := time.Now()
	for i := range good {
		require.NoError(b, tracker.Track(b.Context(), "good"))
		if poison > 0 && i%(good/poison) == 0 {
			require.NoError(b, tracker.Track(b.Context(), "poison"))
		}
		time.Sleep(time.Until(began.Add(time.Duration(i) * pace)))
	}
	<-all
	return time.Since(began)
}

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

func (w nullWriter) Header() http.Header { return w.header }

func (nullWriter) Write(p []byte) (int, error) { return len(p), nil }

func (nullWriter) WriteHeader(int) {}

// cheapTracker is a tracker whose delivery allocates nothing and never lags.
func cheapTracker(tb testing.TB, noValue bool, props ...footfall.Prop) *footfall.Tracker {
	tb.Helper()
	return footfalltest.New(tb, func(c *footfall.Config) {
		c.Transport = discard{}
		c.Logger = slog.New(slog.DiscardHandler)
		c.NoContextValue, c.Props = noValue, props
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
