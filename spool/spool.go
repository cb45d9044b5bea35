package spool

import (
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"

	"github.com/footfall-dev/footfall"
)

// Spool is a [footfall.Transport] that keeps events in a file until another Transport has
// delivered them. It serves one tracker. Its methods may be called from several goroutines at
// once.
type Spool struct {
	cfg    Config
	log    *slog.Logger
	folder *folder
	runID  uint64
	feed   *feed        // nil if the tracker is disabled
	memory *queueMemory // nil if the queue is on the heap

	use          use
	due          atomic.Bool   // the tracker has events to take
	wake         chan struct{} // of capacity 1; wakes the owner
	opened       chan struct{} // closed after the first attempt to open the file
	stopped      chan struct{} // closed when Deliver returns
	nextStopped  chan struct{} // closed when Next has returned
	nextFailed   bool          // Next has panicked; set before nextStopped is closed
	memoryFailed atomic.Bool
}

var (
	_ footfall.Transport = (*Spool)(nil)
	_ footfall.Flusher   = (*Spool)(nil)
	_ io.Closer          = (*Spool)(nil)
)

var errNextStopped = errors.New("the transport has stopped")

// New checks cfg and locks the directory. Close of the tracker releases it, or [Spool.Close] if
// no tracker uses the Spool. The error joins a [*footfall.FieldError] for every problem of cfg,
// or is [ErrLocked].
//
// A directory or file that cannot be used is not an error: it is logged and tried again, and
// events are in memory only until it can be used.
func New(cfg Config) (*Spool, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if dir, err := filepath.Abs(cfg.Dir); err == nil { // the application may change its working directory
		cfg.Dir = dir
	}
	s := &Spool{
		cfg:         cfg,
		log:         cfg.Logger,
		folder:      &folder{dir: cfg.Dir, shared: cfg.Shared},
		runID:       rand.Uint64(),
		wake:        make(chan struct{}, 1),
		opened:      make(chan struct{}),
		stopped:     make(chan struct{}),
		nextStopped: make(chan struct{}),
	}
	if err := s.folder.enter(lockPatience); errors.Is(err, ErrLocked) {
		return nil, err
	}
	s.feed = newFeed(cfg.MaxAge, s.wakeOwner)
	return s, nil
}

func (s *Spool) wakeOwner() {
	select {
	case s.wake <- struct{}{}:
	default: // the owner is woken already
	}
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

// Stats returns the counts so far. They are one consistent snapshot.
func (s *Spool) Stats() Stats {
	if s.feed == nil {
		return Stats{}
	}
	return s.feed.read()
}
