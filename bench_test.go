package footfall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
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
