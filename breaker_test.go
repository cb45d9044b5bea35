package footfall_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSimultaneousFailuresCountAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 1000)
		time.Sleep(10 * time.Millisecond) // 64 fail
		f.set(answerStatus(202))
		began := time.Now()
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Less(t, time.Since(began), 2*time.Second)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 100 * time.Millisecond
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 5000)
		time.Sleep(5 * time.Second)
		f.mostInFlight()
		time.Sleep(time.Hour)
		assert.Equal(t, 1, f.mostInFlight())
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestProbesOfARefusedKeyStartOverAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 1)
		time.Sleep(time.Hour)
		var refused time.Time
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			refused = time.Now()
			f.set(answerStatus(202))
			return answerStatus(401)(r, body)
		})
		require.NoError(t, tracker.Flush(context.Background()))
		assert.LessOrEqual(t, time.Since(refused), time.Minute)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestEachOutageIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		tracker := start(t, f, j.into)
		for range 3 {
			f.set(answerDown)
			track(t, tracker, 10)
			time.Sleep(10 * time.Minute)
			f.set(answerStatus(202))
			require.NoError(t, tracker.Flush(context.Background()))
			synctest.Wait() // the log is written last
		}
		assert.Equal(t, []int{3, 3}, []int{j.Lines(slog.LevelWarn), j.Lines(slog.LevelInfo)}, j.String())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestABriefFailureIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(failFirstOfEvery(1, 500))
		tracker := start(t, f, j.into)
		track(t, tracker, 1)
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Empty(t, j.String())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestEventThatAlwaysFailsIsTriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		var mu sync.Mutex
		poison := 0
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, "poison") {
				mu.Lock()
				defer mu.Unlock()
				poison++
				return answerStatus(500)(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		require.NoError(t, tracker.Track(context.Background(), "poison"))
		trackFor(tracker, 10*time.Minute)
		mu.Lock()
		assert.Less(t, poison, 120, "a wait of up to 15 s each, in ten minutes")
		mu.Unlock()
		assert.Error(t, closeWithin(tracker, time.Minute))
	})
}

func TestAttemptsThatCloseCutsOffAreNotAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerHang)
		tracker := start(t, f, j.into)
		track(t, tracker, 60) // fewer than MaxInFlight
		require.Error(t, closeWithin(tracker, 2*time.Second))
		synctest.Wait()
		assert.NotContains(t, j.String(), "does not accept events")
	})
}

// Each event fails once. The first probes show that the API accepts events that were sent
// before; then retries go first.
func TestTheProbeIsAnEventOfTheKindThatWasAcceptedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		once := &failsOnce{tried: make(map[string]bool)}
		f.set(once.answer)
		tracker := start(t, f)
		for range 20 { // they start senders while the breaker is open
			track(t, tracker, 50)
			time.Sleep(time.Second)
		}
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Len(t, once.tried, 1000)
		assert.Greater(t, once.probes, 5)
		assert.Less(t, once.untried, once.probes/2, "some of what comes meanwhile is tried, too")
	})
}

// failsOnce fails the first request of every event. It counts requests that arrive after a
// failure while no other request is in flight.
type failsOnce struct {
	mu              sync.Mutex
	tried           map[string]bool
	inFlight        int
	failed          bool // the last request was
	probes, untried int
}

func (o *failsOnce) answer(r *http.Request, body string) (*http.Response, error) {
	known := o.begin(r.Header.Get("Idempotency-Key"))
	time.Sleep(time.Duration(len(body)%7+1) * time.Millisecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inFlight--
	if o.failed = !known; known {
		return answerStatus(202)(r, body)
	}
	return answerStatus(500)(r, body)
}

func (o *failsOnce) begin(id string) (known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known = o.tried[id]
	o.tried[id] = true
	if o.failed && o.inFlight == 0 {
		o.probes++
		if !known {
			o.untried++
		}
	}
	o.inFlight++
	return known
}
