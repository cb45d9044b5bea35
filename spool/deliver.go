package spool

import (
	"context"
	"sync"

	"github.com/footfall-dev/footfall"
)

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
	o := newOwner(s, src)
	o.reopen()
	close(s.opened)
	var running sync.WaitGroup
	running.Go(func() { s.watch(ctx, src) })
	running.Go(func() { s.runNext(ctx) })
	o.run(ctx)
	running.Wait()
}

// Outage implements [footfall.OutageReporter]. It asks Config.Next.
func (s *Spool) Outage() (o footfall.Outage, out bool) {
	if next, ok := s.cfg.Next.(footfall.OutageReporter); ok {
		return next.Outage()
	}
	return o, false
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
			s.nextFailed = true // its goroutines may still read bodies
			s.log.Error("spool: panic in Config.Next", "panic", v)
		}
	}()
	s.cfg.Next.Deliver(ctx, s.feed.next)
}
