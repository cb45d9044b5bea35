package spool_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
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
	assert.Equal(t, got.Dropped, s.Stats().Dropped)
	s.balanced()
	next.set(true)
	s.flush()
	assert.Equal(t, numbered(int(got.Dropped), 3000), next.bodies(), "the newest are there")
	require.NoError(t, s.end())
	assert.Equal(t, 1, s.log.Lines(slog.LevelWarn), s.log)
	assert.Contains(t, s.log.String(), "Config.MaxBytes is reached")
}

// Many times more events than fit in the file arrive at once.
func TestAtMaxBytesNoEventWaitsForRoomThatCanBeMade(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), newAPI(false), func(_ *footfall.Config, c *config) { c.MaxBytes = 20_000 })
	s.track(0, 5000)
	eventually(t, "stored", func() bool { return s.Stats().Queued == 0 })
	s.balanced()
	assert.Greater(t, s.spool.Stats().Bytes, uint64(19_000))
}

// The file must drop more events for one large event than are in memory.
func TestALargeEventGetsRoomAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), newAPI(false), func(tc *footfall.Config, c *config) {
		c.MaxBytes, tc.MaxEventBytes, tc.Limits.PropText = 300_000, 1<<20, 1<<20
	})
	s.keep(0, 2600)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, s.TrackDurable(ctx, footfall.Event{Name: "order_paid", Props: []footfall.Prop{footfall.P("pad", strings.Repeat("x", 285_000))}}))
	assert.Greater(t, s.spool.Stats().Dropped, uint64(2048))
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
		for ; err == nil; err = s.Track(t.Context(), "order_paid", footfall.P("n", accepted)) {
			accepted++
		}
		require.ErrorIs(t, err, footfall.ErrQueueFull)
		return s.Stats().Queued == 2000 && s.spool.Stats().Bytes > 19_500
	})
	assert.LessOrEqual(t, s.spool.Stats().Bytes, uint64(20_000))
	assert.Zero(t, s.spool.Stats().Dropped)
	s.balanced()
	next.set(true)
	s.flush()
	assert.Equal(t, numbered(0, accepted), next.bodies())
	assert.Equal(t, uint64(accepted), s.Stats().Delivered)
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
	got := s.Stats()
	assert.Equal(t, got.Dropped, lost.Lost)
	assert.Positive(t, got.Stored)
	s.balanced()
}

func TestTrackDurableFailsWhileAFullSpoolRefuses(t *testing.T) {
	t.Parallel()
	next := newAPI(false)
	s := open(t, t.TempDir(), next, func(_ *footfall.Config, c *config) { c.MaxBytes, c.RefuseNew = 2000, true })
	s.track(0, 100)
	eventually(t, "full", func() bool { return s.spool.Stats().Bytes > 1800 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.TrackDurable(ctx, paid(100)), context.DeadlineExceeded)
	next.set(true)
	require.NoError(t, s.TrackDurable(t.Context(), paid(101)), "there is room again")
}

func TestCloseOfAFullSpoolSendsEventsWithoutRoom(t *testing.T) {
	t.Parallel()
	next := newAPI(false)
	s := open(t, t.TempDir(), next, func(_ *footfall.Config, c *config) { c.MaxBytes, c.RefuseNew = 2000, true })
	s.track(0, 8000)
	eventually(t, "full", func() bool { return s.spool.Stats().Bytes > 1800 })
	next.mu.Lock()
	next.up = true // without waking it; it notices when the tracker closes
	next.mu.Unlock()
	require.NoError(t, s.end())
	assert.Equal(t, footfall.Stats{Tracked: 8000, Delivered: 8000}, s.Stats())
	assert.ElementsMatch(t, numbered(0, 8000), next.bodies())
}

func TestCloseStoresAsManyEventsAsFit(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), slow{10}, func(_ *footfall.Config, c *config) { c.MaxBytes, c.RefuseNew = 2000, true })
	s.track(0, 1000)
	eventually(t, "full", func() bool { return s.spool.Stats().Bytes > 1800 })
	full := s.Stats().Stored
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- s.Close(ctx) }()
	eventually(t, "others in the place of ten", func() bool {
		now := s.Stats()
		return now.Delivered == 10 && now.Stored == full
	})
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)
	assert.Equal(t, uint64(10), s.Stats().Delivered)
	assert.Equal(t, full, s.Stats().Stored)
	s.balanced()
}

// slow is a Next that delivers a few events when the tracker closes, and then hangs.
type slow struct{ delivers int }

func (n slow) Deliver(ctx context.Context, src *footfall.Source) {
	<-src.Closing()
	some := make([]footfall.Record, n.delivers)
	if _, ok := src.Wait(ctx); ok {
		src.Settle(some[:src.Take(some)], footfall.OutcomeDelivered, nil)
	}
	<-ctx.Done()
}

func TestAnEventLargerThanMaxBytesGoesThroughMemory(t *testing.T) {
	t.Parallel()
	next := newAPI(true)
	s := open(t, t.TempDir(), next, func(_ *footfall.Config, c *config) { c.MaxBytes = 10 })
	s.track(0, 20)
	s.flush()
	assert.Equal(t, numbered(0, 20), next.bodies())
}

// aged returns records whose ids have the given ages.
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
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-0.db"), aged(0, 0, 0, 0), 30*day, 8*day, 6*day, time.Second))
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	assert.Equal(t, numbered(2, 4), next.bodies())
	got := s.spool.Stats()
	assert.Equal(t, uint64(2), got.Expired)
	assert.Zero(t, got.Events)
	assert.Equal(t, footfall.Stats{}, s.Stats(), "they were not this tracker's")
}

func TestTheTimeInAnIDIsNotTheAgeOfAnEvent(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	dir := t.TempDir()
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-0.db"), aged(-400*day, 20_000*day, 8*day, 0), 0, 0, 0, 8*day))
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	assert.Equal(t, numbered(0, 3), next.bodies())
	assert.Equal(t, uint64(1), s.spool.Stats().Expired)
}

func TestAnEventThatWaitsTooLongIsDroppedFromTheTrackersCountsToo(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), newAPI(false), func(_ *footfall.Config, c *config) { c.MaxAge = 300 * time.Millisecond })
	s.keep(0, 2500)
	eventually(t, "expired", func() bool { return s.spool.Stats().Expired == 2500 && s.spool.Stats().Events == 0 })
	assert.Equal(t, footfall.Stats{Tracked: 2500, Dropped: 2500}, s.Stats())
	assert.Equal(t, 1, s.log.Lines(slog.LevelWarn), s.log)
}

func TestNegativeMaxAgeIsNoBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-0.db"), aged(0), 3000*24*time.Hour))
	next := newAPI(true)
	s := open(t, dir, next, func(_ *footfall.Config, c *config) { c.MaxAge = -1 })
	s.flush()
	assert.Len(t, next.bodies(), 1)
}
