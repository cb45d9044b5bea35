//go:build ci

package temporal_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/footfall-dev/footfall/examples/jobs"
)

// frontend is the part of a Temporal server that workers of activities use. It gives an activity that failed to a
// worker again, and runs no workflows.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer
	tasks chan *workflowservice.PollActivityTaskQueueResponse
	polls atomic.Int64

	mu   sync.Mutex
	left map[string]*workflowservice.PollActivityTaskQueueResponse // by token
}

func startFrontend(t *testing.T) (f *frontend, address string) {
	t.Helper()
	f = &frontend{tasks: make(chan *workflowservice.PollActivityTaskQueueResponse, 10), left: make(map[string]*workflowservice.PollActivityTaskQueueResponse)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	go func() { _ = server.Serve(listener) }() // until Stop
	t.Cleanup(server.Stop)
	return f, listener.Addr().String()
}

// add adds the activity of an order, whose workflow has its number as the id.
func (f *frontend) add(t *testing.T, o jobs.Order) {
	t.Helper()
	input, err := converter.GetDefaultDataConverter().ToPayloads(o)
	require.NoError(t, err)
	f.give(&workflowservice.PollActivityTaskQueueResponse{
		TaskToken: []byte(o.Number), ActivityId: "5", ActivityType: &common.ActivityType{Name: "Pay"}, Input: input,
		WorkflowExecution: &common.WorkflowExecution{WorkflowId: "order " + o.Number, RunId: "4f2b9d5e-6c1a-4d0e-9f7a-2b8c3d4e5f60"},
		WorkflowType:      &common.WorkflowType{Name: "Pay"}, WorkflowNamespace: "default",
		StartToCloseTimeout: durationpb.New(time.Minute), ScheduleToCloseTimeout: durationpb.New(time.Hour),
	})
}

// give gives a task to a worker once more.
func (f *frontend) give(task *workflowservice.PollActivityTaskQueueResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	task.Attempt++
	now := timestamppb.Now()
	task.ScheduledTime, task.CurrentAttemptScheduledTime, task.StartedTime = now, now, now
	f.left[string(task.TaskToken)] = task
	f.tasks <- task
}

// lose gives the tasks of a worker that was killed to others.
func (f *frontend) lose(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return f.polls.Load() == 0 }, time.Minute, time.Millisecond)
	for _, task := range f.unfinished() {
		f.give(task)
	}
}

func (f *frontend) unfinished() (tasks []*workflowservice.PollActivityTaskQueueResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, task := range f.left {
		tasks = append(tasks, task)
	}
	return tasks
}

func (f *frontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

func (f *frontend) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{NamespaceInfo: &namespace.NamespaceInfo{Name: "default"}}, nil
}

func (f *frontend) PollWorkflowTaskQueue(ctx context.Context, _ *workflowservice.PollWorkflowTaskQueueRequest) (*workflowservice.PollWorkflowTaskQueueResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (f *frontend) PollActivityTaskQueue(ctx context.Context, _ *workflowservice.PollActivityTaskQueueRequest) (*workflowservice.PollActivityTaskQueueResponse, error) {
	f.polls.Add(1)
	defer f.polls.Add(-1)
	select {
	case task := <-f.tasks:
		return task, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *frontend) RespondActivityTaskCompleted(_ context.Context, r *workflowservice.RespondActivityTaskCompletedRequest) (*workflowservice.RespondActivityTaskCompletedResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.left, string(r.TaskToken))
	return &workflowservice.RespondActivityTaskCompletedResponse{}, nil
}

func (f *frontend) RespondActivityTaskFailed(_ context.Context, r *workflowservice.RespondActivityTaskFailedRequest) (*workflowservice.RespondActivityTaskFailedResponse, error) {
	for _, task := range f.unfinished() {
		if string(task.TaskToken) == string(r.TaskToken) {
			f.give(task)
			return &workflowservice.RespondActivityTaskFailedResponse{}, nil
		}
	}
	return nil, fmt.Errorf("no task %q", r.TaskToken)
}
