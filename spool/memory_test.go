package spool_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

// held is a transport that supplies memory and delivers nothing.
type held struct{ memory []byte }

func (h *held) Deliver(ctx context.Context, _ *footfall.Source) { <-ctx.Done() }
func (h *held) MemoryFailed()                                   {}
func (h *held) Memory(n int) []byte {
	h.memory = make([]byte, n)
	return h.memory
}

// queueOf returns the queue that a killed process leaves with events numbered from up to to.
func queueOf(t *testing.T, from, to int) (data []byte, records []footfall.Record) {
	t.Helper()
	h := &held{}
	tracker, err := footfall.New(footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/", Transport: h, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for n := from; n < to; n++ {
		require.NoError(t, tracker.TrackEvent(t.Context(), paid(n)))
	}
	data = bytes.Clone(h.memory)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, tracker.Close(over))
	records, damaged := footfall.ReadMemory(data)
	require.Zero(t, damaged)
	require.Len(t, records, to-from)
	return data, records
}

func leaveQueue(t *testing.T, dir string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "queue-0.mem"), data, 0o600))
}

// ids returns the ids of records, in their order.
func ids(records []footfall.Record) (ids []string) {
	for _, r := range records {
		ids = append(ids, r.IdempotencyKey())
	}
	return ids
}

func TestEventsInTheQueueOfAKilledProcessAreDeliveredInOrderWithTheirIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const events = 3000 // more than a transaction
	data, records := queueOf(t, 0, events)
	const slab = 64 << 10
	data = slices.Concat(data[slab:3*slab], data[:slab], data[3*slab:]) // slabs are used again in any order
	leaveQueue(t, dir, data)
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	assert.Equal(t, numbered(0, events), next.bodies())
	assert.Equal(t, ids(records), next.keys())
	assert.Equal(t, uint64(events), s.spool.Stats().Adopted)
	assert.Equal(t, footfall.Stats{}, s.Stats(), "this tracker has tracked none")
	assert.Contains(t, s.log.String(), "events=3000")
	assert.NoFileExists(t, filepath.Join(dir, "queue-0.mem"))
	assert.Empty(t, files(t, dir, "*.corrupt-*"))
	require.NoError(t, s.end())
	assert.Zero(t, s.log.Lines(slog.LevelError), s.log)
}

// A process may be killed between a transaction and the note in the queue that its events are
// stored.
func TestAnEventInTheFileAndInTheQueueIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, records := queueOf(t, 0, 100)
	require.NoError(t, spool.Plant(filepath.Join(dir, "events-0.db"), records[:60]))
	leaveQueue(t, dir, data)
	next := newAPI(true)
	s := open(t, dir, next)
	s.flush()
	assert.Equal(t, ids(records), next.keys())
	assert.Equal(t, uint64(100), s.spool.Stats().Adopted)
}

func TestStoredEventsDoNotComeAgainFromTheQueue(t *testing.T) {
	t.Parallel()
	if !spool.MapsQueues {
		t.Skip("the queue is on the heap on this system")
	}
	dir := t.TempDir()
	s := open(t, dir, newAPI(false))
	s.keep(0, 500)
	eventually(t, "settled", func() bool { return s.Stats().Stored == 500 })
	data, err := os.ReadFile(files(t, dir, "queue-*.mem")[0])
	require.NoError(t, err)
	records, damaged := footfall.ReadMemory(data)
	assert.Zero(t, damaged)
	assert.Empty(t, records)
}

func TestADamagedQueueIsSetAsideAndItsOtherEventsAreDelivered(t *testing.T) {
	t.Parallel()
	data, _ := queueOf(t, 0, 100)
	for name, damage := range map[string]func([]byte) (lost int){
		"an event":        func(b []byte) int { b[bytes.Index(b, []byte(body(50)))] ^= 1; return 1 },
		"a slab":          func(b []byte) int { b[8] ^= 1; return 100 },
		"another version": func(b []byte) int { b[0] ^= 1; return 100 },
		"something else":  func(b []byte) int { copy(b, "Dear diary"); return 100 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			damaged := bytes.Clone(data)
			lost := damage(damaged)
			leaveQueue(t, dir, damaged)
			next := newAPI(true)
			s := open(t, dir, next)
			s.keep(100, 101)
			s.flush()
			assert.Len(t, next.bodies(), 101-lost)
			assert.Equal(t, uint64(1), s.spool.Stats().Corrupt)
			assert.Equal(t, 1, s.log.Lines(slog.LevelError), s.log)
			aside := files(t, dir, "queue-0.mem.corrupt-*")
			require.Len(t, aside, 1)
			kept, err := os.ReadFile(aside[0])
			require.NoError(t, err)
			assert.Equal(t, damaged, kept)
			assert.NoFileExists(t, filepath.Join(dir, "queue-0.mem"))
		})
	}
}

