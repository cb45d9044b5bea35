package footfall_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// with makes a tracker with a Transport of a test's own.
func with(t *testing.T, transport footfall.Transport, change ...func(*footfall.Config)) *footfall.Tracker {
	t.Helper()
	return start(t, nil, append(change, func(c *footfall.Config) { c.Transport = transport })...)
}

// twoWaiters is a Transport that takes from two goroutines.
type twoWaiters struct{ discard }

func (w twoWaiters) Deliver(ctx context.Context, src footfall.Source) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { w.discard.Deliver(ctx, src) })
	}
	both.Wait()
}

func TestSeveralGoroutinesMayWaitForEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := with(t, twoWaiters{})
		track(t, tracker, 10)
		require.NoError(t, tracker.Flush(context.Background()))
		synctest.Wait()
		began := time.Now()
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Zero(t, time.Since(began), "all of them are told that there will be no more")
	})
}

// forgetful is a Transport that lets go of the body of a record it gives back, and
// settles each record twice.
type forgetful struct{}

func (forgetful) Deliver(ctx context.Context, src footfall.Source) {
	one := make([]footfall.Record, 1)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for src.Take(one) == 1 {
			r := one[0]
			r.Body = nil
			src.Settle(r, footfall.Delivered, nil)
			src.Settle(r, footfall.Rejected, nil)
		}
	}
}

func TestCountsDoNotDependOnWhatATransportHandsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := with(t, forgetful{})
		track(t, tracker, 10)
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Equal(t, footfall.Stats{Tracked: 10, Delivered: 10}, tracker.Stats())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestDropOldestDropsNothingUnlessThatMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f, func(c *footfall.Config) {
			c.DropOldest, c.MaxQueueBytes, c.MaxInFlight = true, 40_000, 1
		})
		large := footfall.P("p", strings.Repeat("x", 20_000))
		require.NoError(t, tracker.Track(context.Background(), "on_its_way", large))
		time.Sleep(2 * time.Second)
		track(t, tracker, 5)
		assert.ErrorIs(t, tracker.Track(context.Background(), "too_large", large), footfall.ErrQueueFull)
		assert.Zero(t, tracker.Stats().Dropped)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestMemoryOfSmallEventsDoesNotDependOnMaxEventBytes(t *testing.T) {
	f := newFakeNet()
	f.set(answerHang)
	before := heap()
	tracker := start(t, f, func(c *footfall.Config) { c.MaxEventBytes = 16 << 20 })
	track(t, tracker, 1)
	assert.Less(t, int64(heap())-int64(before), int64(1<<20))
	_ = closeWithin(tracker, time.Millisecond)
}

func TestEventLargerThanASlabIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f, func(c *footfall.Config) { c.MaxEventBytes = 1 << 20 })
		text := strings.Repeat("x", 300_000)
		for range 3 {
			require.NoError(t, tracker.Track(context.Background(), "large", footfall.P("p", text)))
			track(t, tracker, 1)
		}
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Len(t, f.bodies, 6)
		for _, body := range f.bodies {
			assert.True(t, strings.HasPrefix(body, `{"site_id"`) && strings.HasSuffix(body, `}}`))
		}
	})
}

// The one sender there may be ends just when an event comes: it must not be left
// until the interval is over.
func TestEventThatComesWhileTheLastSenderEndsIsNotLeft(t *testing.T) {
	f := newFakeNet()
	tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 1; c.FlushInterval = time.Hour })
	for range 20_000 {
		track(t, tracker, 1)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		require.NoError(t, tracker.Flush(ctx))
		cancel()
	}
	require.NoError(t, closeWithin(tracker, time.Second))
}
