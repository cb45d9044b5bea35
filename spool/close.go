package spool

import (
	"errors"
	"sync"
)

// use says whether a Spool was delivered from or closed.
type use struct {
	mu        sync.Mutex
	delivered bool // Deliver was called
	closed    bool // before Deliver was called
}

var (
	errInUse  = errors.New("spool: close: a tracker uses the Spool: close the tracker instead")
	errSecond = errors.New("a Spool serves one tracker only: it delivers nothing for a second one")
	errClosed = errors.New("the Spool was closed before it was given to a tracker: it delivers and stores nothing")
)

// begin notes that Deliver was called, or returns why it must not run.
func (u *use) begin() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return errClosed
	case u.delivered:
		return errSecond
	}
	u.delivered = true
	return nil
}

// Close releases the directory of a Spool that no tracker uses, such as a Spool that was given
// to no tracker or to a disabled one. Otherwise Close of the tracker releases the directory.
// While a tracker uses the Spool, Close does nothing and returns an error; afterwards it
// returns nil. Close may be called more than once.
//
// A closed Spool cannot be used. A tracker with a closed Spool logs an error and delivers
// nothing: TrackDurable returns an error, Track returns [footfall.ErrQueueFull] when the queue
// is full, and Close of the tracker returns the number of lost events.
func (s *Spool) Close() error {
	if s.feed == nil {
		return nil
	}
	s.use.mu.Lock()
	defer s.use.mu.Unlock()
	switch {
	case s.use.closed:
		return nil
	case s.use.delivered:
		select {
		case <-s.stopped:
			return nil
		default:
			return errInUse
		}
	}
	s.use.closed = true
	s.folder.leave()
	close(s.stopped)
	return nil
}
