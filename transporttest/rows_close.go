package transporttest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// closeRows test Close.
var closeRows = []row{
	{"Close delivers events that wait in backoff", closeDelivers},
	{"Close gives every event one last attempt and returns the number of lost events", closeGivesALastAttempt},
	{"Close returns at its deadline from a server that hangs", closeFromAHungServer},
	{"Close returns at its deadline from an address that does not connect", closeFromNowhere},
	{"Close closes connections", closeLetsGo},
}

func closeDelivers(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	api.Next(footfalltest.Status(503))
	r := start(t, open, api.Config(), patient, alone)
	r.track(t, 100)
	require.Eventually(t, func() bool { return len(api.Requests()) > 0 }, patience, time.Millisecond)
	require.NoError(t, r.close(10*time.Second))
	r.counts(t, 100, 0)
	assert.Len(t, api.Events(), 100)
}

func closeGivesALastAttempt(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Status(503))
	r := start(t, open, api.Config(), patient, alone)
	r.track(t, 100)
	require.Eventually(t, func() bool { return len(api.Requests()) > 0 }, patience, time.Millisecond)
	assert.False(t, r.settles(50*time.Millisecond)) // the first attempts of all events are answered
	before := len(api.Requests())
	err := r.close(10 * time.Second)
	var account *footfall.CloseError
	require.ErrorAs(t, err, &account)
	assert.Equal(t, uint64(100), account.Lost)
	var apiErr *footfall.APIError
	require.ErrorAs(t, err, &apiErr, "why they are lost")
	assert.Equal(t, 503, apiErr.Status)
	assert.Equal(t, before+100, len(api.Requests()))
	r.counts(t, 0, 0)
}

// lateClose closes with a deadline, loses n events and returns in time.
func lateClose(t *testing.T, r *rig, n int) {
	t.Helper()
	began := time.Now()
	err := r.close(300 * time.Millisecond)
	assert.Less(t, time.Since(began), 2*time.Second)
	var account *footfall.CloseError
	require.ErrorAs(t, err, &account)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, uint64(n), account.Lost)
	assert.NotContains(t, r.String(), "does not accept events", "an attempt that was cut off says nothing about the API")
}

func closeFromAHungServer(t *testing.T, open Open) {
	for name, first := range map[string]string{"before the answer": "", "in the header": "HTTP/1.1 202 Acc", "in the body of an error": "HTTP/1.1 404 Not Found\r\nContent-Length: 60\r\n\r\n{"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			for range 200 {
				w.script(reply{first, hang})
			}
			r := start(t, open, config(w.url), func(c *footfall.Config) { c.MaxInFlight, c.AttemptTimeout = 8, time.Minute })
			r.track(t, 100)
			require.Eventually(t, func() bool { return len(w.requests()) == 8 }, patience, time.Millisecond)
			lateClose(t, r, 100)
			require.Eventually(t, func() bool { _, open := w.connections(); return open == 0 }, patience, time.Millisecond, "open requests are cut off")
			assert.Len(t, w.requests(), 8, "nothing is sent after Close returned")
		})
	}
}

// An unanswered handshake, as with a firewall that drops packets.
func closeFromNowhere(t *testing.T, open Open) {
	w := newWire(t)
	cfg := config("https" + w.url[len("http"):])
	w.mute()
	r := start(t, open, cfg, func(c *footfall.Config) { c.MaxInFlight, c.AttemptTimeout = 2, time.Minute })
	r.track(t, 10)
	require.Eventually(t, func() bool { made, _ := w.connections(); return made == 2 }, patience, time.Millisecond)
	lateClose(t, r, 10)
	w.waitUntilClosed(t)
}

func closeLetsGo(t *testing.T, open Open) {
	w := newWire(t)
	r := start(t, open, config(w.url))
	r.deliver(t, 100)
	_, kept := w.connections()
	assert.Positive(t, kept)
	require.NoError(t, r.close(10*time.Second))
	w.waitUntilClosed(t)
}
