package spool

import (
	"cmp"
	"context"
	"errors"

	"github.com/footfall-dev/footfall"
)

// FlushInterval is the default of footfall.Config.FlushInterval for a tracker that [Open]
// returns. It is longer than without a Spool because each batch is a transaction, which waits
// for the disk. Delivered events are removed in the same interval, so there are at most 20
// transactions a second until batches are full.
const FlushInterval = removeAfter

// Open returns a tracker with a Spool between it and its transport. The transport is cfg.Next,
// else tracker.Transport, else HTTP. The default of tracker.FlushInterval is [FlushInterval].
// The error joins the errors of [footfall.New] and [New]. If the tracker is disabled, cfg is
// ignored and the Spool does nothing.
func Open(tracker footfall.Config, cfg Config) (*footfall.Tracker, *Spool, error) {
	if tracker.Disabled {
		t, err := footfall.New(tracker)
		return t, &Spool{}, err
	}
	if cfg.Logger == nil {
		cfg.Logger = tracker.Logger
	}
	if cfg.Next == nil {
		cfg.Next = tracker.Transport
	}
	problems := problemsOf(tracker, cfg.Next)
	if problems == nil && cfg.Next == nil {
		cfg.Next, problems = footfall.NewHTTPTransport(tracker)
	}
	if problems != nil {
		checked := cfg.withDefaults()
		checked.Next = idle{} // its problems are reported already
		return nil, nil, errors.Join(problems, checked.check())
	}
	s, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	t, err := footfall.New(s.behind(tracker))
	if err != nil {
		_ = s.Close() // no tracker uses it
		return nil, nil, err
	}
	return t, s, nil
}

// behind returns the Config of a tracker that uses the Spool.
func (s *Spool) behind(tracker footfall.Config) footfall.Config {
	tracker.Transport = s
	tracker.FlushInterval = cmp.Or(tracker.FlushInterval, FlushInterval)
	return tracker
}

// problemsOf returns the error of a tracker's Config, by creating and closing a tracker without I/O.
// It checks the fields about the API if other is nil.
func problemsOf(cfg footfall.Config, other footfall.Transport) error {
	if other != nil {
		cfg.Transport = idle{}
	}
	t, err := footfall.New(cfg)
	if err != nil {
		return err
	}
	return t.Close(context.Background())
}

// idle is a Transport that delivers nothing.
type idle struct{}

// Deliver implements footfall.Transport.
func (idle) Deliver(context.Context, *footfall.Source) {}
