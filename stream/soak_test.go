//go:build soak && unix

package stream_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// always makes a server write what it acknowledges to disk first.
const always = "sync_interval: always"

// TestSoakKills kills servers, relays and programs in 20 rounds while events are tracked. Each event
// that was Stored arrives, and is counted once.
func TestSoakKills(t *testing.T) {
	nodes, urls := startCluster(t, always)
	api := footfalltest.NewAPI(t)
	cfg := single(urls)
	cfg.Replicas, cfg.MaxBytes = 3, 256<<20
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	var tracked atomic.Int64
	stopLoad := load(t, tr, &tracked)
	var durable []string // events of programs that were killed after TrackDurable
	for round := range 20 {
		program := startProgram(t, urls, round)
		relays := []*runningVictim{startVictim(t, urls, api), startVictim(t, urls, api)}
		time.Sleep(2 * time.Second)
		killServers(t, round, nodes, urls)
		for _, r := range relays {
			r.kill()
		}
		durable = append(durable, program.kill()...)
		t.Logf("round %d: tracked %d, stored %d, durable %d, arrived %d", round, tracked.Load(), tr.Stats().Stored, len(durable), len(api.Events()))
	}
	stopLoad()
	require.NoError(t, flushWithin(tr, 2*patience))
	r := relay(t, api, cfg, stream.RelayConfig{AckWait: killedAckWait})
	var arrived, programs int
	require.Eventually(t, func() bool {
		arrived, programs = len(api.Events()), len(keys(api.Events()))
		return arrived-programs >= int(tracked.Load())
	}, 2*patience, 500*time.Millisecond)
	empty(t, manage(t, urls))
	arrived, programs = len(api.Events()), len(keys(api.Events()))
	t.Logf("tracked %d, stored %d, durable %d, arrived %d and %d of programs that were killed, posted %d",
		tracked.Load(), tr.Stats().Stored, len(durable), arrived-programs, programs, len(api.Requests()))
	assert.Equal(t, int(tracked.Load()), arrived-programs, "each once")
	assert.Empty(t, missing(durable, keys(api.Events())), "what TrackDurable has accepted")
	assert.Equal(t, uint64(tracked.Load()), tr.Stats().Stored)
	require.NoError(t, r.stop())
}

// load tracks an event a millisecond until stop is called.
func load(t *testing.T, tr *footfall.Tracker, tracked *atomic.Int64) (stop func()) {
	ended := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
			select {
			case <-ended:
				return
			default:
			}
			if tr.Track(t.Context(), "tested", footfall.P("n", tracked.Load())) == nil {
				tracked.Add(1)
			}
		}
	})
	return func() { close(ended); running.Wait() }
}

// killServers kills the leader, all servers, one of them or none, and starts them again.
func killServers(t *testing.T, round int, nodes []*node, urls string) {
	switch round % 4 {
	case 0:
		n := leaderOf(t, nodes, urls)
		n.kill()
		time.Sleep(time.Second)
		n.start()
	case 1:
		for _, n := range nodes {
			n.kill()
		}
		for _, n := range nodes {
			n.start()
		}
		awaitJetStream(t, urls)
	case 2:
		n := nodes[rand.IntN(3)]
		n.kill()
		n.start()
	}
}

// runningVictim is a relay in its own process.
type runningVictim struct{ kill func() }

func startVictim(t testing.TB, urls string, api *footfalltest.API) *runningVictim {
	cmd := victim(t, urls, api.Config().BaseURL, "3")
	return &runningVictim{sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })}
}

// TestSoakPublishing compares a tracker with a bare publisher of the same bytes, in alternate rounds.
func TestSoakPublishing(t *testing.T) {
	_, urls := startCluster(t, always)
	cfg := single(urls)
	cfg.Replicas, cfg.MaxBytes = 3, 4<<30
	tracker := quick(&footfalltest.Log{})
	tracker.MaxQueueEvents, tracker.MaxQueueBytes = 200_000, 64<<20
	tr := open(t, tracker, cfg)
	publish(t, tr, 1000)
	nc, err := nats.Connect(urls)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(stream.MaxInFlight))
	require.NoError(t, err)
	const n = 100_000
	var ours, bare time.Duration
	for round := range 3 {
		began := time.Now()
		publish(t, tr, n)
		took := time.Since(began)
		ours += took
		began = time.Now()
		publishBare(t, js, n)
		plain := time.Since(began)
		bare += plain
		t.Logf("round %d: tracker %.0f/s, bare publisher %.0f/s", round, n/took.Seconds(), n/plain.Seconds())
		require.NoError(t, purge(t, js))
	}
	t.Logf("three rounds: tracker %.0f/s, bare publisher %.0f/s, ratio %.2f", 3*n/ours.Seconds(), 3*n/bare.Seconds(), bare.Seconds()/ours.Seconds())
	assert.Equal(t, uint64(3*n+1000), tr.Stats().Stored)
}

func purge(t testing.TB, js jetstream.JetStream) error {
	s, err := js.Stream(t.Context(), "FOOTFALL")
	require.NoError(t, err)
	return s.Purge(t.Context())
}

