package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

func TestAWrongKeyEndsTheRelay(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	publish(t, s.ClientURL(), 3)
	got := run(t, at(s, api).with("FOOTFALL_API_KEY", "other"), "relay")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "the API at "+api.URL+": ")
	assert.Contains(t, got.err, "set FOOTFALL_API_KEY to it")
	got = run(t, at(s, api).with("FOOTFALL_BASE_URL", api.URL+"/stats"), "relay")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "something other than the API answers: set FOOTFALL_BASE_URL")
	page := plain(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>a page for each path</html>") })
	got = run(t, at(s, api).with("FOOTFALL_BASE_URL", page), "relay")
	assert.Equal(t, 1, got.status, "another service answers 200")
	assert.Contains(t, got.err, "something other than the API answers: set FOOTFALL_BASE_URL")
	assert.Equal(t, 3, messages(t, s.ClientURL(), "FOOTFALL"), "nothing is taken")
}

func TestARelayStartsAfterATruncatedAnswer(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	cut := plain(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"data":[`)
	})
	p := begin(t, at(s, api).with("FOOTFALL_BASE_URL", cut), "relay")
	p.sees("the API is unavailable; the relay starts")
	p.sees("The relay takes events")
	assert.Equal(t, 0, p.stop().status)
}

func TestReadyzSaysWhyARelayIsNotReady(t *testing.T) {
	t.Parallel()
	address, dir := freeAddress(t), t.TempDir()
	same := func(o *server.Options) { o.Port, o.StoreDir = portOf(t, address), dir }
	s, api := startNATSServer(t, same), footfalltest.NewAPI(t)
	p, base := relayed(t, at(s, api))
	ready := func(want int, reason string) {
		t.Helper()
		var status int
		var body string
		require.Eventually(t, func() bool {
			status, body = get(t, base, "/readyz")
			return status == want && strings.Contains(body, reason)
		},
			patience, 20*time.Millisecond, "not %d %s", want, reason)
		live, _ := get(t, base, "/livez")
		assert.Equal(t, 200, live)
	}
	ready(200, "ok")

	api.Always(footfalltest.Status(503))
	publish(t, s.ClientURL(), 30)
	ready(503, "not ready: the API has not accepted events for ")
	assert.InDelta(t, 1, scraped(t, base)["footfall_relay_breaker_open"], 0)
	assert.InDelta(t, 0, scraped(t, base)["footfall_relay_ready"], 0)
	assert.InDelta(t, 30, scraped(t, base)["footfall_relay_lag_events"], 0)
	assert.Positive(t, scraped(t, base)["footfall_relay_lag_seconds"])
	api.Always(footfalltest.Accept())
	ready(200, "ok")
	assert.InDelta(t, 0, scraped(t, base)["footfall_relay_breaker_open"], 0)

	s.Shutdown()
	s.WaitForShutdown()
	ready(503, "not connected to NATS")
	began := time.Now()
	assert.NotContains(t, scraped(t, base), "footfall_relay_lag_events")
	assert.Less(t, time.Since(began), 3*time.Second, "a scrape does not wait for NATS")
	startNATSServer(t, same)
	ready(200, "ok")
	assert.Equal(t, 0, p.stop().status)
}

func TestARelayStartsWhileNATSAndTheAPIAreUnreachable(t *testing.T) {
	t.Parallel()
	gone, natsAt := freeAddress(t), freeAddress(t)
	api := footfalltest.NewAPI(t)
	e := envOf("http://"+gone).with("FOOTFALL_NATS_URL", "nats://"+natsAt).with("FOOTFALL_NATS_REPLICAS", "1")
	p, base := relayed(t, e)
	assert.Contains(t, p.said().err, "NATS is away")
	assert.Contains(t, p.said().err, "the API is unavailable; the relay starts")
	assert.Contains(t, p.said().err, gone)
	status, body := get(t, base, "/readyz")
	assert.Equal(t, 503, status)
	assert.Contains(t, body, "not connected to NATS")
	startNATSServer(t, func(o *server.Options) { o.Port = portOf(t, natsAt) })
	require.Eventually(t, func() bool {
		_, body = get(t, base, "/readyz")
		return strings.Contains(body, "the API has not answered yet: ")
	}, patience, 50*time.Millisecond, body)
	proxy := http.Server{Addr: gone, Handler: before(t, api, nil)}
	go func() { _ = proxy.ListenAndServe() }()
	t.Cleanup(func() { _ = proxy.Close() })
	require.Eventually(t, func() bool { status, _ = get(t, base, "/readyz"); return status == 200 }, patience, 50*time.Millisecond)
	publish(t, "nats://"+natsAt, 5)
	require.Eventually(t, func() bool { return len(api.Events()) == 5 }, patience, 10*time.Millisecond)
	assert.Equal(t, 0, p.stop().status)
}

func TestARelayIsNotReadyBeforeTheAPIHasAnswered(t *testing.T) {
	t.Parallel()
	s, api, gone := startNATSServer(t), footfalltest.NewAPI(t), freeAddress(t)
	_, base := relayed(t, at(s, api).with("FOOTFALL_BASE_URL", "http://"+gone))
	for began := time.Now(); time.Since(began) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
		status, body := get(t, base, "/readyz")
		require.Equal(t, 503, status, body)
	}
	_, body := get(t, base, "/readyz")
	assert.Contains(t, body, "not ready: the API has not answered yet: ")
	assert.Contains(t, body, gone)
}
