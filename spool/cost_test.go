package spool_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

func TestTrackAllocatesNothingWithASpool(t *testing.T) {
	s := open(t, t.TempDir(), newAPI(false), func(c *footfall.Config, _ *config) {
		c.FlushInterval, c.BatchSize = time.Hour, 1<<20
	})
	s.track(0, 5000)
	require.NoError(t, s.TrackDurable(t.Context(), footfall.Event{Name: "order_paid"})) // all events are stored, and their memory is free
	eventually(t, "stored", func() bool { return s.Stats().Stored == 5001 })
	allocs := testing.AllocsPerRun(2000, func() { _ = trackOne(s.Tracker) })
	assert.Zero(t, allocs)
}

func TestTrackStartsNoGoroutine(t *testing.T) {
	s := open(t, t.TempDir(), newAPI(false))
	s.keep(0, 1)
	before := runtime.NumGoroutine()
	s.keep(1, 5000)
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// refusing is a Next that accepts all events except poison.
func refusing(ctx context.Context, src *footfall.Source) {
	one := make([]footfall.Record, 1)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for src.Take(one) == 1 {
			if bytes.Contains(one[0].Body, []byte(`"poison"`)) {
				src.Retry(one[0], time.Hour, errRefused)
				continue
			}
			src.Settle(one, footfall.OutcomeDelivered, nil)
		}
	}
}

type nextFunc func(context.Context, *footfall.Source)

func (f nextFunc) Deliver(ctx context.Context, src *footfall.Source) { f(ctx, src) }

// The events are in the tracker's memory, in slabs of 64 KiB with some 500 events each.
func TestFailingEventsDoNotKeepSlabsFromBeingReusedWhileTheDiskFails(t *testing.T) {
	dir, _ := blocked(t)
	s := open(t, dir, nextFunc(refusing), func(c *footfall.Config, _ *config) { c.MaxQueueBytes = 64 << 20 })
	s.track(0, 5000)
	s.flush()
	before := heapNow()
	const slabs = 300
	for n := range slabs {
		require.NoError(t, s.Track(t.Context(), "poison"))
		s.track(0, 600)
		eventually(t, "delivered", func() bool { return s.Stats().Delivered == uint64(5000+600*(n+1)) })
	}
	grown := int64(heapNow()) - int64(before)
	assert.Less(t, grown, int64(slabs*64<<10/4), "300 slabs would be 19 MiB")
	assert.Equal(t, uint64(slabs), s.Stats().Queued)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_ = s.Close(ctx)
}

func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestTrackWaitsForNoDisk(t *testing.T) {
	t.Parallel()
	stored, err := spool.New(spool.Config{Dir: t.TempDir(), Next: newAPI(false), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	disk := &stuck{Spool: stored, busy: make(chan struct{}), free: make(chan struct{})}
	tracker, err := footfall.New(footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/", FlushInterval: time.Millisecond, Transport: disk})
	require.NoError(t, err)
	require.NoError(t, trackOne(tracker))
	<-disk.busy
	for range 5000 {
		require.NoError(t, trackOne(tracker))
	}
	assert.Equal(t, uint64(5001), tracker.Stats().Queued, "none is in the file")
	close(disk.free)
	require.NoError(t, tracker.Close(t.Context()))
	assert.Equal(t, uint64(5001), tracker.Stats().Stored)
}

// stuck is a Spool whose disk does not answer.
type stuck struct {
	*spool.Spool
	busy, free chan struct{}
	once       sync.Once
}

func (s *stuck) Deliver(ctx context.Context, src *footfall.Source) {
	late := footfall.NewSource(slowly{src, s})
	var watching sync.WaitGroup
	watching.Go(func() {
		for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
			late.Wake()
		}
	})
	watching.Go(func() {
		<-src.Closing()
		late.Close()
	})
	s.Spool.Deliver(ctx, late)
	watching.Wait()
}

// slowly is a tracker's queue whose Settle is slow.
type slowly struct {
	*footfall.Source
	disk *stuck
}

func (s slowly) Settle(records []footfall.Record, o footfall.Outcome, err error) {
	s.disk.once.Do(func() { close(s.disk.busy) })
	<-s.disk.free
	s.Source.Settle(records, o, err)
}

func (s slowly) Retry(r footfall.Record, _ error) (footfall.Record, bool) { return r, true }

func TestAFileThatCannotBeShrunkIsStillUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plantMany(t, filepath.Join(dir, "events-0.db"), 80_000)
	inTheWay := filepath.Join(dir, "events-0.db.new", "x")
	require.NoError(t, os.MkdirAll(inTheWay, 0o700))
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	s.keep(0, 100)
	s.flush()
	assert.Len(t, next.bodies(), 80_100)
	assert.Zero(t, s.log.Lines(slog.LevelError), s.log)
	assert.False(t, s.spool.Stats().Degraded)
}

// plantMany makes a file of events that is large enough to be shrunk.
func plantMany(t *testing.T, path string, events int) {
	t.Helper()
	var backlog []footfall.Record
	for i := range events {
		r := aged(time.Second)[0]
		r.ID[13], r.ID[14], r.ID[15] = byte(i>>16), byte(i>>8), byte(i)
		backlog = append(backlog, r)
	}
	require.NoError(t, spool.Plant(path, backlog))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.GreaterOrEqual(t, info.Size(), int64(16<<20))
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
	plantMany(t, filepath.Join(dir, "events-0.db"), 80_000)
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	assert.Len(t, next.bodies(), 80_000)
	s.keep(0, 100)
	s.flush()
	info, err := os.Stat(theFile(t, dir))
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(4<<20))
	require.NoError(t, s.end())
	again := open(t, dir, next)
	again.keep(0, 1)
	assert.Zero(t, again.log.Lines(slog.LevelError), again.log)
}

var plan, currency, amount, rate = "pro", "EUR", 4999, 0.19

func trackOne(tracker *footfall.Tracker) error {
	return tracker.Track(context.Background(), "checkout_completed",
		footfall.P("plan", plan), footfall.P("amount", amount), footfall.P("currency", currency), footfall.P("rate", rate))
}