func TestAQueueThatIsCutOffOrEmptyIsRead(t *testing.T) {
	t.Parallel()
	data, _ := queueOf(t, 0, 1000)
	for name, size := range map[string]int{"empty": 0, "a byte": 1, "a part of a slab": 20_000, "some slabs": 150_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			leaveQueue(t, dir, data[:size])
			next := newAPI(true)
			s := open(t, dir, next)
			s.flush()
			assert.Equal(t, size > 10_000, len(next.bodies()) > 0)
			for _, b := range next.bodies() {
				assert.Contains(t, string(data), b)
			}
			assert.NoFileExists(t, filepath.Join(dir, "queue-0.mem"))
		})
	}
}

func TestAQueueThatCannotBeReadIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "queue-0.mem"), 0o700))
	next := newAPI(true)
	s := open(t, dir, next)
	s.keep(0, 10)
	s.flush()
	assert.Equal(t, numbered(0, 10), next.bodies())
	assert.DirExists(t, filepath.Join(dir, "queue-0.mem"))
}

func TestEventsOfAQueueAreDeliveredOnceTheDirectoryCanBeUsed(t *testing.T) {
	t.Parallel()
	dir, file := blocked(t)
	data, _ := queueOf(t, 0, 100)
	next := newAPI(true)
	s := open(t, dir, next)
	ready := t.TempDir() // with the queue, which is searched for when the directory is opened
	leaveQueue(t, ready, data)
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o700))
	require.NoError(t, os.Rename(ready, dir))
	eventually(t, "delivered", func() bool { return len(next.bodies()) == 100 })
	s.flush()
	assert.NoFileExists(t, filepath.Join(dir, "queue-0.mem"))
}

func TestACloseLeavesNoQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, newAPI(false))
	assert.Equal(t, spool.MapsQueues, len(files(t, dir, "queue-*.mem")) == 1)
	s.keep(0, 100)
	require.NoError(t, s.end())
	assert.Empty(t, files(t, dir, "queue-*"))
	require.ErrorIs(t, s.Track(t.Context(), "late"), footfall.ErrClosed)
	s.balanced()
}

func TestAProcessTakesNoQueueOfAnotherOneThatRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shared := func(_ *footfall.Config, c *config) { c.Shared = true }
	first := open(t, dir, newAPI(false), shared)
	first.track(0, 10)
	second := open(t, dir, newAPI(true), shared)
	second.keep(10, 20)
	second.flush()
	require.NoError(t, second.end())
	assert.Equal(t, spool.MapsQueues, len(files(t, dir, "queue-*.mem")) == 1, "the queue of the first one")
	assert.Zero(t, second.spool.Stats().Adopted)
}

func TestAProcessThatSharesTheDirectoryStoresTheQueueOfOneThatWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	next := newAPI(true)
	s := open(t, dir, next, func(_ *footfall.Config, c *config) { c.Shared = true })
	s.keep(100, 110)
	data, _ := queueOf(t, 0, 100)
	leaveQueue(t, dir, data)
	eventually(t, "delivered", func() bool { return len(next.bodies()) == 110 })
	assert.NoFileExists(t, filepath.Join(dir, "queue-0.mem"))
	assert.Equal(t, uint64(100), s.spool.Stats().Adopted)
}

func TestOnlyTheTrackerThatASpoolServesHasItsMemory(t *testing.T) {
	t.Parallel()
	if !spool.MapsQueues {
		t.Skip("the queue is on the heap on this system")
	}
	stored, err := spool.New(spool.Config{Dir: t.TempDir(), Next: newAPI(true), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	assert.Len(t, stored.Memory(1<<16), 1<<16)
	assert.Nil(t, stored.Memory(1<<16), "a second tracker")
	none := &spool.Spool{}
	assert.Nil(t, none.Memory(1<<16), "a disabled tracker")
	require.NoError(t, stored.Close())
	assert.Nil(t, stored.Memory(1<<16), "closed")
}

func TestAFaultOfTheQueueIsLoggedOnceAndEventsAreDelivered(t *testing.T) {
	t.Parallel()
	if !spool.MapsQueues {
		t.Skip("the queue is on the heap on this system")
	}
	dir := t.TempDir()
	next := newAPI(true)
	s := open(t, dir, next)
	require.NoError(t, os.Truncate(files(t, dir, "queue-*.mem")[0], 0)) // the next write is a fault, as on a full disk
	for n := range 20 {
		s.keep(100*n, 100*(n+1))
	}
	s.flush()
	assert.Equal(t, numbered(0, 2000), next.bodies())
	assert.Equal(t, 1, s.log.Lines(slog.LevelWarn), s.log)
	require.NoError(t, s.end())
	s.balanced()
}

func TestADirectoryThatCannotBeUsedLeavesTheQueueOnTheHeap(t *testing.T) {
	t.Parallel()
	dir, _ := blocked(t)
	next := newAPI(true)
	s := open(t, dir, next)
	s.track(0, 100)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	eventually(t, "delivered", func() bool { return s.Stats().Delivered == 100 })
	require.NoError(t, s.Close(ctx))
	assert.Contains(t, s.log.String(), "the queue is not in a file")
}
