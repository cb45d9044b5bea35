//go:build ci

package river

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/footfall-dev/footfall/examples/jobs"
)

// Args are the arguments of the job.
type Args struct{ jobs.Order }

// Kind implements river.JobArgs.
func (Args) Kind() string { return "order_pay" }

// Payer works the jobs.
type Payer struct {
	river.WorkerDefaults[Args]
	Worker *jobs.Worker
}

// Work implements river.Worker.
func (p *Payer) Work(ctx context.Context, job *river.Job[Args]) error {
	return p.Worker.Pay(ctx, fmt.Sprintf("river:%d", job.ID), job.Args.Order)
}

// Place commits an order and its job, both or neither.
func Place(ctx context.Context, pool *pgxpool.Pool, client *river.Client[pgx.Tx], o jobs.Order) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (number, cents) VALUES ($1, $2)", o.Number, o.Cents); err != nil {
			return err
		}
		_, err := client.InsertTx(ctx, tx, Args{o}, nil)
		return err
	})
}

// Run works until ctx ends or a signal arrives. SoftStopTimeout of the client's configuration is less than
// Config.ShutdownTimeout of the tracker.
func Run(ctx context.Context, client *river.Client[pgx.Tx], w *jobs.Worker) error {
	return w.Tracker.RunFunc(ctx, func(ctx context.Context) error {
		if err := client.Start(ctx); err != nil {
			return err
		}
		<-client.Stopped() // jobs in progress have ended
		return nil
	})
}
