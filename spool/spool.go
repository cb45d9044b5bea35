package spool

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
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
	feed   *feed // nil if the tracker is disabled

	use         use
	due         atomic.Bool   // the tracker has events to take
	wake        chan struct{} // of capacity 1; wakes the owner
	opened      chan struct{} // closed after the first attempt to open the file
	stopped     chan struct{} // closed when Deliver returns
	nextStopped chan struct{} // closed when Next has returned
}

var (
	_ footfall.Transport = (*Spool)(nil)
	_ footfall.Flusher   = (*Spool)(nil)
	_ io.Closer          = (*Spool)(nil)
)

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
	problems := try(tracker, cfg.Next)
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

// try returns the error of a tracker's Config, by creating and closing a tracker without I/O.
// It checks the fields about the API if other is nil.
func try(cfg footfall.Config, other footfall.Transport) error {
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

// Deliver implements footfall.Transport.
func (s *Spool) Deliver(ctx context.Context, src *footfall.Source) {
	if s.feed == nil {
		return
	}
	if err := s.use.begin(); err != nil {
		s.log.Error("spool: " + err.Error())
		return
	}
	defer close(s.stopped)
	s.feed.src = src
	o := &owner{Spool: s, src: src, next: 1, uncertain: none, fresh: true, shunned: make(map[string]bool)}
	o.reopen()
	close(s.opened)
	var running sync.WaitGroup
	running.Go(func() { s.watch(ctx, src) })
	running.Go(func() { s.runNext(ctx) })
	o.run(ctx)
	running.Wait()
}

// watch wakes the owner when the tracker has a batch.
func (s *Spool) watch(ctx context.Context, src *footfall.Source) {
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		s.due.Store(true)
		s.wakeOwner()
	}
}

// runNext runs Next. A panic in the application's Transport stops delivery, not the
// application. Events are still stored.
func (s *Spool) runNext(ctx context.Context) {
	defer close(s.nextStopped)
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("spool: panic in Config.Next", "panic", v)
		}
	}()
	s.cfg.Next.Deliver(ctx, s.feed.next)
}

func (s *Spool) wakeOwner() {
	select {
	case s.wake <- struct{}{}:
	default: // the owner is woken already
	}
}

// Stats returns the counts so far. They are one consistent snapshot.
func (s *Spool) Stats() Stats {
	if s.feed == nil {
		return Stats{}
	}
	return s.feed.read()
}
