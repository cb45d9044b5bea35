//go:build ci && linux

package fleet

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// config is the Config of the stream. A program or relay connects to the first of urls.
func config(urls string) stream.Config {
	return stream.Config{URL: urls, MaxBytes: 64 << 20, Timeout: 2 * time.Second, Options: []nats.Option{nats.DontRandomize()}}
}

// open opens a tracker that closes with the test.
func open(t *testing.T, cfg stream.Config) *footfall.Tracker {
	t.Helper()
	tr, err := stream.Open(footfall.Config{
		SiteID: "site_test", DefaultURL: "https://example.com/", FlushInterval: 10 * time.Millisecond,
		BackoffMin: 10 * time.Millisecond, BackoffMax: 200 * time.Millisecond, Logger: new(footfalltest.Log).Logger(),
	}, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = tr.Close(ctx)
	})
	return tr
}

// track tracks n events.
func track(t *testing.T, tr *footfall.Tracker, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, tr.Track(t.Context(), "tested", footfall.P("n", i)))
	}
}

// flush waits until the events are Stored.
func flush(t *testing.T, tr *footfall.Tracker, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	require.NoError(t, tr.Flush(ctx))
}

// relay runs a relay until the test ends or stop is called.
func relay(t *testing.T, api *footfalltest.API, cfg stream.Config) (r *stream.Relay, stop func()) {
	t.Helper()
	client := api.Config()
	client.BackoffMin, client.BackoffMax = 10*time.Millisecond, 200*time.Millisecond
	r, err := stream.NewRelay(client, cfg, stream.RelayConfig{AckWait: 3 * time.Second})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); assert.NoError(t, <-done) })
	t.Cleanup(stop)
	return r, stop
}

// arrive waits until n events have arrived, each once.
func arrive(t *testing.T, api *footfalltest.API, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(api.Events()) >= n }, patience, 5*time.Millisecond)
	assert.Len(t, api.Events(), n)
}

// traffic tracks an event each millisecond until stop is called, which returns how many.
func traffic(t *testing.T, tr *footfall.Tracker) (stop func() int) {
	over, tracked := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		defer func() { tracked <- n }()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if tr.Track(context.Background(), "tested", footfall.P("n", n)) == nil {
					n++
				}
			case <-over:
				return
			}
		}
	}()
	stop = sync.OnceValue(func() int { close(over); return <-tracked })
	t.Cleanup(func() { stop() })
	return stop
}
