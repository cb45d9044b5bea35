package spool_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/spool"
)

// free is a Next that settles every event as Delivered at once.
type free struct{}

func (free) Deliver(ctx context.Context, src *footfall.Source) {
	some := make([]footfall.Record, 64)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for n := src.Take(some); n > 0; n = src.Take(some) {
			src.Settle(some[:n], footfall.OutcomeDelivered, nil)
		}
	}
}

// never is a Next that takes nothing, even when the tracker closes.
type never struct{}

func (never) Deliver(ctx context.Context, src *footfall.Source) {
	select {
	case <-ctx.Done():
	case <-src.Closing():
	}
}

func benchOpen(b *testing.B, dir string, next footfall.Transport) (*footfall.Tracker, *spool.Spool) {
	b.Helper()
	t, s, err := spool.Open(
		footfall.Config{SiteID: "site_1", DefaultURL: "https://shop.example.com/checkout", Logger: slog.New(slog.DiscardHandler)},
		spool.Config{Dir: dir, Next: next, Logger: slog.New(slog.DiscardHandler), MaxBytes: 4 << 30})
	require.NoError(b, err)
	b.Cleanup(func() { _ = t.Close(context.Background()) })
	return t, s
}

// An event is 190 bytes of JSON. Batches of 100 are committed and then dropped, because Next
// takes none.
func BenchmarkCommitBatchesOf100(b *testing.B) {
	src := newBatches(100)
	s, err := spool.New(spool.Config{Dir: b.TempDir(), Next: never{}, Logger: slog.New(slog.DiscardHandler), MaxBytes: 8 << 30})
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	src.start(b.N)
	s.Deliver(b.Context(), src.source)
	b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "events/s")
}

// batches is a tracker's queue that always has one batch of events, until it closes.
type batches struct {
	source *footfall.Source
	mu     sync.Mutex
	left   int
	ready  []footfall.Record
	batch  []footfall.Record
	eager  bool // the next batch arrives before this one is settled
	unique bool // each batch has different ids
}

// Several waiting batches of a tracker share a transaction.
func BenchmarkCommitUnderLoad(b *testing.B) {
	src := newBatches(100)
	src.eager = true
	s, err := spool.New(spool.Config{Dir: b.TempDir(), Next: never{}, Logger: slog.New(slog.DiscardHandler), MaxBytes: 8 << 30})
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	src.start(b.N)
	s.Deliver(b.Context(), src.source)
	b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "events/s")
}

func newBatches(size int) *batches {
	q := &batches{}
	q.source = footfall.NewSource(q)
	body := []byte(`{"site_id":"site_1","name":"checkout_completed","url":"https://shop.example.com/checkout","props":{"plan":"pro","amount":4999,"currency":"EUR","rate":0.19}}`)
	for n := range size {
		id := [16]byte{0: 0x7f, 6: 0x70, 14: byte(n >> 8), 15: byte(n)}
		q.batch = append(q.batch, footfall.Record{ID: id, Body: body})
	}
	return q
}

// start makes the first of n batches due.
func (q *batches) start(n int) {
	q.left = n
	q.next()
	q.source.Wake()
}

// next is called with the lock held, or before a second goroutine starts.
func (q *batches) next() {
	q.left--
	if q.unique {
		for i := range q.batch {
			binary.BigEndian.PutUint32(q.batch[i].ID[9:], uint32(q.left))
		}
	}
	q.ready = q.batch
}

func (q *batches) Waiting() (n int, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ready), len(q.ready) > 0 || q.left > 0
}

func (q *batches) Take(dst []footfall.Record) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.eager && len(q.ready) == 0 && q.left > 0 {
		q.next()
	}
	n := copy(dst, q.ready)
	q.ready = q.ready[n:]
	return n
}

func (q *batches) Retry(r footfall.Record, _ error) (footfall.Record, bool) { return r, true }

func (q *batches) Settle([]footfall.Record, footfall.Outcome, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.left > 0:
		q.next()
	case q.left == 0:
		q.left = -1
		q.source.Close()
	}
	q.source.Wake()
}

func BenchmarkTrackDurable(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run("callers="+strconv.Itoa(callers), func(b *testing.B) {
			tracker, _ := benchOpen(b, b.TempDir(), free{})
			work := make(chan struct{}, callers)
			var running sync.WaitGroup
			b.ResetTimer()
			for range callers {
				running.Go(func() {
					for range work {
						if err := tracker.TrackDurable(context.Background(), footfall.Event{Name: "order_paid"}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			running.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkDrain drains a backlog into a Next that does nothing.
func BenchmarkDrain(b *testing.B) {
	dir := b.TempDir()
	src := newBatches(100)
	s, err := spool.New(spool.Config{Dir: dir, Next: never{}, Logger: slog.New(slog.DiscardHandler), MaxBytes: 8 << 30, MaxAge: -1})
	require.NoError(b, err)
	src.unique = true
	src.start(max(b.N/100, 1))
	s.Deliver(b.Context(), src.source)
	events := s.Stats().Events
	b.ResetTimer()
	tracker, _ := benchOpen(b, dir, free{})
	require.NoError(b, tracker.Flush(b.Context()))
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkFileAfterSteadyLoad measures the file after b.N events that were all delivered.
func BenchmarkFileAfterSteadyLoad(b *testing.B) {
	dir := b.TempDir()
	tracker, _ := benchOpen(b, dir, free{})
	for range b.N {
		for trackOne(tracker) != nil {
			_ = tracker.Flush(context.Background())
		}
	}
	require.NoError(b, tracker.Flush(context.Background()))
	found, _ := filepath.Glob(filepath.Join(dir, "*.db"))
	info, err := os.Stat(found[0])
	require.NoError(b, err)
	b.ReportMetric(float64(info.Size())/1024, "KiB")
}

// BenchmarkTrackBurst measures only the caller. Bursts do not wake the spool, and are stored
// while the timer is stopped.
func BenchmarkTrackBurst(b *testing.B) {
	tracker, _ := benchOpen(b, b.TempDir(), free{})
	b.ReportAllocs()
	for n := 0; n < b.N; {
		burst := min(64, b.N-n)
		for range burst {
			_ = trackOne(tracker)
		}
		n += burst
		b.StopTimer()
		_ = tracker.Flush(context.Background())
		b.StartTimer()
	}
}

// BenchmarkDisk measures writing a page with fsync. A transaction waits for two.
func BenchmarkDisk(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	require.NoError(b, err)
	page := make([]byte, 4096)
	for n := range b.N {
		_, err := f.WriteAt(page, int64(n%1000)*4096)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
	}
	require.NoError(b, f.Close())
}
