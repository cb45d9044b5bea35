// With the race detector, a sync.Pool drops a quarter of its items. Their replacements would
// count as allocations.

//go:build !race

package footfall_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// Allocations of a Poster do not count.
func TestDeliveryAllocatesNothingPerEvent(t *testing.T) {
	slow := func(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
		runtime.Gosched() // lets senders run
		return postAccepted(ctx, r, a)
	}
	tracker := onPoster(t, &posting{post: slow}, func(c *footfall.Config) { c.MaxQueueEvents = 1000 })
	trackAll(tracker, 5_000) // allocates slabs, senders and their buffers
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	trackAll(tracker, 50_000)
	runtime.ReadMemStats(&after)
	require.NoError(t, closeWithin(tracker, 10*time.Second))
	perEvent := float64(after.Mallocs-before.Mallocs) / 50_000
	t.Logf("%.4f allocations per event", perEvent)
	assert.Less(t, perEvent, 0.1, "starting a sender may allocate, an event may not")
}

// trackAll tracks n events as fast as they are delivered.
func trackAll(tracker *footfall.Tracker, n int) {
	for range n {
		for tracker.Track(context.Background(), "tested") != nil {
			runtime.Gosched()
		}
	}
}
