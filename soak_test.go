//go:build soak

package footfall_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// soakFor is the duration of `make soak`.
const soakFor = 10 * time.Minute

// TestSoak tracks 200 events a second. The API fails in a new way every few seconds. No event
// may be lost.
func TestSoak(t *testing.T) {
	api := footfalltest.NewAPI(t)
	cfg := api.Config()
	cfg.MaxQueueEvents = 100_000
	cfg.AttemptTimeout = time.Second
	cfg.BackoffMin, cfg.BackoffMax = 50*time.Millisecond, 2*time.Second
	cfg.ProbeMin, cfg.ProbeMax = 50*time.Millisecond, 2*time.Second
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	moods := []footfalltest.Answer{
		nil, nil, nil, footfalltest.Status(500), footfalltest.Status(401), footfalltest.Reset(), footfalltest.Hang(),
		footfalltest.RetryAfter("1"), footfalltest.AcceptThenReset(), footfalltest.Body(200, "text/html", "<html>"),
		footfalltest.Delay(20*time.Millisecond, footfalltest.Accept()),
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	began, tracked, most := time.Now(), 0, 0
	for time.Since(began) < soakFor {
		<-tick.C
		if tracked%1000 == 0 {
			api.Always(moods[rand.IntN(len(moods))])
			most = max(most, runtime.NumGoroutine())
			s := tracker.Stats()
			t.Logf("%6.0fs %+v goroutines=%d heap=%d KiB", time.Since(began).Seconds(), s, runtime.NumGoroutine(), heap()>>10)
			balanced(t, s)
		}
		require.NoError(t, tracker.Track(context.Background(), "soaked", footfall.P("n", tracked)))
		tracked++
	}
	api.Always(nil)
	require.NoError(t, closeWithin(tracker, time.Minute))
	assert.Equal(t, uint64(tracked), tracker.Stats().Delivered)
	assert.Len(t, api.Events(), tracked)
	t.Logf("tracked and delivered %d, at most %d goroutines", tracked, most)
}
