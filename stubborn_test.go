package footfall_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

func TestCloseWaitsForAnAPIThatLimitsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 5 * time.Millisecond
		var mu sync.Mutex
		var window int64
		used := 0
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if now := time.Now().Unix(); now != window {
				window, used = now, 0
			}
			if used++; used > 20 {
				return answerRetryAfter(429, "1")(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		track(t, tracker, 20)
		require.NoError(t, tracker.Flush(t.Context()))
		track(t, tracker, 20)
		require.NoError(t, closeWithin(tracker, 10*time.Second))
	})
}

func TestCloseRetriesAnEventThatFailedJustBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 5 * time.Millisecond
		f.set(failFirst("last", 2))
		tracker := start(t, f, func(c *footfall.Config) { c.BackoffMin, c.BackoffMax = 10*time.Second, 10*time.Second })
		track(t, tracker, 5000)
		require.NoError(t, tracker.Flush(t.Context()))
		require.NoError(t, tracker.Track(t.Context(), "last"))
		time.Sleep(6 * time.Millisecond) // it has failed once
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// failFirst fails the first n attempts of events with the given name.
func failFirst(name string, n int) func(*http.Request, string) (*http.Response, error) {
	var mu sync.Mutex
	failed := 0
	return named(name, func(r *http.Request, body string) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if failed++; failed <= n {
			return answerStatus(503)(r, body)
		}
		return answerStatus(202)(r, body)
	})
}

func TestAHangingProbeDoesNotDelayANewEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond
		tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
		track(t, tracker, 10)
		time.Sleep(time.Second)
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if answer, err := named("fails", answerStatus(500))(r, body); err != nil || answer.StatusCode != 202 {
				return answer, err
			}
			return named("hangs", answerHang)(r, body)
		})
		require.NoError(t, tracker.Track(t.Context(), "fails"))
		require.NoError(t, tracker.Track(t.Context(), "hangs"))
		time.Sleep(2 * time.Second)
		within, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.NoError(t, tracker.TrackDurable(within, footfall.Event{Name: "good"}))
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

// Many events have failed, and no event has arrived that could overlap the probe.
func TestAHangingProbeInAnOutageDoesNotDelayALaterEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond
		f.set(answerStatus(500))
		tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
		track(t, tracker, 20)
		time.Sleep(5 * time.Minute)
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if answer, err := named("good", answerStatus(418))(r, body); err == nil && answer.StatusCode == 418 {
				return answerStatus(202)(r, body)
			}
			return answerHang(r, body)
		})
		time.Sleep(time.Minute) // a probe hangs
		within, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.NoError(t, tracker.TrackDurable(within, footfall.Event{Name: "good"}))
		assert.Error(t, closeWithin(tracker, 0))
	})
}

// A 429 without a Retry-After may be about one event only.
func TestAnEventThatIsAlwaysAnswered429DelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond
		f.set(poisoned(answerStatus(429)))
		tracker := start(t, f)
		for range 100 {
			poison(t, tracker, 1)
			time.Sleep(2 * time.Second)
			within, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			require.NoError(t, tracker.TrackDurable(within, footfall.Event{Name: "good"}))
			cancel()
			time.Sleep(13 * time.Second)
		}
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestEventsThatHangHaveATenthOfTheTimeOfFewSenders(t *testing.T) {
	for _, inFlight := range []int{1, 2, 4} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeNet()
			f.latency = 10 * time.Millisecond
			f.set(poisoned(answerHang))
			tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.AttemptTimeout = inFlight, time.Second })
			poison(t, tracker, 50)
			for range 360 { // each fails while others are accepted
				track(t, tracker, 1)
				time.Sleep(10 * time.Second)
			}
			most := 100 * 60 * inFlight
			track(t, tracker, most)
			before := tracker.Stats().Delivered
			time.Sleep(time.Minute)
			assert.GreaterOrEqual(t, float64(tracker.Stats().Delivered-before), 0.85*float64(most), "with %d in flight", inFlight)
			assert.Error(t, closeWithin(tracker, 0))
		})
	}
}

func TestTrackDurableThatCloseEndsNamesTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(401))
		tracker := start(t, f)
		ended := make(chan error, 1)
		go func() { ended <- tracker.TrackDurable(context.Background(), footfall.Event{Name: "x"}) }()
		time.Sleep(3 * time.Second)
		require.Error(t, closeWithin(tracker, 0))
		assert.ErrorContains(t, <-ended, "401")
	})
}
