package spool_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/spool"
)

// unused returns a Spool without a tracker.
func unused(t *testing.T, dir string) (*spool.Spool, *footfalltest.Log) {
	t.Helper()
	log := &footfalltest.Log{}
	s, err := spool.New(spool.Config{Dir: dir, Next: newAPI(true), Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	return s, log
}

// trackerOn returns a tracker with the given Spool.
func trackerOn(t *testing.T, s *spool.Spool) *footfall.Tracker {
	t.Helper()
	tracker, err := footfall.New(footfall.Config{
		SiteID: "site_1", DefaultURL: "https://shop.example.com/", Transport: s, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return tracker
}

func closing(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestCloseReleasesTheDirectoryOfASpoolThatNoTrackerHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, _ := unused(t, dir)
	_, err := spool.New(spool.Config{Dir: dir, Next: newAPI(true)})
	require.ErrorIs(t, err, spool.ErrLocked)
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "again")
	second, _ := unused(t, dir)
	require.NoError(t, first.Close(), "the lock is the second's")
	_, err = spool.New(spool.Config{Dir: dir, Next: newAPI(true)})
	require.ErrorIs(t, err, spool.ErrLocked)
	require.NoError(t, second.Close())
}

func TestCloseOfASpoolThatATrackerUsesSaysSoAndChangesNothing(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	s := open(t, t.TempDir(), next)
	s.keep(0, 1)
	require.ErrorContains(t, s.spool.Close(), "a tracker uses the Spool")
	s.keep(1, 5)
	s.flush()
	assert.Equal(t, numbered(0, 5), next.bodies())
	require.NoError(t, s.end())
	require.NoError(t, s.spool.Close(), "the tracker has closed it")
}

func TestATrackerOnAClosedSpoolLosesNothingSilently(t *testing.T) {
	t.Parallel()
	s, log := unused(t, t.TempDir())
	require.NoError(t, s.Close())
	tracker := trackerOn(t, s)
	require.Error(t, tracker.TrackDurable(closing(t), footfall.Event{Name: "order_paid"}))
	before := tracker.Stats()
	require.NoError(t, tracker.Track(t.Context(), "order_paid"))
	require.Error(t, tracker.Flush(closing(t)))
	err := tracker.Close(closing(t))
	var lost *footfall.CloseError
	require.ErrorAs(t, err, &lost)
	assert.Equal(t, before.Queued+1, lost.Lost)
	after := tracker.Stats()
	assert.Equal(t, after.Tracked, after.Dropped)
	assert.Contains(t, log.String(), "the Spool was closed before it was given to a tracker")
	assert.Equal(t, 1, log.Lines(slog.LevelError))
}

func TestFlushOfAClosedSpoolReturns(t *testing.T) {
	t.Parallel()
	s, _ := unused(t, t.TempDir())
	require.NoError(t, s.Close())
	require.NoError(t, s.Flush(t.Context()))
}

func TestEitherCloseOrDeliverWins(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		dir := t.TempDir()
		s, log := unused(t, dir)
		var tracker *footfall.Tracker
		var calls sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			calls.Go(func() { errs[i] = s.Close() })
		}
		calls.Go(func() { tracker = trackerOn(t, s) })
		calls.Wait()
		err := tracker.TrackDurable(closing(t), footfall.Event{Name: "order_paid"})
		_ = tracker.Close(closing(t))
		closed := 0
		for _, err := range errs {
			if err == nil {
				closed++
			}
		}
		if err == nil {
			assert.Zero(t, closed)
			assert.Zero(t, log.Lines(slog.LevelError), log)
		} else {
			assert.Equal(t, 1, log.Lines(slog.LevelError), log)
			assert.Positive(t, closed)
		}
		again, _ := unused(t, dir)
		require.NoError(t, again.Close())
	}
}

func TestCloseOfTheSpoolOfADisabledTrackerDoesNothing(t *testing.T) {
	t.Parallel()
	_, s, err := spool.Open(footfall.Config{Disabled: true}, spool.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
