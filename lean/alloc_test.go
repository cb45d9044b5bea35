// With the race detector, a sync.Pool drops a quarter of its items. Their replacements would
// count as allocations.

//go:build !race

package lean_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/lean"
)

func TestAnEventAllocatesNothing(t *testing.T) {
	cfg := config(startServer(t))
	cfg.MaxQueueEvents, cfg.MaxInFlight = 1000, 16
	tracker, err := lean.NewTracker(cfg)
	require.NoError(t, err)
	deliverAll(t, tracker, 5_000) // connections, slabs, buffers
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	deliverAll(t, tracker, 20_000)
	runtime.ReadMemStats(&after)
	perEvent := float64(after.Mallocs-before.Mallocs) / 20_000
	t.Logf("%.4f allocations per event", perEvent)
	assert.Less(t, perEvent, 0.1, "starting a sender may allocate, an event may not")
	require.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, uint64(25_000), tracker.Stats().Delivered)
}
