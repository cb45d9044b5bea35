package footfall_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRequestsInFlightGrowWithTheBacklogAndShrinkWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 20 * time.Millisecond
		tracker := start(t, f)
		track(t, tracker, 5000)
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Equal(t, 64, f.mostInFlight(), "a backlog uses the bound")
		synctest.Wait()
		assert.Equal(t, 0, f.mostInFlight())
		for range 100 { // 20 events a second
			track(t, tracker, 1)
			time.Sleep(50 * time.Millisecond)
		}
		assert.LessOrEqual(t, f.mostInFlight(), 4)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestFewEventsTakeFewConnectionsToADistantAPI(t *testing.T) {
	for _, latency := range []time.Duration{25 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.latency = latency
				tracker := start(t, f)
				for range 600 { // 20 a second
					track(t, tracker, 1)
					time.Sleep(50 * time.Millisecond)
				}
				assert.LessOrEqual(t, f.mostInFlight(), 4)
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

func TestEightEventsTakeOneSenderToANearAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond
		tracker := start(t, f)
		for range 50 {
			track(t, tracker, 1)
			time.Sleep(10 * time.Millisecond) // its sender has ended
			track(t, tracker, 8)
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, 450, f.requests())
		assert.Equal(t, 1, f.mostInFlight())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// A sender delivers few events within the interval if the API is distant. Events must not wait
// until a running sender has delivered eight.
func TestEventsDoNotWaitForSendersOfADistantAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 25 * time.Millisecond
		tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval = 10 * time.Millisecond })
		most := uint64(0)
		for range 2000 { // 500 a second; 12 or 13 are in flight
			track(t, tracker, 1)
			most = max(most, tracker.Stats().Queued)
			time.Sleep(2 * time.Millisecond)
		}
		assert.LessOrEqual(t, most, uint64(30))
		assert.LessOrEqual(t, f.mostInFlight(), 30)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestMaxInFlightIsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 20 * time.Millisecond
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 3 })
		track(t, tracker, 1000)
		time.Sleep(time.Second)
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Equal(t, 3, f.mostInFlight())
	})
}

func TestIdleTrackerHasOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := goroutinesOfBubble()
		tracker := start(t, newFakeNet())
		track(t, tracker, 1000)
		require.NoError(t, tracker.Flush(context.Background()))
		synctest.Wait()
		assert.Equal(t, before+1, goroutinesOfBubble())
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}
