package spool

import (
	"context"
	"time"

	"github.com/footfall-dev/footfall"
)

// Flush implements [footfall.Flusher]. It returns when Config.Next has settled every event in
// the file, including events of earlier processes, and the events are removed from the file. It
// also waits while the file cannot be used.
func (s *Spool) Flush(ctx context.Context) error {
	if s.feed == nil {
		return nil
	}
	began := time.Now()
	select {
	case <-s.opened:
	case <-s.stopped:
	case <-ctx.Done():
		return s.unflushed(ctx.Err(), began)
	}
	fl := s.feed.await()
	s.wakeOwner()
	select {
	case <-fl.done:
		return s.flushNext(ctx)
	case <-s.stopped:
	case <-s.nextStopped:
	case <-ctx.Done():
		s.feed.leave(fl)
		return s.unflushed(ctx.Err(), began)
	}
	s.feed.leave(fl)
	if s.feed.read().Events == 0 {
		return nil
	}
	return s.unflushed(errNextStopped, began)
}

func (s *Spool) unflushed(why error, began time.Time) error {
	return &footfall.FlushError{Unsettled: s.feed.read().Events, Err: why, Cause: s.feed.next.Failure(), Waited: time.Since(began)}
}

// flushNext flushes a Next that stores events.
func (s *Spool) flushNext(ctx context.Context) error {
	if next, ok := s.cfg.Next.(footfall.Flusher); ok {
		return next.Flush(ctx)
	}
	return nil
}
