package footfall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/require"
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
