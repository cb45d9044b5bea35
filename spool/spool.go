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

// Spool is a footfall.Transport that keeps events in a file until another Transport has
// delivered them. It is for one tracker. Its methods may be called from several
// goroutines at once.
type Spool struct {
	cfg    Config
	log    *slog.Logger
	folder *folder
	runID  uint64
	feed   *feed // nil if the tracker is disabled

	use         use
	due         atomic.Bool   // the tracker has events to be taken
	wake        chan struct{} // one slot: the owner of the file should look
	opened      chan struct{} // closed when the file was tried for the first time
	stopped     chan struct{} // closed when Deliver returns
	nextStopped chan struct{} // closed when Next has returned
}

var (
	_ footfall.Transport = (*Spool)(nil)
	_ footfall.Flusher   = (*Spool)(nil)
	_ io.Closer          = (*Spool)(nil)
)

// New checks cfg and takes the directory, which is free again when the tracker has been
// closed, or the Spool if it was given to no tracker. The error joins one *footfall.FieldError for every problem of cfg, or is
// ErrLocked.
//
// A directory or file that cannot be used is no error: the log is told, events are in
// memory only, as they are without a Spool, and it is tried again.
func New(cfg Config) (*Spool, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if dir, err := filepath.Abs(cfg.Dir); err == nil { // the application may go elsewhere
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

// FlushInterval is the default of footfall.Config.FlushInterval for a tracker that Open makes.
// It is longer than without a Spool because each batch is a transaction, which waits for
// the disk. Within the same time the file is written for events that have been delivered, so
// that at most 20 transactions a second are made until batches are full.
const FlushInterval = removeAfter

// Open returns a tracker with a Spool between it and its transport, which is cfg.Next,
// else tracker.Transport, else HTTP. The default of tracker.FlushInterval is [FlushInterval].
// The error joins those of footfall.New and New. Of a tracker that is disabled nothing else
// is looked at, and the Spool does nothing.
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
		checked.Next = idle{} // what is wrong with it has been said
		return nil, nil, errors.Join(problems, checked.check())
	}
	s, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	t, err := footfall.New(s.behind(tracker))
	if err != nil {
		_ = s.Close() // no tracker has it
		return nil, nil, err
	}
	return t, s, nil
}

// behind returns the Config of a tracker whose events the Spool keeps.
func (s *Spool) behind(tracker footfall.Config) footfall.Config {
	tracker.Transport = s
	tracker.FlushInterval = cmp.Or(tracker.FlushInterval, FlushInterval)
	return tracker
}

// try says what is wrong with the Config of a tracker, by making one and closing it. That
// does no I/O. What is about the API counts if there is no other transport.
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

// watch tells the owner whenever the tracker has a batch.
func (s *Spool) watch(ctx context.Context, src *footfall.Source) {
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		s.due.Store(true)
		s.wakeOwner()
	}
}

// runNext runs Next. A panic of one that the application gave stops delivery, not the
// application; events are stored all the same.
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
	default: // it has not looked since the last time
	}
}

// Stats returns the counts so far. They are one consistent reading.
func (s *Spool) Stats() Stats {
	if s.feed == nil {
		return Stats{}
	}
	return s.feed.read()
}
