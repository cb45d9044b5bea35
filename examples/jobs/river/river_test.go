//go:build ci

package river_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/examples/jobs"
	"github.com/footfall-dev/footfall/examples/jobs/internal/jobtest"
	riverjobs "github.com/footfall-dev/footfall/examples/jobs/river"
)

// soon is the policy of retries in tests.
type soon struct{}

// NextRetry implements river.ClientRetryPolicy.
func (soon) NextRetry(*rivertype.JobRow) time.Time { return time.Now() }

func TestMain(m *testing.M) {
	jobtest.Main(m, func(ctx context.Context, address string, w *jobs.Worker) error {
		pool, err := pgxpool.New(ctx, address)
		if err != nil {
			return err
		}
		defer pool.Close()
		workers := river.NewWorkers()
		river.AddWorker(workers, &riverjobs.Payer{Worker: w})
		client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
			Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}}, Workers: workers,
			SoftStopTimeout: 8 * time.Second, RetryPolicy: soon{}, FetchPollInterval: 100 * time.Millisecond, TestOnly: true,
		})
		if err != nil {
			return err
		}
		return riverjobs.Run(ctx, client, w)
	})
}

func TestWithRiver(t *testing.T) {
	server := startPostgreSQL(t)
	jobtest.Test(t, func(t *testing.T) jobtest.System {
		pool, client, address := newDatabase(t, server)
		return jobtest.System{
			Address: address,
			Add: func(t *testing.T, o jobs.Order) {
				require.NoError(t, riverjobs.Place(t.Context(), pool, client, o))
			},
			Left: func(t *testing.T) (left int) {
				require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&left))
				return left
			},
			Lose: func(t *testing.T) { // the job seems to have run for longer than RescueStuckJobsAfter
				_, err := pool.Exec(t.Context(), "UPDATE river_job SET attempted_at = now() - interval '2 hours'")
				require.NoError(t, err)
				_, err = pool.Exec(t.Context(), "DELETE FROM river_leader")
				require.NoError(t, err)
			},
		}
	})
}

func TestAnOrderThatIsNotPlacedHasNoJob(t *testing.T) {
	pool, client, _ := newDatabase(t, startPostgreSQL(t))
	require.NoError(t, riverjobs.Place(t.Context(), pool, client, jobs.Order{Number: "7"}))
	require.Error(t, riverjobs.Place(t.Context(), pool, client, jobs.Order{Number: "7"}))
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job").Scan(&n))
	assert.Equal(t, 1, n)
}

// startPostgreSQL starts a server at a socket, and returns its address without a database.
func startPostgreSQL(t *testing.T) (address string) {
	t.Helper()
	const folder = "/usr/lib/postgresql/*/bin"
	postgres, initdb, dir := jobtest.Need(t, "postgres", folder), jobtest.Need(t, "initdb", folder), jobtest.Folder(t)
	jobtest.Execute(t, dir, initdb, "-D", "data", "-U", "shop", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	address = "host=" + dir + " user=shop dbname="
	pool, err := pgxpool.New(t.Context(), address+"postgres")
	require.NoError(t, err)
	defer pool.Close()
	ping := func() error { return pool.Ping(t.Context()) }
	jobtest.Serve(t, ping, dir, postgres, "-D", "data", "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	return address
}

var databases atomic.Int64

// newDatabase makes a database with all tables, and returns its address.
func newDatabase(t *testing.T, server string) (*pgxpool.Pool, *river.Client[pgx.Tx], string) {
	t.Helper()
	first, err := pgx.Connect(t.Context(), server+"postgres")
	require.NoError(t, err)
	defer first.Close(t.Context())
	name := fmt.Sprintf("shop%d", databases.Add(1))
	_, err = first.Exec(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	pool, err := pgxpool.New(t.Context(), server+name)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "CREATE TABLE orders (number text PRIMARY KEY, cents integer NOT NULL)")
	require.NoError(t, err)
	client, err := river.NewClient(driver, &river.Config{})
	require.NoError(t, err)
	return pool, client, server + name
}
