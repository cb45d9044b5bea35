//go:build ci

package temporal

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/footfall-dev/footfall/examples/jobs"
)

// Activities are the activities of an order.
type Activities struct{ Worker *jobs.Worker }

// Pay is an activity.
func (a *Activities) Pay(ctx context.Context, o jobs.Order) error {
	of := activity.GetInfo(ctx)
	task := jobs.EventID("temporal", of.WorkflowExecution.ID, of.WorkflowExecution.RunID, of.ActivityID)
	return a.Worker.Pay(ctx, task, o)
}

// Pay is the workflow of an order.
func Pay(ctx workflow.Context, o jobs.Order) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	var a *Activities
	return workflow.ExecuteActivity(ctx, a.Pay, o).Get(ctx, nil)
}

// Run works until ctx ends or a signal arrives. WorkerStopTimeout is less than Config.ShutdownTimeout of the tracker.
func Run(ctx context.Context, c client.Client, w *jobs.Worker) error {
	payer := worker.New(c, "orders", worker.Options{WorkerStopTimeout: 8 * time.Second})
	payer.RegisterWorkflow(Pay)
	payer.RegisterActivity(&Activities{w})
	return w.Tracker.RunFunc(ctx, func(ctx context.Context) error {
		if err := payer.Start(); err != nil {
			return err
		}
		<-ctx.Done()
		payer.Stop() // waits for activities in progress
		return nil
	})
}