func publishBare(t testing.TB, js jetstream.JetStream, n int) {
	for i := range n {
		id, err := uuid.NewV7()
		require.NoError(t, err)
		m := &nats.Msg{Subject: "footfall.events", Header: nats.Header{}, Data: fmt.Appendf(nil, `{"site_id":"site_test","name":"tested","url":"https://example.com/","props":{"n":%d}}`, i)}
		m.Header.Set(jetstream.MsgIDHeader, id.String())
		_, err = js.PublishMsgAsync(m, jetstream.WithStallWait(patience))
		require.NoError(t, err)
	}
	<-js.PublishAsyncComplete()
}

// counting is an API that only counts, and answers after the given time.
func counting(t testing.TB, after time.Duration) (url string, arrived *atomic.Int64) {
	arrived = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(after)
		arrived.Add(1)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"accepted":true}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, arrived
}

// TestSoakRelaying compares a relay with the default transport, in alternate rounds.
func TestSoakRelaying(t *testing.T) {
	one := func(jetstream string) func(testing.TB) string {
		return func(t testing.TB) string { return startNode(t, jetstream).url }
	}
	three := func(t testing.TB) string { _, urls := startCluster(t, always); return urls }
	for name, c := range map[string]comparison{
		"one server, an API that answers at once":                           {servers: one(""), replicas: 1, events: 50_000},
		"one server, an API that answers after 5 ms":                        {servers: one(""), replicas: 1, events: 50_000, after: 5 * time.Millisecond, least: 0.9},
		"one server, sync_interval always, an API that answers at once":     {servers: one(always), replicas: 1, events: 5_000},
		"three replicas, sync_interval always, an API that answers at once": {servers: three, replicas: 3, events: 10_000},
	} {
		t.Run(name, func(t *testing.T) { compareRelay(t, c) })
	}
}

// comparison is what compareRelay measures.
type comparison struct {
	servers  func(testing.TB) string // starts them, and returns their addresses
	replicas int
	after    time.Duration // until the API answers
	events   int
	least    float64 // of the relay's rate over the transport's
}

// compareRelay also logs the time that the processors spend in this process, API included: the server
// has its own process, and needs its part of the same processors.
func compareRelay(t *testing.T, c comparison) {
	url, arrived := counting(t, c.after)
	direct := quick(&footfalltest.Log{})
	direct.BaseURL, direct.APIKey, direct.AllowHTTP = url, footfalltest.Key, true
	direct.MaxQueueEvents, direct.MaxQueueBytes = 200_000, 64<<20
	cfg := single(c.servers(t))
	awaitJetStream(t, cfg.URL)
	cfg.Replicas, cfg.MaxBytes = c.replicas, 4<<30
	const rounds = 3
	n := c.events
	var alone, stored, relayed spent
	for round := range rounds {
		tr, err := footfall.New(direct)
		require.NoError(t, err)
		began := now()
		publish(t, tr, n)
		d := now().since(began)
		require.NoError(t, closeWithin(tr, patience))
		queued := open(t, quick(&footfalltest.Log{}), cfg)
		began = now()
		publish(t, queued, n)
		s := now().since(began)
		require.NoError(t, closeWithin(queued, patience))
		before := arrived.Load()
		api := footfalltest.NewAPI(t)
		began = now()
		r := relay(t, api, cfg, stream.RelayConfig{}, func(c *footfall.Config) { c.BaseURL = url })
		for arrived.Load()-before < int64(n) {
			time.Sleep(time.Millisecond)
			require.Less(t, now().since(began).wall, patience)
		}
		w := now().since(began)
		require.NoError(t, r.stop())
		alone, stored, relayed = alone.plus(d), stored.plus(s), relayed.plus(w)
		t.Logf("round %d: default transport %v, program %v, relay %v", round, d.per(n), s.per(n), w.per(n))
	}
	rates := alone.wall.Seconds() / relayed.wall.Seconds()
	t.Logf("three rounds: default transport %v, program %v, relay %v, ratio of events/s %.2f, of processor time %.2f",
		alone.per(rounds*n), stored.per(rounds*n), relayed.per(rounds*n), rates, alone.cpu.Seconds()/relayed.cpu.Seconds())
	assert.GreaterOrEqual(t, rates, c.least)
}

// TestSoakBacklog delivers a backlog of a million events with a relay whose memory stays flat. The
// server is another process.
func TestSoakBacklog(t *testing.T) {
	n := startNode(t, "")
	awaitJetStream(t, n.url)
	cfg := single(n.url)
	cfg.MaxBytes = 4 << 30
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	const million = 1_000_000
	for range 20 {
		publish(t, tr, million/20)
	}
	require.NoError(t, closeWithin(tr, patience))
	url, arrived := counting(t, 0)
	r := relay(t, footfalltest.NewAPI(t), cfg, stream.RelayConfig{}, func(c *footfall.Config) { c.BaseURL = url })
	var peak uint64
	began := time.Now()
	for next := int64(50_000); arrived.Load() < million; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Since(began), 20*time.Minute)
		if arrived.Load() < next {
			continue
		}
		next += 50_000
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	}
	t.Logf("%.0f events/s, at most %d KiB in use after a collection, API included; held now %d", million/time.Since(began).Seconds(), peak>>10, r.Stats().Held)
	assert.Less(t, peak, uint64(64<<20))
}
