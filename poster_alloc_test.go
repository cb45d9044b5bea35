// Under the race detector a sync.Pool loses a quarter of what it is given, and what is
// made instead counts as allocations.

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

// What a Poster allocates is its own affair.
func TestDeliveryAllocatesNothingPerEvent(t *testing.T) {
	slow := func(ctx context.Context, r footfall.Record, a *footfall.Answer) error {
		runtime.Gosched() // so that events wait, and senders go on
		return postAccepted(ctx, r, a)
	}
	tracker := onPoster(t, &posting{post: slow}, func(c *footfall.Config) { c.MaxQueueEvents = 1000 })
	trackAll(tracker, 5_000) // slabs, senders and their buffers
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
