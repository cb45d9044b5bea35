//go:build soak && unix

package stream_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

// TestSoakAServerThatHangs stops the leader without closing its connections, as a partition does.
// The others go on, and so does the server when it is back.
func TestSoakAServerThatHangs(t *testing.T) {
	nodes, urls := startCluster(t, always)
	api := footfalltest.NewAPI(t)
	cfg := single(urls)
	cfg.Replicas = 3
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	relay(t, api, cfg, stream.RelayConfig{AckWait: 2 * time.Second})
	publish(t, tr, 500)
	leader := leaderOf(t, nodes, urls)
	require.NoError(t, leader.run.Process.Signal(syscall.SIGSTOP))
	began := time.Now()
	publish(t, tr, 500)
	t.Logf("stored again after %v", time.Since(began).Round(time.Millisecond))
	require.NoError(t, leader.run.Process.Signal(syscall.SIGCONT))
	publish(t, tr, 500)
	assert.Equal(t, uint64(1500), tr.Stats().Stored)
	arrive(t, api, 1500)
}

// TestSoakLargeEventsAndAServerThatHangs hangs the server of a tracker in the middle of a write, which
// holds the lock of the connection.
func TestSoakLargeEventsAndAServerThatHangs(t *testing.T) {
	nodes, urls := startCluster(t, always)
	cfg := single(urls)
	cfg.Replicas = 3
	publish(t, open(t, quick(&footfalltest.Log{}), cfg), 10)
	leader := leaderOf(t, nodes, urls)
	cfg.URL = leader.url + "," + urls
	cfg.Options = []nats.Option{nats.DontRandomize()}
	tracker := quick(&footfalltest.Log{})
	tracker.MaxEventBytes, tracker.Limits.PropText, tracker.MaxQueueBytes = 1<<20, 1<<20, 256<<20
	tr := open(t, tracker, cfg)
	publish(t, tr, 10)
	require.NoError(t, leader.run.Process.Signal(syscall.SIGSTOP))
	began := time.Now()
	for range 100 {
		require.NoError(t, tr.Track(t.Context(), "tested", footfall.P("p", strings.Repeat("x", 200<<10))))
	}
	require.NoError(t, flushWithin(tr, patience))
	took := time.Since(began)
	t.Logf("stored again after %v", took.Round(time.Millisecond))
	assert.Less(t, took, 40*time.Second)
	require.NoError(t, leader.run.Process.Signal(syscall.SIGCONT))
}
