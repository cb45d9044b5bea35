package spool

import (
	"errors"
	"sync"
)

// use is what has become of a Spool: nothing yet, or one of the two.
type use struct {
	mu        sync.Mutex
	delivered bool // Deliver was called
	closed    bool // before it was
}

var (
	errInUse  = errors.New("spool: close: a tracker uses the Spool: Close of the tracker releases the directory")
	errSecond = errors.New("a Spool is for one tracker and delivers nothing for a second")
	errClosed = errors.New("the Spool was closed before it was given to a tracker: it delivers and stores nothing")
)

// begin is the beginning of Deliver.
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

// Close releases the directory of a Spool that no tracker uses: one that was never given to
// a tracker, or to one that is disabled. It is not needed otherwise, because Close of the
// tracker releases the directory. While a tracker uses the Spool, Close does nothing and
// returns an error that says so; afterwards it returns nil. Calling Close again is allowed.
//
// A Spool that was closed cannot be used. A tracker that is given one logs an error and
// delivers nothing: TrackDurable returns an error, Track returns footfall.ErrQueueFull when
// the queue is full, and Close of the tracker returns how many events are lost.
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
