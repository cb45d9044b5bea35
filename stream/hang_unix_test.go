//go:build soak && unix

package stream_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
