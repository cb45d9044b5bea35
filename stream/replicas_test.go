//go:build ci

package stream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/stream"
)

func TestAStreamWhoseReplicasAreSettledSurvivesAKillOfItsLeader(t *testing.T) {
	t.Parallel()
	nodes, urls := startCluster(t, "")
	api, cfg := footfalltest.NewAPI(t), single(urls)
	cfg.Timeout = time.Second
	require.ErrorIs(t, stream.AwaitReplicas(t.Context(), cfg), jetstream.ErrStreamNotFound)
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	require.NoError(t, stream.AwaitReplicas(t.Context(), cfg), "the first relay creates the stream of rejected events")
	relay(t, api, cfg, stream.RelayConfig{AckWait: 2 * time.Second})
	publish(t, tr, 10)
	change := stream.Config{URL: urls, Replicas: 3}
	changes, err := stream.Apply(t.Context(), change)
	require.NoError(t, err)
	assert.Len(t, changes, 2)
	now, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, stream.AwaitReplicas(now, change), `the change of the replicas of NATS stream "FOOTFALL" is not settled`)
	long, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	require.NoError(t, stream.AwaitReplicas(long, change))

	s, err := manage(t, urls).Stream(t.Context(), "FOOTFALL")
	require.NoError(t, err)
	leader := s.CachedInfo().Cluster.Leader
	for i, n := range nodes {
		if strings.HasSuffix(leader, string(rune('0'+i))) {
			n.kill()
		}
	}
	publish(t, tr, 10)
	arrive(t, api, 20)
}

func TestAClusterSurvivesAKillOfItsLeaderAndOfAll(t *testing.T) {
	t.Parallel()
	nodes, urls := startCluster(t, "")
	api := footfalltest.NewAPI(t)
	cfg := single(urls)
	cfg.Replicas = 3
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	relay(t, api, cfg, stream.RelayConfig{AckWait: 2 * time.Second})
	publish(t, tr, 500)
	leader := leaderOf(t, nodes, urls)
	track(t, tr, 500)
	leader.kill()
	track(t, tr, 500)
	require.NoError(t, flushWithin(tr, patience))
	leader.start()
	track(t, tr, 500)
	for _, n := range nodes {
		n.kill()
	}
	track(t, tr, 500)
	for _, n := range nodes {
		n.start()
	}
	require.NoError(t, flushWithin(tr, patience))
	assert.Equal(t, uint64(2500), tr.Stats().Stored)
	arrive(t, api, 2500)
}

// A program or relay compares the settings again after each election.
func TestRaisingMaxBytesOfALiveStreamStopsNothing(t *testing.T) {
	t.Parallel()
	nodes, urls := startCluster(t, "")
	api, log := footfalltest.NewAPI(t), &footfalltest.Log{}
	before := single(urls)
	before.Replicas = 3
	after := before
	after.MaxBytes *= 2
	tr := open(t, quick(&footfalltest.Log{}), before)
	relay(t, api, before, stream.RelayConfig{AckWait: 2 * time.Second})
	publish(t, tr, 100)
	change(t, manage(t, urls), "FOOTFALL", func(c *jetstream.StreamConfig) { c.MaxBytes *= 2 })
	leader := leaderOf(t, nodes, urls)
	leader.kill()
	publish(t, tr, 500)
	arrive(t, api, 600)

	publish(t, open(t, quick(log), before), 10) // started again before it has the new value
	assert.Contains(t, log.String(), "max bytes is 134217728, not 67108864")
	publish(t, open(t, quick(&footfalltest.Log{}), after), 10)
	relay(t, api, after, stream.RelayConfig{AckWait: 2 * time.Second})
	arrive(t, api, 620)
}

// The stream refuses events in a cluster, too, and remembers the ids of none that it refused.
func TestAFullStreamOfThreeReplicasLosesNothing(t *testing.T) {
	t.Parallel()
	_, urls := startCluster(t, "")
	cfg := single(urls)
	cfg.Replicas, cfg.MaxBytes = 3, 20<<10
	tr := open(t, quick(&footfalltest.Log{}), cfg)
	track(t, tr, 1000)
	require.ErrorContains(t, flushWithin(tr, 2*time.Second), "maximum bytes exceeded")
	stats := tr.Stats()
	assert.Positive(t, stats.Stored)
	assert.Equal(t, uint64(1000), stats.Stored+stats.Queued)
	api := footfalltest.NewAPI(t)
	relay(t, api, cfg, stream.RelayConfig{})
	require.NoError(t, flushWithin(tr, patience))
	arrive(t, api, 1000)
	assert.Len(t, api.Requests(), 1000)
}
