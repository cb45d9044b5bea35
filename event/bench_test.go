package event_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/event"
)

type checkoutCompleted struct {
	Plan     string  `prop:"plan"`
	Amount   int     `prop:"amount"`
	Currency string  `prop:"currency"`
	Rate     float64 `prop:"rate"`
}

var checkout = event.Define[checkoutCompleted]("checkout_completed")

// Values that are known only at run time, as an application passes them.
var plan, currency, amount, rate = "pro", "EUR", 4999, 0.19

func trackWithP(ctx context.Context) error {
	return footfall.Track(ctx, "checkout_completed",
		footfall.P("plan", plan), footfall.P("amount", amount), footfall.P("currency", currency), footfall.P("rate", rate))
}

func trackDefined(ctx context.Context) error {
	return checkout.Track(ctx, checkoutCompleted{Plan: plan, Amount: amount, Currency: currency, Rate: rate})
}

// discard delivers nothing, and never lags.
type discard struct{}

func (discard) Deliver(ctx context.Context, src *footfall.Source) {
	batch := make([]footfall.Record, 100)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for n := src.Take(batch); n > 0; n = src.Take(batch) {
			src.Settle(batch[:n], footfall.OutcomeDelivered, nil)
		}
	}
}

// discarding returns a context with a tracker whose delivery costs almost nothing, and the tracker.
func discarding(tb testing.TB) (context.Context, *footfall.Tracker) {
	tb.Helper()
	tracker, err := footfall.New(footfall.Config{
		SiteID: "site_1", DefaultURL: "https://shop.example.com/checkout", Transport: discard{},
		Logger: slog.New(slog.DiscardHandler), MaxQueueEvents: 1 << 20, MaxQueueBytes: 1 << 30,
	})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = tracker.Close(context.Background()) })
	return footfall.WithTracker(context.Background(), tracker), tracker
}

// BenchmarkTrack measures the caller alone, in bursts of 64 into an idle tracker, with P and with a definition.
func BenchmarkTrack(b *testing.B) {
	for _, bench := range []struct {
		name  string
		track func(context.Context) error
	}{{"with P", trackWithP}, {"defined", trackDefined}} {
		b.Run(bench.name, func(b *testing.B) {
			ctx, tracker := discarding(b)
			b.ReportAllocs()
			for n := 0; n < b.N; {
				for range min(64, b.N-n) {
					_ = bench.track(ctx)
					n++
				}
				b.StopTimer()
				_ = tracker.Flush(ctx)
				b.StartTimer()
			}
		})
	}
}

func BenchmarkTrackParallel(b *testing.B) {
	for _, bench := range []struct {
		name  string
		track func(context.Context) error
	}{{"with P", trackWithP}, {"defined", trackDefined}} {
		b.Run(bench.name, func(b *testing.B) {
			ctx, _ := discarding(b)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_ = bench.track(ctx)
				}
			})
		})
	}
}
