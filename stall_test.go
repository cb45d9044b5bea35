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

// While all senders are busy the queue is looked at less and less often. That ends when a
// sender is free again.
func TestAnEventThatComesAfterABusyTimeWaitsForTheIntervalAtMost(t *testing.T) {
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
