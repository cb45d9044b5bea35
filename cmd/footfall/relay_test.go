package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

func TestAStreamThatIsChangedEndsTheRelay(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	p, _ := relayed(t, at(s, api))
	js := connected(t, s.ClientURL())
	require.Eventually(t, func() bool { // the relay may be first to create the stream again
		_ = js.DeleteStream(t.Context(), "FOOTFALL")
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "FOOTFALL", Subjects: []string{"footfall.events"}})
		return err == nil
	}, patience, time.Millisecond)
	assert.Equal(t, 1, p.wait(patience).status)
	assert.Contains(t, p.said().err, "retention is limits, not workqueue")
	assert.Contains(t, p.said().out, "Account: ")
}

// get returns the answer of a probe.
func get(t *testing.T, base, path string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(base + path)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// scraped returns the values of a scrape by name and label.
func scraped(t *testing.T, base string) map[string]float64 {
	t.Helper()
	status, text := get(t, base, "/metrics")
	require.Equal(t, 200, status)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	values := make(map[string]float64)
	for name, family := range families {
		for _, m := range family.GetMetric() {
			var key strings.Builder
			key.WriteString(name)
			for _, l := range m.GetLabel() {
				key.WriteString(" " + l.GetValue())
			}
			values[key.String()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}

// relayed starts a relay with a listener for metrics, and waits until it delivers.
func relayed(t *testing.T, e env, args ...string) (p *process, base string) {
	t.Helper()
	p = begin(t, e, append([]string{"relay", "-metrics", "127.0.0.1:0"}, args...)...)
	base = strings.TrimSuffix(p.sees(`Metrics: (\S+)`), "/metrics")
	p.sees(`The relay takes events from NATS`)
	return p, base
}

// idle waits until the stream is empty.
func idle(t *testing.T, base string) {
	t.Helper()
	require.Eventually(t, func() bool {
		lag, known := scraped(t, base)["footfall_relay_lag_events"]
		return known && lag == 0
	}, patience, 50*time.Millisecond)
}

// messages returns the number of messages of a stream.
func messages(t *testing.T, url, name string) int {
	t.Helper()
	s, err := connected(t, url).Stream(t.Context(), name)
	require.NoError(t, err)
	return int(s.CachedInfo().State.Msgs)
}

func connected(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	return js
}

func TestARelayDeliversAndServesMetrics(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	publish(t, s.ClientURL(), 50)
	api.Next(footfalltest.Status(400))
	p, base := relayed(t, at(s, api))
	idle(t, base)
	assert.Len(t, api.Events(), 49)

	m := scraped(t, base)
	for name, want := range map[string]float64{
		"footfall_relay_events_total delivered": 49, "footfall_relay_events_total rejected": 1, "footfall_relay_events_total handed_back": 0,
		"footfall_relay_taken_total": 50, "footfall_relay_redelivered_total": 0, "footfall_relay_repeated_total": 0, "footfall_relay_held_events": 0, "footfall_relay_breaker_open": 0,
		"footfall_relay_ready": 1, "footfall_relay_lag_seconds": 0, "footfall_relay_rejected_stored_events": 1, "footfall_relay_stream_bytes": 0, "footfall_relay_stream_max_bytes": 1 << 30, "footfall_relay_stream_max_age_seconds": 604800, "footfall_relay_rejected_max_bytes": 64 << 20, "footfall_build_info devel": 1,
	} {
		got, found := m[name]
		assert.True(t, found, "%s is missing in %v", name, m)
		assert.InDelta(t, want, got, 0, name)
	}
	assert.Positive(t, m["footfall_relay_rejected_stored_bytes"])
	assert.Contains(t, m, "go_goroutines")
	page, err := os.ReadFile("../../docs/tools.md")
	require.NoError(t, err)
	for name := range m {
		if strings.HasPrefix(name, "footfall_") {
			name, _, _ = strings.Cut(name, " ")
			assert.Contains(t, string(page), "`"+name, "docs/tools.md")
		}
	}
	_, text := get(t, base, "/metrics")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	status, _ := get(t, base, "/livez")
	assert.Equal(t, 200, status)

	got := p.stop()
	assert.Equal(t, 0, got.status)
	assert.Contains(t, got.out, "Account: 50 taken, of them 0 redelivered: 49 delivered, 1 rejected, 0 handed back to the stream, 0 repeats of held events.\n")
}

func TestSIGTERMHandsBackUndeliveredEvents(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	publish(t, s.ClientURL(), 40)
	api.Always(footfalltest.Status(503))
	p, _ := relayed(t, at(s, api), "-json", "-stop-timeout", "1s")
	require.Eventually(t, func() bool { return len(api.Requests()) > 0 }, patience, time.Millisecond)
	began := time.Now()
	got := p.stop()
	assert.Less(t, time.Since(began), 8*time.Second)
	assert.Equal(t, 0, got.status)
	var a account
	require.NoError(t, json.Unmarshal([]byte(got.out), &a), got.out)
	assert.Positive(t, a.Taken) // perhaps not all: the relay may stop between two requests for messages
	assert.Equal(t, account{Taken: a.Taken, HandedBack: a.Taken}, a)
	assert.Equal(t, 40, messages(t, s.ClientURL(), "FOOTFALL"))

	api.Always(footfalltest.Accept())
	_, base := relayed(t, at(s, api), "-rate", "1000")
	require.Eventually(t, func() bool { return scraped(t, base)["footfall_relay_events_total delivered"] == 40 }, patience, 50*time.Millisecond)
	assert.GreaterOrEqual(t, scraped(t, base)["footfall_relay_redelivered_total"], float64(a.Taken), "without waiting for AckWait")
	assert.Len(t, api.Events(), 40)
}

// A terminal may pass an interrupt to a relay, and a script another one.
func TestASecondSignalHandsBackAtOnce(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	publish(t, s.ClientURL(), 20)
	api.Always(footfalltest.Hang())
	p, base := relayed(t, at(s, api), "-stop-timeout", "10m")
	require.Eventually(t, func() bool { return len(api.Requests()) > 0 }, patience, time.Millisecond)
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.Eventually(t, func() bool { status, _ := get(t, base, "/readyz"); return status == 503 }, patience, time.Millisecond)
	got := p.stop()
	assert.Equal(t, 0, got.status)
	assert.Regexp(t, `Account: (\d+) taken, .* 0 delivered, 0 rejected, \d+ handed back`, got.out)
}

func TestRateBoundsDeliveries(t *testing.T) {
	t.Parallel()
	s, api := startNATSServer(t), footfalltest.NewAPI(t)
	publish(t, s.ClientURL(), 60)
	relayed(t, at(s, api), "-rate", "40")
	require.Eventually(t, func() bool { return len(api.Events()) == 60 }, patience, time.Millisecond)
	requests := api.Requests()
	assert.Greater(t, requests[59].Time.Sub(requests[0].Time), 1300*time.Millisecond, "59 events at 40 a second")
}

func TestAnEmbeddedServerNeedsOneCommand(t *testing.T) {
	t.Parallel()
	api, dir := footfalltest.NewAPI(t), filepath.Join(t.TempDir(), "a", "b")
	api.Always(footfalltest.Status(503))
	embedded := []string{"-embedded", dir, "-embedded-listen", "127.0.0.1:0", "-ack-wait", "2s"} // the server forgets at its end what was handed back
	p, _ := relayed(t, envOf(api.URL), embedded...)
	url := p.sees(`NATS: (nats://\S+), one server: set stream\.Config\{URL: "nats://\S+", Replicas: 1\} in programs`)
	publish(t, url, 20)
	other := run(t, envOf(api.URL), append([]string{"relay"}, embedded...)...)
	assert.Equal(t, 1, other.status)
	assert.Contains(t, other.err, fmt.Sprintf("%q: another process uses it: choose another directory", dir))
	got := p.stop()
	assert.Equal(t, 0, got.status)
	assert.Contains(t, got.out, "0 delivered, 0 rejected, 20 handed back")

	api.Always(footfalltest.Accept())
	p, base := relayed(t, envOf(api.URL), embedded...)
	require.Eventually(t, func() bool { return len(api.Events()) == 20 }, patience, 10*time.Millisecond)
	idle(t, base)
	assert.Equal(t, 0, p.stop().status)
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "FOOTFALL", "meta.inf"))
	require.NoError(t, err)
	assert.Len(t, files, 1)
}

func TestAnEmbeddedServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	api, taken := footfalltest.NewAPI(t), startNATSServer(t)
	got := run(t, envOf(api.URL), "relay", "-embedded", t.TempDir(), "-embedded-listen", taken.Addr().String())
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "address already in use")
	assert.Contains(t, got.err, "choose another -embedded-listen")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	got = run(t, envOf(api.URL), "relay", "-embedded", file)
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "-embedded or FOOTFALL_EMBEDDED: ")
	assert.Contains(t, got.err, "choose a directory that can be written")

	got = run(t, envOf(api.URL), "relay", "-embedded", t.TempDir(), "-metrics", taken.Addr().String())
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "-metrics or FOOTFALL_METRICS: ")
	assert.Contains(t, got.err, "choose another address")
}

func TestARelayNamesAProxyThatWantsAUser(t *testing.T) {
	t.Parallel()
	s := startNATSServer(t)
	closed := plain(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
	e := through(closed, "http").with("FOOTFALL_NATS_URL", s.ClientURL()).with("FOOTFALL_NATS_REPLICAS", "1")
	got := run(t, e, "relay")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "the proxy "+closed+" wants a user: add user and password to HTTP_PROXY")
	assert.NotContains(t, got.err, "set FOOTFALL_BASE_URL")
}
