package footfall_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named returns answer for events with the given name, and accepts all others after two
// milliseconds.
func named(name string, answer func(*http.Request, string) (*http.Response, error)) func(*http.Request, string) (*http.Response, error) {
	return func(r *http.Request, body string) (*http.Response, error) {
		if strings.Contains(body, `"`+name+`"`) {
			return answer(r, body)
		}
		time.Sleep(2 * time.Millisecond)
		return answerStatus(202)(r, body)
	}
}

// suspected tracks an event that fails repeatedly while the API accepts others.
func suspected(t *testing.T, f *fakeNet, tracker *footfall.Tracker) {
	t.Helper()
	f.set(named("poison", answerStatus(500)))
	require.NoError(t, tracker.Track(context.Background(), "poison"))
	for range 300 {
		track(t, tracker, 10)
		time.Sleep(time.Second)
	}
	time.Sleep(2 * time.Second)
	require.Equal(t, uint64(1), tracker.Stats().Queued)
}

func TestARetryDoesNotWaitForAnEventThatKeepsFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f)
		suspected(t, f, tracker)
		once := inTurn(reply{time.Millisecond, answerStatus(500)}, reply{0, answerStatus(202)})
		poison := named("poison", answerStatus(500))
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, `"once"`) {
				return once(r, body)
			}
			return poison(r, body)
		})
		require.NoError(t, tracker.Track(context.Background(), "once"))
		track(t, tracker, 99)
		time.Sleep(2 * time.Second)
		assert.Equal(t, uint64(1), tracker.Stats().Queued, "the one that keeps failing")
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestCloseRetriesAnEventThatKeepsFailingWhileTheAPIAcceptsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f)
		suspected(t, f, tracker)
		f.set(named("poison", inTurn(
			reply{100 * time.Millisecond, answerStatus(500)}, // the others are accepted earlier
			reply{0, answerStatus(202)},
		)))
		track(t, tracker, 20)
		require.NoError(t, closeWithin(tracker, 10*time.Minute))
	})
}

func TestCloseRetriesEventsThatFailedBeforeTheAPIAcceptedAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(inTurn(reply{0, answerStatus(500)}, reply{0, answerStatus(202)}))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.FlushInterval = 1, time.Hour })
		track(t, tracker, 2)
		began := time.Now()
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Less(t, time.Since(began), time.Second)
	})
}

func TestEventsThatKeepFailingHaveFewOfTheSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		var inFlight, most atomic.Int64
		f.set(named("slow", func(r *http.Request, body string) (*http.Response, error) {
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			time.Sleep(5 * time.Second)
			return answerStatus(500)(r, body)
		}))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 20 })
		for range 50 {
			require.NoError(t, tracker.Track(context.Background(), "slow"))
		}
		for i := range 600 {
			track(t, tracker, 10)
			time.Sleep(time.Second)
			if i == 300 {
				most.Store(0)
			}
		}
		assert.Positive(t, most.Load())
		assert.LessOrEqual(t, most.Load(), int64(2))
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAnEventThatKeptFailingIsDeliveredByFewSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 5 })
		suspected(t, f, tracker)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestCloseRetriesEventsThatFailedBeforeTheAPIRefusedAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(inTurn(reply{0, answerStatus(500)}, reply{0, answerRefused(400)}, reply{0, answerStatus(202)}))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.FlushInterval = 1, time.Hour })
		track(t, tracker, 2)
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Equal(t, footfall.Stats{Tracked: 2, Delivered: 1, Rejected: 1}, tracker.Stats())
	})
}

func TestAnOutageDuringCloseCostsFewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(inTurn(reply{0, answerStatus(202)}, reply{0, answerStatus(500)}))
		tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval, c.BatchSize = time.Hour, 1000 })
		track(t, tracker, 500)
		require.Error(t, closeWithin(tracker, 30*time.Second))
		assert.InDelta(t, 500, f.requests(), 200, "one attempt each, and the probes of half a minute")
	})
}
