package transporttest

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// poisonRows test events that the API never accepts while it accepts others, and the errors
// of calls that run out of time. They also apply to transports that store events.
var poisonRows = []row{
	{"one event that always fails delays no other", oneDelaysNoOther},
	{"hundreds of events that always fail do not stop the others", hundredsStopNone},
	{"a request that hangs delays no other event", hangDelaysNone},
	{"requests that hang are interrupted if no sender is free", hangsGiveWay},
	{"Close retries while the API accepts anything", closeRetries},
	{"an API that accepts every second attempt receives all events", everySecondAttempt},
	{"Flush that runs out of time names the last answer", flushNamesTheAnswer},
}

// RunDelivery runs the tests that also apply to transports that store events before they deliver
// them.
func RunDelivery(t *testing.T, open Open) {
	t.Helper()
	runRows(t, open, nil, poisonRows, callbackRows)
}

// poison makes an API answer bad to events with this name.
func poison(api *footfalltest.API, bad footfalltest.Answer) {
	good := footfalltest.Accept()
	api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
		if e.Name == "poison" {
			bad(a, w, r, e)
			return
		}
		good(a, w, r, e)
	})
}

func (r *rig) poison(t *testing.T, n int) {
	t.Helper()
	for range n {
		require.NoError(t, r.Track(t.Context(), "poison"))
	}
}

// arrive waits until the API has accepted n events.
func arrive(t *testing.T, api *footfalltest.API, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(api.Events()) >= n }, patience, time.Millisecond)
	assert.Len(t, api.Events(), n)
}

var badAnswers = map[string]footfalltest.Answer{
	"500": footfalltest.Status(500), "403": footfalltest.Status(403), "a login page": footfalltest.Body(200, "text/html", login),
	"no answer": footfalltest.Reset(), "a hang": footfalltest.Hang(),
}

// forEachBadAnswer runs test with each of the answers to events named poison.
func forEachBadAnswer(t *testing.T, open Open, test func(*testing.T, *footfalltest.API, *rig)) {
	for name, bad := range badAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := footfalltest.NewAPI(t)
			poison(api, bad)
			test(t, api, start(t, open, api.Config(), func(c *footfall.Config) { c.AttemptTimeout = 200 * time.Millisecond }))
		})
	}
}

func oneDelaysNoOther(t *testing.T, open Open) {
	forEachBadAnswer(t, open, func(t *testing.T, api *footfalltest.API, r *rig) {
		r.poison(t, 1)
		require.Eventually(t, func() bool { return len(api.Requests()) > 2 }, patience, time.Millisecond)
		for i := range 10 {
			r.track(t, 8)
			arrive(t, api, 8*(i+1))
		}
	})
}

func hundredsStopNone(t *testing.T, open Open) {
	forEachBadAnswer(t, open, func(t *testing.T, api *footfalltest.API, r *rig) {
		r.track(t, 100)
		r.poison(t, 200)
		r.track(t, 900)
		arrive(t, api, 1000)
		r.track(t, 500)
		arrive(t, api, 1500)
	})
}

func hangDelaysNone(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	poison(api, footfalltest.Hang())
	r := start(t, open, api.Config(), func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
	for i := range 20 {
		r.poison(t, 1)
		require.Eventually(t, func() bool { return len(api.Requests()) == 2*i+1 }, patience, time.Millisecond)
		r.track(t, 1)
		arrive(t, api, i+1)
	}
}

func hangsGiveWay(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	poison(api, footfalltest.Hang())
	r := start(t, open, api.Config(), func(c *footfall.Config) { c.MaxInFlight, c.AttemptTimeout = 2, 15*time.Second })
	r.track(t, 1)
	arrive(t, api, 1)
	r.poison(t, 24) // 3 min without an interruption
	r.track(t, 20)
	arrive(t, api, 21)
}

func closeRetries(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	var n atomic.Int64
	good, bad := footfalltest.Accept(), footfalltest.Status(503)
	api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
		if n.Add(1)%50 == 0 {
			bad(a, w, r, e)
			return
		}
		good(a, w, r, e)
	})
	r := start(t, open, api.Config(), func(c *footfall.Config) { c.FlushInterval, c.BatchSize = time.Hour, 1<<20 })
	r.track(t, 2000)
	require.NoError(t, r.close(30*time.Second))
	assert.Len(t, api.Events(), 2000)
	r.counts(t, 2000, 0)
}

func everySecondAttempt(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	tried := make(chan map[string]bool, 1)
	tried <- make(map[string]bool)
	good, bad := footfalltest.Accept(), footfalltest.Status(503)
	api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
		seen := <-tried
		again := seen[r.Header.Get("Idempotency-Key")]
		seen[r.Header.Get("Idempotency-Key")] = true
		tried <- seen
		if again {
			good(a, w, r, e)
			return
		}
		bad(a, w, r, e)
	})
	r := start(t, open, api.Config())
	r.deliver(t, 300)
	r.counts(t, 300, 0)
	assert.Len(t, api.Events(), 300)
	assert.Len(t, api.Requests(), 600)
}

func flushNamesTheAnswer(t *testing.T, open Open) {
	for status, answer := range map[int]footfalltest.Answer{401: footfalltest.Status(401), 503: footfalltest.Status(503)} {
		api := footfalltest.NewAPI(t)
		api.Always(answer)
		r := start(t, open, api.Config())
		r.track(t, 3)
		require.Eventually(t, func() bool { return len(api.Requests()) > 1 }, patience, time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := r.Flush(ctx)
		cancel()
		late, ok := errors.AsType[*footfall.FlushError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, uint64(3), late.Unsettled)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		refusal, ok := errors.AsType[*footfall.APIError](late.Cause)
		require.True(t, ok, "%v", err)
		assert.Equal(t, status, refusal.Status)
	}
}
