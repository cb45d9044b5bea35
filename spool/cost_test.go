package spool_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

func TestTrackAllocatesNothingBesideASpool(t *testing.T) {
	s := open(t, t.TempDir(), newAPI(false), func(c *footfall.Config, _ *config) {
		c.FlushInterval, c.BatchSize = time.Hour, 1<<20
	})
	s.track(0, 5000)
	require.NoError(t, s.TrackDurable(t.Context(), "order_paid")) // all is stored, and the memory is free
	eventually(t, "stored", func() bool { return s.Tracker.Stats().Stored == 5001 })
	allocs := testing.AllocsPerRun(2000, func() { _ = trackOne(s.Tracker) })
	assert.Zero(t, allocs)
}

func TestTrackStartsNoGoroutineAndWaitsForNoDisk(t *testing.T) {
	s := open(t, t.TempDir(), newAPI(false))
	s.keep(0, 1)
	before := runtime.NumGoroutine()
	s.keep(1, 5000)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestTheFileDoesNotGrowUnderSteadyLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, newAPI(true))
	size := func() int64 {
		info, err := os.Stat(theFile(t, dir))
		require.NoError(t, err)
		return info.Size()
	}
	for range 40 {
		s.track(0, 1000)
		s.flush()
	}
	after40 := size()
	for range 160 {
		s.track(0, 1000)
		s.flush()
	}
	assert.LessOrEqual(t, size(), max(after40, 1<<20), "after five times as many events")
}

func TestTheFileIsSmallAgainAfterAnOutage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var backlog []footfall.Record
	for i := range 80_000 {
		r := aged(time.Second)[0]
		r.ID[13], r.ID[14], r.ID[15] = byte(i>>16), byte(i>>8), byte(i)
		backlog = append(backlog, r)
	}
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-0.db"), backlog))
	info, err := os.Stat(theFile(t, dir))
	require.NoError(t, err)
	require.GreaterOrEqual(t, info.Size(), int64(16<<20))
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	assert.Len(t, next.bodies(), 80_000)
	s.keep(0, 100)
	s.flush()
	info, err = os.Stat(theFile(t, dir))
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(4<<20))
	require.NoError(t, s.end())
	again := open(t, dir, next)
	again.keep(0, 1)
	assert.Zero(t, again.log.lines(slog.LevelError), again.log)
}

var plan, currency, amount, rate = "pro", "EUR", 4999, 0.19

func trackOne(tracker *footfall.Tracker) error {
	return tracker.Track(context.Background(), "checkout_completed",
		footfall.P("plan", plan), footfall.P("amount", amount), footfall.P("currency", currency), footfall.P("rate", rate))
}
