//go:build ci

package asynq_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/examples/jobs"
	asynqjobs "github.com/footfall-dev/footfall/examples/jobs/asynq"
	"github.com/footfall-dev/footfall/examples/jobs/internal/jobtest"
)

func redisAt(address string) asynq.RedisClientOpt {
	return asynq.RedisClientOpt{Network: "unix", Addr: address}
}

func TestMain(m *testing.M) {
	jobtest.Main(m, func(ctx context.Context, address string, w *jobs.Worker) error {
		return asynqjobs.Run(ctx, asynq.NewServer(redisAt(address), asynq.Config{
			Concurrency: 1, TaskCheckInterval: 50 * time.Millisecond, DelayedTaskCheckInterval: 50 * time.Millisecond,
			RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return 0 },
		}), w)
	})
}

func TestWithAsynq(t *testing.T) {
	jobtest.Need(t, "redis-server")
	jobtest.Test(t, func(t *testing.T) jobtest.System {
		dir := jobtest.Folder(t)
		socket := filepath.Join(dir, "socket")
		database := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
		t.Cleanup(func() { _ = database.Close() })
		ping := func() error { return database.Ping(t.Context()).Err() }
		jobtest.Serve(t, ping, dir, jobtest.Need(t, "redis-server"), "--port", "0", "--unixsocket", socket, "--save", "")
		client, inspector := asynq.NewClient(redisAt(socket)), asynq.NewInspector(redisAt(socket))
		t.Cleanup(func() { _, _ = client.Close(), inspector.Close() })
		return jobtest.System{
			Address: socket,
			Add: func(t *testing.T, o jobs.Order) {
				task, err := asynqjobs.NewTask(o)
				require.NoError(t, err)
				_, err = client.EnqueueContext(t.Context(), task)
				require.NoError(t, err)
				_, err = client.EnqueueContext(t.Context(), task)
				require.ErrorIs(t, err, asynq.ErrTaskIDConflict)
			},
			Left: func(t *testing.T) int {
				queue, err := inspector.GetQueueInfo("default")
				require.NoError(t, err)
				return queue.Size
			},
			Lose: func(t *testing.T) { // the lease ended a minute ago
				lease := redis.Z{Score: float64(time.Now().Add(-time.Minute).Unix()), Member: "pay:7"}
				require.NoError(t, database.ZAddXX(t.Context(), "asynq:{default}:lease", lease).Err())
			},
		}
	})
}
