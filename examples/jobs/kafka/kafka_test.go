//go:build ci

package kafka_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/footfall-dev/footfall/examples/jobs"
	"github.com/footfall-dev/footfall/examples/jobs/internal/jobtest"
	"github.com/footfall-dev/footfall/examples/jobs/kafka"
)

const topic, group = "orders", "payer"

func TestMain(m *testing.M) {
	jobtest.Main(m, func(ctx context.Context, address string, w *jobs.Worker) error {
		client, err := kgo.NewClient(
			kgo.SeedBrokers(strings.Split(address, ",")...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
			kgo.SessionTimeout(3*time.Second), kgo.HeartbeatInterval(time.Second),
		)
		if err != nil {
			return err
		}
		defer client.Close()
		return kafka.Run(ctx, client, w)
	})
}

func TestWithKafka(t *testing.T) {
	jobtest.Test(t, func(t *testing.T) jobtest.System {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topic), kfake.GroupMinSessionTimeout(time.Second), kfake.ListenFn(
			func(network, _ string) (net.Listener, error) { return net.Listen(network, "127.0.0.1:0") },
		))
		require.NoError(t, err)
		t.Cleanup(cluster.Close)
		producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
		require.NoError(t, err)
		t.Cleanup(producer.Close)
		return jobtest.System{
			Address: strings.Join(cluster.ListenAddrs(), ","),
			Ends:    true,
			Flushes: true,
			Add: func(t *testing.T, o jobs.Order) {
				value, err := json.Marshal(o)
				require.NoError(t, err)
				require.NoError(t, producer.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: value}).FirstErr())
			},
			Left: func(*testing.T) int {
				left := int(cluster.PartitionInfo(topic, 0).HighWatermark)
				if of := cluster.GroupInfo(group); of != nil {
					left -= int(of.Commits[topic][0].Offset)
				}
				return left
			},
		}
	})
}
