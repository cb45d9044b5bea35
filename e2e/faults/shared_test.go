//go:build ci && linux

package faults

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

func openShared(t *testing.T, url, dir string) (*footfall.Tracker, *spool.Spool) {
	t.Helper()
	cfg := wireConfig(url)
	cfg.AttemptTimeout = patience // an answer that is late would be a failure
	tracker, stored, err := spool.Open(cfg, spool.Config{Dir: dir, Shared: true, Logger: cfg.Logger})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, within(patience, tracker.Close)) })
	return tracker, stored
}

func refusedAsLocked(t *testing.T, dir string) {
	t.Helper()
	_, _, err := spool.Open(wireConfig("http://127.0.0.1:1"), spool.Config{Dir: dir})
	require.ErrorIs(t, err, spool.ErrLocked)
	assert.ErrorContains(t, err, dir)
}

func TestADirectoryOfAnotherTrackerOfTheProcessIsRefused(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	dir := t.TempDir()
	first := openSpooled(t, wireConfig(api.URL), dir)
	refusedAsLocked(t, dir)
	require.NoError(t, first.Track(t.Context(), "mine", footfall.P("n", 1)))
	require.NoError(t, within(patience, first.Close))
	assertArrived(t, api, []int64{1})
	second := openSpooled(t, wireConfig(api.URL), dir)
	require.NoError(t, within(patience, second.Close))
}

func TestADirectoryOfAnotherProcessIsRefusedUntilThatProcessEnds(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	dir := t.TempDir()
	c := start(t, "-api", api.URL, "-dir", dir)
	c.expect("open")
	refusedAsLocked(t, dir)
	c.kill()
	tracker := openSpooled(t, wireConfig(api.URL), dir)
	require.NoError(t, within(patience, tracker.Close))
}

func TestTrackersOfOneProcessMayShareADirectory(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	dir := t.TempDir()
	var number atomic.Int64
	var trackers []*footfall.Tracker
	for range 3 {
		tracker, _ := openShared(t, api.URL, dir)
		trackers = append(trackers, tracker)
	}
	for i := range 300 {
		require.NoError(t, trackers[i%3].Track(t.Context(), "shared", footfall.P("n", number.Add(1))))
	}
	for _, tracker := range trackers {
		require.NoError(t, within(patience, tracker.Flush))
		assert.Equal(t, uint64(100), tracker.Stats().Delivered)
	}
	assert.Len(t, api.Events(), 300)
	assertArrived(t, api, slices.Collect(numbers(300)))
	assert.Zero(t, assertOneKeyAndBody(t, api), "sent again, though nothing failed")
}

// fillAndKill leaves a file with events that were not delivered.
func fillAndKill(t *testing.T, dir string, flags ...string) (promised []int64) {
	t.Helper()
	dead := newDeadPort(t)
	c := start(t, append(flags, "-api", dead.URL, "-dir", dir, "-durable", "4")...)
	require.Eventually(t, func() bool {
		durable, _ := c.numbers()
		return durable >= 60
	}, patience, time.Millisecond)
	c.kill()
	return c.durable
}

func TestAFileOfAKilledProcessIsAdoptedByTheNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	promised := fillAndKill(t, dir, "-shared")
	promised = append(promised, fillAndKill(t, dir, "-shared", "-first", "1000000")...)
	api := footfalltest.NewAPI(t)
	tracker, stored := openShared(t, api.URL, dir)
	require.NoError(t, within(patience, tracker.Flush))
	require.Eventually(t, func() bool { return len(api.Events()) >= len(promised) }, patience, 10*time.Millisecond)
	assertArrived(t, api, promised)
	assertOneKeyAndBody(t, api)
	assert.Equal(t, uint64(len(api.Events())), stored.Stats().Adopted)
	assert.Zero(t, tracker.Stats(), "this tracker tracked nothing")
}

func TestAFileOfAKilledProcessIsAdoptedByOneThatRuns(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	dir := t.TempDir()
	_, stored := openShared(t, api.URL, dir)
	promised := fillAndKill(t, dir, "-shared")
	arrived := func() bool { // others may have arrived before these
		came := arrivals(api)
		return !slices.ContainsFunc(promised, func(n int64) bool { return !slices.Contains(came, n) })
	}
	require.Eventually(t, arrived, patience, 100*time.Millisecond)
	assertArrived(t, api, promised)
	assertOneKeyAndBody(t, api)
	assert.GreaterOrEqual(t, stored.Stats().Adopted, uint64(len(promised)))
}

func TestAFileOfASharedDirectoryIsAdoptedByOneThatDoesNotShare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	promised := fillAndKill(t, dir, "-shared")
	api := footfalltest.NewAPI(t)
	tracker := openSpooled(t, wireConfig(api.URL), dir)
	require.NoError(t, within(patience, tracker.Flush))
	require.NoError(t, within(patience, tracker.Close))
	assertArrived(t, api, promised)
}
