package spool

import (
	"context"
	"errors"
	"slices"

	"github.com/footfall-dev/footfall"
)

// flush is a call to Flush that waits.
type flush struct {
	target uint64 // the last key that must have ended
	done   chan struct{}
}

// Flush implements [footfall.Flusher]. It returns when Config.Next has settled every event in
// the file, including events of earlier processes, and the events are removed from the file. It
// also waits while the file cannot be used.
func (s *Spool) Flush(ctx context.Context) error {
	if s.feed == nil {
		return nil
	}
	select {
	case <-s.opened:
	case <-s.stopped:
	case <-ctx.Done():
		return s.unflushed(ctx.Err())
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
		return s.unflushed(ctx.Err())
	}
	s.feed.leave(fl)
	if s.feed.read().Events == 0 {
		return nil
	}
	return s.unflushed(errNextStopped)
}

var errNextStopped = errors.New("the transport has stopped")

func (s *Spool) unflushed(why error) error {
	return &footfall.FlushError{Unsettled: s.feed.read().Events, Err: why, Cause: s.feed.next.Failure()}
}

// flushNext flushes a Next that stores events.
func (s *Spool) flushNext(ctx context.Context) error {
	if next, ok := s.cfg.Next.(footfall.Flusher); ok {
		return next.Flush(ctx)
	}
	return nil
}

func (f *feed) await() *flush {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := &flush{target: f.last, done: make(chan struct{})}
	f.flushes = append(f.flushes, fl)
	return fl
}

func (f *feed) leave(fl *flush) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushes = slices.DeleteFunc(f.flushes, func(o *flush) bool { return o == fl })
}

// answer ends the calls to Flush whose events have ended.
func (f *feed) answer() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.flushes) == 0 {
		return
	}
	open := f.firstOpen()
	f.flushes = slices.DeleteFunc(f.flushes, func(fl *flush) bool {
		if fl.target >= open {
			return false
		}
		close(fl.done)
		return true
	})
}

// firstOpen returns the smallest key in the file.
func (f *feed) firstOpen() uint64 {
	first := uint64(none)
	if f.behind {
		first = f.loaded
	}
	for _, it := range f.out {
		if it.key != 0 {
			first = min(first, it.key)
		}
	}
	for _, p := range f.ended {
		first = min(first, p.key)
	}
	return first
}
