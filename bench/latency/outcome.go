package latency

import (
	"context"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/bench/post/child"
	"github.com/footfall-dev/footfall/bench/post/server"
)

// outcome is the result as the server sees it.
type outcome struct {
	perSecond   float64
	inFlight    int // at most
	connections int // in all
}

func (s *situation) run(ctx context.Context, warm, window time.Duration) (*outcome, error) {
	api, err := server.Start(ctx, server.Options{Core: child.AnyCore, Delay: s.delay})
	if err != nil {
		return nil, err
	}
	defer api.Close()
	tracker, err := footfall.New(s.config(api.URL))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	offered := make(chan error, 1)
	go func() { offered <- s.offer(ctx, tracker) }()
	got, err := observe(api, warm, window)
	cancel()
	if failed := <-offered; err == nil {
		err = failed
	}
	if s.rate > 0 && err == nil {
		err = flush(tracker)
	}
	_ = tracker.Close(ctx) // ctx has ended: the waiting events are given up
	if rejected := tracker.Stats().Rejected; err == nil && rejected > 0 {
		err = fmt.Errorf("%d events were refused", rejected)
	}
	return got, err
}

// flush fails if the offered events are not delivered within a few seconds.
func flush(tracker *footfall.Tracker) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return tracker.Flush(ctx)
}

// observe counts at the server, so that the client is not trusted.
func observe(api *server.Server, warm, window time.Duration) (*outcome, error) {
	time.Sleep(warm)
	before, err := api.Counts()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	time.Sleep(window)
	after, err := api.Counts()
	if err != nil {
		return nil, err
	}
	return &outcome{
		perSecond:   float64(after.Requests-before.Requests) / time.Since(began).Seconds(),
		inFlight:    max(before.InFlight, after.InFlight),
		connections: after.Connections,
	}, nil
}

// tick is the interval of tracking.
const tick = 5 * time.Millisecond

// backlog is the number of waiting events if more are offered than delivered. The default queue
// has room for it, and it exceeds the requests in flight many times.
const backlog = 8_000

// offer tracks events until ctx ends.
func (s *situation) offer(ctx context.Context, tracker *footfall.Tracker) error {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	began, tracked := time.Now(), 0
	for {
		due := backlog - int(tracker.Stats().Queued)
		if s.rate > 0 {
			due = int(time.Since(began).Seconds()*float64(s.rate)) - tracked
		}
		for range due {
			if err := tracker.Track(ctx, "checkout_completed", footfall.P("plan", "pro"), footfall.P("amount", 4999)); err != nil {
				return err
			}
			tracked++
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}
