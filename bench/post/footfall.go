package post

import (
	"context"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/lean"
)

// tracking keeps a tracker busy. It tracks in the same process and on the same core, so that
// tracking is part of the cost of an event.
type tracking struct {
	tracker *footfall.Tracker
	stopped context.CancelFunc
	result  chan error // of fill
}

func startFootfall(o *order) (load, error) { return startTracking(o, footfall.New) }

func startLean(o *order) (load, error) { return startTracking(o, lean.NewTracker) }

func startTracking(o *order, open func(footfall.Config) (*footfall.Tracker, error)) (load, error) {
	tracker, err := open(footfall.Config{
		BaseURL: o.URL, APIKey: apiKey, SiteID: siteID, DefaultURL: pageURL, MaxInFlight: o.InFlight,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &tracking{tracker, cancel, make(chan error, 1)}
	go func() { t.result <- t.fill(ctx, o.InFlight) }()
	return t, nil
}

const (
	backlog   = 8_000 // of the 50,000 that a queue has room for by default
	fillAfter = 4 * time.Millisecond
)

// fill keeps events waiting all the time. It fails if they run out, because the figure would
// then be the producer's.
func (t *tracking) fill(ctx context.Context, inFlight int) error {
	ticks := time.NewTicker(fillAfter)
	defer ticks.Stop()
	for first := true; ctx.Err() == nil; first = false {
		queued := int(t.tracker.Stats().Queued)
		if !first && queued <= inFlight {
			return fmt.Errorf("post: only %d events were left for %d requests in flight", queued, inFlight)
		}
		for range backlog - queued {
			if err := track(ctx, t.tracker); err != nil {
				return err
			}
		}
		<-ticks.C
	}
	return nil
}

func (t *tracking) answered() uint64 { return t.tracker.Stats().Delivered }

func (t *tracking) stop() (total uint64, err error) {
	t.stopped()
	if err := <-t.result; err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = t.tracker.Close(ctx) // drops the waiting events, as intended
	s := t.tracker.Stats()
	if s.Rejected > 0 {
		err = fmt.Errorf("post: %d events were refused", s.Rejected)
	}
	return s.Delivered, err
}
