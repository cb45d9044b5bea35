package spool_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

func TestAtMaxBytesTheOldestEventsAreDroppedAndCounted(t *testing.T) {
	t.Parallel()
	next := newAPI(false)
	s := open(t, t.TempDir(), next, func(_ *footfall.Config, c *config) { c.MaxBytes = 100_000 })
	s.keep(0, 3000)
	got := s.spool.Stats()
	assert.LessOrEqual(t, got.Bytes, uint64(100_000))
	assert.Greater(t, got.Bytes, uint64(99_000))
	assert.Equal(t, uint64(3000), got.Events+got.Dropped)
	assert.Equal(t, got.Dropped, s.Tracker.Stats().Dropped)
	s.balanced()
	next.set(true)
	s.flush()
	assert.Equal(t, numbered(int(got.Dropped), 3000), next.bodies(), "the newest are there")
	require.NoError(t, s.end())
	assert.Equal(t, 1, s.log.lines(slog.LevelWarn), s.log)
	assert.Contains(t, s.log.String(), "Config.MaxBytes is reached")
}

func TestAtMaxBytesNewEventsCanBeRefusedInstead(t *testing.T) {
	t.Parallel()
	next := newAPI(false)
	s := open(t, t.TempDir(), next, func(tc *footfall.Config, c *config) {
		c.MaxBytes, c.RefuseNew, tc.MaxQueueEvents = 20_000, true, 2000
	})
	accepted := 0
	eventually(t, "refused", func() bool {
		err := s.Track(t.Context(), "order_paid", footfall.P("n", accepted))
		if err == nil {
			accepted++
			return false
		}
		require.ErrorIs(t, err, footfall.ErrQueueFull)
		return s.Tracker.Stats().Queued == 2000 && s.spool.Stats().Bytes > 19_500
	})
	assert.LessOrEqual(t, s.spool.Stats().Bytes, uint64(20_000))
	assert.Zero(t, s.spool.Stats().Dropped)
	s.balanced()
	next.set(true)
	s.flush()
	assert.Equal(t, numbered(0, accepted), next.bodies())
	assert.Equal(t, uint64(accepted), s.Tracker.Stats().Delivered)
	assert.Contains(t, s.log.String(), "new events stay in the tracker's queue")
}

func TestCloseOfAFullSpoolSaysHowManyItCouldNotStore(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), newAPI(false), func(_ *footfall.Config, c *config) {
		c.MaxBytes, c.RefuseNew = 20_000, true
	})
	s.track(0, 1000)
	err := s.end()
	var lost *footfall.CloseError
	require.ErrorAs(t, err, &lost)
	got := s.Tracker.Stats()
	assert.Equal(t, got.Dropped, lost.Lost)
	assert.Positive(t, got.Stored)
	s.balanced()
}

func TestAnEventLargerThanTheFileMayBeGoesThroughMemory(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	s := open(t, t.TempDir(), next, func(_ *footfall.Config, c *config) { c.MaxBytes = 10 })
	s.track(0, 20)
	s.flush()
	assert.Equal(t, numbered(0, 20), next.bodies())
}

// aged returns records of the given ages, oldest first.
func aged(ages ...time.Duration) (records []footfall.Record) {
	for n, age := range ages {
		ms := time.Now().Add(-age).UnixMilli()
		id := [16]byte{6: 0x70, 8: 0x80, 15: byte(n)}
		for i := range 6 {
			id[i] = byte(ms >> (40 - 8*i))
		}
		records = append(records, footfall.Record{ID: id, Body: []byte(body(n))})
	}
	return records
}

func TestEventsOlderThanMaxAgeAreNotSent(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	dir := t.TempDir()
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-0.db"), aged(30*day, 8*day, 6*day, time.Second)))
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	assert.Equal(t, numbered(2, 4), next.bodies())
	got := s.spool.Stats()
	assert.Equal(t, uint64(2), got.Expired)
	assert.Zero(t, got.Events)
	assert.Equal(t, footfall.Stats{}, s.Tracker.Stats(), "they were not this tracker's")
}

func TestAnEventFromTheFutureHasNoAge(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	dir := t.TempDir()
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-0.db"), aged(-400*day, 8*day, time.Second)))
	next := newAPI(false)
	s := open(t, dir, next)
	eventually(t, "expired behind it", func() bool { return s.spool.Stats().Expired == 1 })
	next.set(true)
	s.flush()
	assert.Equal(t, []string{body(0), body(2)}, next.bodies())
}

func TestAnEventThatWaitsTooLongIsDroppedFromTheTrackersCountsToo(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), newAPI(false), func(_ *footfall.Config, c *config) { c.MaxAge = 300 * time.Millisecond })
	s.keep(0, 2500)
	eventually(t, "expired", func() bool { return s.spool.Stats().Expired == 2500 && s.spool.Stats().Events == 0 })
	assert.Equal(t, footfall.Stats{Tracked: 2500, Dropped: 2500}, s.Tracker.Stats())
	assert.Equal(t, 1, s.log.lines(slog.LevelWarn), s.log)
}

func TestNegativeMaxAgeIsNoBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-0.db"), aged(3000*24*time.Hour)))
	next := newAPI(true)
	s := open(t, dir, next, func(_ *footfall.Config, c *config) { c.MaxAge = -1 })
	s.flush()
	assert.Len(t, next.bodies(), 1)
}
