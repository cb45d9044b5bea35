package stream_test

import (
	"context"
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
	"github.com/footfall-dev/footfall/transporttest"
)

// TestMain is also the main function of a NATS server and of programs that tests kill.
func TestMain(m *testing.M) {
	if conf := os.Getenv(serverConf); conf != "" {
		runServer(conf)
		return
	}
	if url := os.Getenv(relayURL); url != "" {
		runRelay(url)
		return
	}
	if url := os.Getenv(appURL); url != "" {
		runApp(url)
		return
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // tests wait for servers more than they compute
	transporttest.Main(m)
}

// single is the Config of a stream on one server.
func single(url string) stream.Config {
	return stream.Config{URL: url, Replicas: 1, MaxBytes: 64 << 20, Timeout: 2 * time.Second}
}

// quick returns a tracker's Config with short intervals.
func quick(log *footfalltest.Log) footfall.Config {
	return footfall.Config{
		SiteID: "site_test", DefaultURL: "https://example.com/", FlushInterval: 10 * time.Millisecond,
		BackoffMin: 10 * time.Millisecond, BackoffMax: 200 * time.Millisecond, Logger: log.Logger(),
	}
}

// open opens a tracker that closes with the test.
func open(t testing.TB, tracker footfall.Config, cfg stream.Config) *footfall.Tracker {
	t.Helper()
	tr, err := stream.Open(tracker, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = closeWithin(tr, time.Second) })
	return tr
}

func closeWithin(tr *footfall.Tracker, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return tr.Close(ctx)
}

func flushWithin(tr *footfall.Tracker, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return tr.Flush(ctx)
}

// track tracks n events.
func track(t testing.TB, tr *footfall.Tracker, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, tr.Track(t.Context(), "tested", footfall.P("n", i)))
	}
}

// publish tracks n events and waits until they are Stored.
func publish(t testing.TB, tr *footfall.Tracker, n int) {
	t.Helper()
	track(t, tr, n)
	require.NoError(t, flushWithin(tr, patience))
}

// running is a relay that runs.
type running struct {
	*stream.Relay
	stop func() error
}

// relay runs a relay to api until the test ends or stop is called.
func relay(t testing.TB, api *footfalltest.API, cfg stream.Config, c stream.RelayConfig, change ...func(*footfall.Config)) *running {
	t.Helper()
	client := api.Config()
	client.BackoffMin, client.BackoffMax = 10*time.Millisecond, 200*time.Millisecond
	client.ProbeMin, client.ProbeMax = 10*time.Millisecond, 200*time.Millisecond
	client.OnRejected = func(*footfall.RejectedError) {}
	for _, f := range change {
		f(&client)
	}
	r, err := stream.NewRelay(client, cfg, c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { assert.NoError(t, stop()) })
	return &running{r, stop}
}

// arrive waits until n events have arrived, each once.
func arrive(t testing.TB, api *footfalltest.API, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(api.Events()) >= n }, patience, 5*time.Millisecond, "%d of %d arrived", len(api.Events()), n)
	assert.Len(t, api.Events(), n)
}

// manage returns JetStream for the inspection of streams.
func manage(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return js
}

// messages returns the number of messages of a stream.
func messages(t testing.TB, js jetstream.JetStream, name string) int {
	t.Helper()
	s, err := js.Stream(context.Background(), name)
	require.NoError(t, err)
	return int(s.CachedInfo().State.Msgs)
}

// empty waits until the stream is empty.
func empty(t testing.TB, js jetstream.JetStream) {
	t.Helper()
	require.Eventually(t, func() bool { return messages(t, js, "FOOTFALL") == 0 }, patience, 10*time.Millisecond)
}
