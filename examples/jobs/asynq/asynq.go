//go:build ci

package asynq

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hibiken/asynq"

	"github.com/footfall-dev/footfall/examples/jobs"
)

// NewTask returns the task of an order. asynq refuses a second one while it has the first.
func NewTask(o jobs.Order) (*asynq.Task, error) {
	payload, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return asynq.NewTask("order:pay", payload, asynq.TaskID("pay:"+o.Number)), nil
}

// Handler works the tasks.
func Handler(w *jobs.Worker) asynq.Handler {
	mux := asynq.NewServeMux()
	mux.HandleFunc("order:pay", func(ctx context.Context, t *asynq.Task) error {
		var o jobs.Order
		if err := json.Unmarshal(t.Payload(), &o); err != nil {
			return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
		}
		id, _ := asynq.GetTaskID(ctx) // the same for each retry
		return w.Pay(ctx, "asynq:"+id, o)
	})
	return mux
}

// Run works until ctx ends or a signal arrives. Config.ShutdownTimeout of the server, 8 s by default, is less than
// that of the tracker.
func Run(ctx context.Context, server *asynq.Server, w *jobs.Worker) error {
	return w.Tracker.RunFunc(ctx, func(ctx context.Context) error {
		if err := server.Start(Handler(w)); err != nil {
			return err
		}
		<-ctx.Done()
		server.Shutdown() // waits for tasks in progress
		return nil
	})
}
