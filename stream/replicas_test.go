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
