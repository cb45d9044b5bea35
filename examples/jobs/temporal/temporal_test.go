//go:build ci

package temporal_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/footfall-dev/footfall/examples/jobs"
	"github.com/footfall-dev/footfall/examples/jobs/internal/jobtest"
	"github.com/footfall-dev/footfall/examples/jobs/temporal"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestMain(m *testing.M) {
	jobtest.Main(m, func(ctx context.Context, address string, w *jobs.Worker) error {
		c, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: log.NewStructuredLogger(slog.Default())})
		if err != nil {
			return err
		}
		defer c.Close()
		return temporal.Run(ctx, c, w)
	})
}

func TestWithAFrontend(t *testing.T) {
	jobtest.Test(t, func(t *testing.T) jobtest.System {
		f, address := startFrontend(t)
		return jobtest.System{
			Address: address, Add: f.add, Lose: f.lose,
			Left: func(*testing.T) int { return len(f.unfinished()) },
		}
	})
}

// shop fails to send so many receipts.
type shop struct{ charges, fails int }

// Charge implements jobs.Shop.
func (s *shop) Charge(context.Context, jobs.Order) error {
	s.charges++
	return nil
}

// SendReceipt implements jobs.Shop.
func (s *shop) SendReceipt(context.Context, jobs.Order) error {
	if s.charges > s.fails {
		return nil
	}
	return errors.New("the mail server is away")
}

// The environment of the SDK runs the workflow, and retries the activity as its policy says.
func TestAnActivityThatIsRetriedHasOneEventID(t *testing.T) {
	t.Parallel()
	tracker, s := footfalltest.New(t), &shop{fails: 2}
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.RegisterActivity(&temporal.Activities{Worker: &jobs.Worker{Tracker: tracker.Tracker, Shop: s}})
	env.ExecuteWorkflow(temporal.Pay, jobs.Order{Number: "7", Cents: 4999})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	assert.Equal(t, 3, s.charges)
	ids := map[string]bool{}
	for _, e := range tracker.Events() {
		assert.Equal(t, "order_paid", e.Name)
		ids[e.ID] = true
	}
	assert.Len(t, tracker.Events(), 3)
	assert.Len(t, ids, 1)
}
