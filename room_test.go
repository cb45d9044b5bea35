package footfall_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// padded tracks n events of some thousand bytes each.
func padded(t *testing.T, tracker *footfall.Tracker, n int) {
	t.Helper()
	for range n {
		require.NoError(t, tracker.Track(context.Background(), "padded", footfall.P("p", strings.Repeat("x", 1000))))
	}
}

func small(c *footfall.Config) {
	c.DropOldest, c.MaxQueueBytes, c.MaxInFlight, c.Limits.PropText = true, 40_000, 1, 20_000
}

func TestDropOldestRefusesNothingAfterManyEventsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f, small)
		for range 50 {
			padded(t, tracker, 20)
			require.NoError(t, tracker.Flush(context.Background()))
		}
		f.set(answerHang) // one event is in flight
		padded(t, tracker, 200)
		s := tracker.Stats()
		assert.Zero(t, s.Refused)
		assert.Positive(t, s.Dropped)
		balanced(t, s)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestDropOldestDropsNoMoreThanNeededAfterManyRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(failFirstOfEvery(1, 500))
		tracker := start(t, f, small)
		for range 50 {
			padded(t, tracker, 20)
			require.NoError(t, tracker.Flush(context.Background()))
		}
		f.set(answerHang)
		large := footfall.P("p", strings.Repeat("x", 20_000))
		require.NoError(t, tracker.Track(context.Background(), "on_its_way", large))
		time.Sleep(500 * time.Millisecond) // shorter than an attempt that may be interrupted
		padded(t, tracker, 5)
		assert.ErrorIs(t, tracker.Track(context.Background(), "too_large", large), footfall.ErrQueueFull)
		assert.Zero(t, tracker.Stats().Dropped)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestDropOldestDropsTheOldestFailedEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		f.set(answerDown)
		tracker := start(t, f, func(c *footfall.Config) { c.DropOldest, c.MaxQueueEvents = true, 64 })
		track(t, tracker, 64)
		time.Sleep(5 * time.Second) // eight events were sent at once, and some as probes
		track(t, tracker, 4)
		f.set(answerStatus(202))
		f.bodies = nil
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Equal(t, uint64(4), tracker.Stats().Dropped)
		for n := range 4 {
			of := `"n":` + strconv.Itoa(n) + `}`
			times := 0
			for _, body := range f.bodies {
				if strings.Contains(body, of) {
					times++
				}
			}
			assert.Equal(t, 1, times, "number %d of the new events only", n)
		}
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}
