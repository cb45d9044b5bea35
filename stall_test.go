package footfall_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// While all senders are busy, the transport looks at the queue less and less often. This ends
// when a sender is free again.
func TestAnEventAfterABusyTimeWaitsForTheIntervalAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(named("slow", func(r *http.Request, body string) (*http.Response, error) {
			time.Sleep(800 * time.Millisecond)
			return answerStatus(202)(r, body)
		}))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.FlushInterval = 1, 100*time.Millisecond })
		require.NoError(t, tracker.Track(context.Background(), "slow"))
		time.Sleep(10 * time.Millisecond)
		track(t, tracker, 1)
		time.Sleep(840 * time.Millisecond)
		require.Equal(t, uint64(2), tracker.Stats().Delivered)
		track(t, tracker, 1)
		time.Sleep(103 * time.Millisecond)
		assert.Equal(t, uint64(3), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// After an outage all events are retries. One sender is started for several of them, and may be
// stuck with the first.
func TestARetryDoesNotWaitForAnotherThatHangs(t *testing.T) {
	for range 10 { // the order is random
		synctest.Test(t, func(t *testing.T) {
			f := newFakeNet()
			f.set(answerStatus(503))
			tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.AttemptTimeout = 8, time.Minute })
			require.NoError(t, tracker.Track(context.Background(), "hangs"))
			track(t, tracker, 7)
			time.Sleep(10 * time.Minute)
			f.set(named("hangs", answerHang))
			waitFor(t, tracker, 1, 2*time.Minute)
			waitFor(t, tracker, 7, 250*time.Millisecond) // two looks
			assert.Error(t, closeWithin(tracker, time.Second))
		})
	}
}
