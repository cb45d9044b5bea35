// With the race detector, a sync.Pool drops a quarter of its items. Their replacements would
// count as allocations.

//go:build !race

package event_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Not parallel: testing.AllocsPerRun counts the allocations of the whole process.
func TestTrackAllocatesNothing(t *testing.T) {
	ctx, tracker := discarding(t)
	n, text, u, f := math.MaxInt, planName("pro"), uint64(math.MaxUint64), math.Pi
	full := everything{
		Text: strings.Repeat("text", 100), Named: text, Int: n, Int8: -7, Int16: 300, Int32: 70000, Int64: math.MinInt64, Cents: 4999,
		Duration: math.MaxInt64, Uint: math.MaxUint, Uint8: 255, Uint16: 300, Uint32: 70000, Uint64: u, Float32: 0.1, Float64: f, Weight: 1e300,
		shared: shared{"tenant", 300}, MaybeText: "x", MaybeInt: 300, MaybeInt64: 300, MaybeFloat: f, MaybeSmall: 0.5,
		TextAt: &text, IntAt: &n, UintAt: &u, FloatAt: &f,
	}
	for name, track := range map[string]func() error{
		"strings, ints and floats": func() error { return trackDefined(ctx) },
		"with a tracker": func() error {
			return checkout.TrackWith(context.Background(), tracker, checkoutCompleted{Plan: plan, Amount: amount, Currency: currency, Rate: rate})
		},
		"each kind":         func() error { return everythingHappened.Track(ctx, full) },
		"each kind, zeros":  func() error { return everythingHappened.Track(ctx, everything{}) },
		"no tracker in ctx": func() error { _ = trackDefined(context.Background()); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			for range 2000 { // fills pools and grows slabs
				require.NoError(t, track())
			}
			require.NoError(t, tracker.Flush(ctx))
			failed := 0
			allocs := testing.AllocsPerRun(5000, func() {
				if track() != nil {
					failed++
				}
			})
			assert.Zero(t, failed, "what is measured makes events")
			assert.Zero(t, allocs)
		})
	}
}
