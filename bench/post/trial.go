package post

import (
	"context"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
	"github.com/footfall-dev/footfall/bench/post/server"
	"github.com/footfall-dev/footfall/bench/report"
)

// Client and server have separate cores.
const (
	clientCore = 0
	serverCore = 1
)

// trial is one client with a number of requests in flight.
type trial struct {
	client   string
	inFlight int
}

type figures = report.Figures[trial, result]

// runner runs trials with one server.
type runner struct {
	server       *server.Server
	warm, window time.Duration
	log          func(format string, args ...any)
}

// compare measures the trials with one server.
func compare(ctx context.Context, o report.Options, window time.Duration, trials []trial) (figures, error) {
	s, err := server.Start(ctx, server.Options{Core: serverCore})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &runner{s, window / 4, window, o.Log}
	f, err := report.Measure(o.Rounds, trials, func(t trial) (*result, error) { return r.run(ctx, t) })
	if err != nil {
		return nil, fmt.Errorf("post: %w", err)
	}
	return f, nil
}

func (r *runner) run(ctx context.Context, t trial) (*result, error) {
	before, err := r.server.Counts()
	if err != nil {
		return nil, err
	}
	do := run
	if t.client == wrkName {
		do = runWrk
	}
	got, err := do(ctx, &order{Client: t.client, URL: r.server.URL, InFlight: t.inFlight, Warm: r.warm, Window: r.window})
	if err != nil {
		return nil, err
	}
	after, err := r.server.Counts()
	if err != nil {
		return nil, err
	}
	answered := after.Requests - before.Requests
	got.Server = (after.CPU - before.CPU) / time.Duration(max(1, answered))
	r.log("%s, %d in flight: %.0f events/s, %.2f µs CPU, %.2f µs of the server's, %.2f allocs", t.client, t.inFlight, got.perSecond(), got.cpu(), got.server(), got.allocs())
	return got, agree(got, answered, t.inFlight)
}

// agree compares the client's count of answers with the server's. The last answer of each
// connection may not have reached the client.
func agree(got *result, answered, inFlight int) error {
	if n := int(got.Total); answered < n || answered > n+inFlight {
		return fmt.Errorf("the client counts %d events, the server %d", n, answered)
	}
	return nil
}

// unpinned returns a note if the processes could not be pinned.
func unpinned() []string {
	if child.CanPin() {
		return nil
	}
	return []string{"Client and server could not be pinned to separate cores: they share the machine's cores."}
}
