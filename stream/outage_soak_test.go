//go:build soak && unix

package stream_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// TestSoakOutage tracks events while the API is down for four minutes, with the default times of relay
// and transport. The events arrive when the API is back, none twice.
func TestSoakOutage(t *testing.T) {
	n, api := startNode(t, ""), footfalltest.NewAPI(t)
	awaitJetStream(t, n.url)
	cfg := single(n.url)
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	api.Always(footfalltest.Status(http.StatusServiceUnavailable))
	slowly := func(c *footfall.Config) { c.BackoffMin, c.BackoffMax, c.ProbeMin, c.ProbeMax = 0, 0, 0, 0 } // the defaults
	one, two := relay(t, api, cfg, stream.RelayConfig{}, slowly), relay(t, api, cfg, stream.RelayConfig{}, slowly)
	const outage = 4 * time.Minute
	tracked := 0
	for began := time.Now(); time.Since(began) < outage; time.Sleep(100 * time.Millisecond) {
		track(t, tr, 10)
		tracked += 10
	}
	require.NoError(t, flushWithin(tr, patience))
	during := len(api.Requests())
	assert.Zero(t, one.Stats().Redelivered+two.Stats().Redelivered)
	assert.LessOrEqual(t, one.Stats().Held+two.Stats().Held, 2*1024)
	api.Always(footfalltest.Accept())
	arrive(t, api, tracked)
	empty(t, manage(t, n.url))
	t.Logf("%d events tracked; %d requests while the API was down, %d after", tracked, during, len(api.Requests())-during)
	assert.Len(t, api.Requests(), during+tracked, "none twice")
	assert.Less(t, during, 200)
}

// TestSoakRejecting measures how fast relays move events to the stream of rejected events, and back.
func TestSoakRejecting(t *testing.T) {
	_, urls := startCluster(t, always)
	api := footfalltest.NewAPI(t)
	cfg := single(urls)
	cfg.Replicas = 3
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	const n = 20_000
	publish(t, tr, n)
	api.Always(footfalltest.Status(http.StatusUnprocessableEntity))
	began := time.Now()
	r := relay(t, api, cfg, stream.RelayConfig{})
	require.Eventually(t, func() bool { return r.Stats().Rejected == n }, 10*patience, time.Millisecond)
	t.Logf("%.0f rejected events/s", n/time.Since(began).Seconds())
	require.NoError(t, r.stop())
	rejections, err := stream.OpenRejections(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(rejections.Close)
	began = time.Now()
	retried, err := rejections.Retry(t.Context())
	require.NoError(t, err)
	assert.Equal(t, n, retried)
	t.Logf("%.0f retried events/s", n/time.Since(began).Seconds())
}
