package spool

import (
	"context"
	"time"
)

// run returns when all events of the tracker are settled or in the file.
func (o *owner) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	closing := o.src.Closing()
	for {
		o.step()
		timer.Reset(o.pause())
		select {
		case <-o.wake:
		case <-timer.C:
		case <-closing:
			closing, o.closing, o.retryAt = nil, true, time.Time{}
		case <-o.nextStopped:
			o.waitForClose(ctx)
			o.finish()
			return
		}
	}
}

// waitForClose stores events until the tracker closes, if Next has returned before.
func (o *owner) waitForClose(ctx context.Context) {
	if o.handed || ctx.Err() != nil {
		return
	}
	o.log.Error("spool: Config.Next has stopped: events are stored and not delivered")
	for !o.handed && ctx.Err() == nil {
		select {
		case <-o.wake:
		case <-o.src.Closing():
			o.closing = true
		case <-ctx.Done():
		case <-time.After(o.pause()):
		}
		o.step()
	}
}

// step does all work that is due.
func (o *owner) step() {
	o.reopen()
	o.hold(o.feed.failedDirect())
	o.sweep()
	o.storeExposed()
	for o.takeEvents() && o.write() && o.closing {
	}
	o.write()
	o.feed.reload(time.Now())
	o.fill()
	o.handAgain()
	o.adopt()
	o.shrink()
	o.handOver()
	o.noteMemory()
	o.feed.answer()
}

// sweep removes the events in memory that are too old. Other events are checked when they are
// read.
func (o *owner) sweep() {
	if now := time.Now(); o.cfg.MaxAge > 0 && now.Sub(o.swept) >= o.sweepEvery() {
		o.swept = now
		o.notices.expired(o.log, &o.cfg, o.feed.sweep(now))
		o.noteClock(max(o.sweepEvery(), noteEvery))
	}
}

func (o *owner) sweepEvery() time.Duration {
	if o.cfg.MaxAge < 0 {
		return time.Minute
	}
	return min(max(o.cfg.MaxAge/10, 10*time.Millisecond), time.Minute)
}

// noteEvery is the shortest time between two writes of the clock. After a kill, the time since
// the last write is not counted.
const noteEvery = time.Second

// noteClock writes the clock to a file with events if it has advanced by while since the last
// write.
func (o *owner) noteClock(while time.Duration) {
	s, now := o.store, o.feed.clockNow()
	if s == nil || s.events == 0 || now-s.clock < while {
		return
	}
	if err := s.commit(&change{clock: now}); err != nil {
		o.fail(err)
	}
}

// shrink replaces a sparse file by a small one.
func (o *owner) shrink() {
	if o.store == nil || !o.store.isSparse() || time.Since(o.shrunk) < retryMax {
		return
	}
	o.shrunk = time.Now()
	small, err := shrink(o.store, o.claim)
	o.store = small
	if err != nil {
		o.fail(err)
	}
}

// adopt moves some of the events that other processes have left.
func (o *owner) adopt() {
	if o.store == nil || o.closing {
		return
	}
	if o.cfg.Shared && time.Since(o.recovered) >= scanEvery {
		if err := o.recoverQueues(); err != nil {
			o.fail(err)
			return
		}
	}
	if err := o.moveSome(o.store); err != nil {
		o.fail(err)
	}
}

// handAgain offers events again that Next gave up lookAgain ago.
func (o *owner) handAgain() {
	switch {
	case !o.feed.waitsAgain():
		o.again = time.Time{}
	case o.again.IsZero():
		o.again = time.Now()
	case time.Since(o.again) >= lookAgain:
		o.again = time.Time{}
		o.feed.tick()
	}
}

// handOver closes the feed when the tracker closes and its queue is empty.
func (o *owner) handOver() {
	if !o.closing || o.handed {
		return
	}
	for o.expose(); o.takeEvents(); o.expose() { // the file may have no room
	}
	o.handed = true
	o.feed.close()
}

// storeExposed writes events that the file had no room for in the place of events that have ended
// while the tracker closes. The process may be killed before finish.
func (o *owner) storeExposed() {
	if !o.handed || o.store == nil || !o.feed.hasEnded() {
		return
	}
	o.hold(o.feed.takeExposed())
	o.write()
	o.expose()
	o.feed.returnedExposed()
}

// finish stores the remaining events and closes the file.
func (o *owner) finish() {
	o.closing = true
	if o.store != nil {
		o.hide()
	}
	for o.takeEvents() && o.write() {
	}
	for o.store != nil && o.feed.hasEnded() && o.write() {
	}
	o.expose()
	o.feed.abandon(errNextStopped)
	o.stopAdopting()
	o.noteClock(noteEvery)
	if o.store != nil {
		if o.store.events > 0 {
			o.log.Info("spool: events stay in the file until the next start", "events", o.store.events, "dir", o.cfg.Dir)
		}
		o.store.close()
	}
	if o.claim != nil {
		o.claim.release()
	}
	if !o.nextFailed {
		o.memory.free()
	}
	o.folder.leave()
}

// pause returns the time until the next step, unless something wakes the owner.
func (o *owner) pause() time.Duration {
	now := time.Now()
	wait := o.sweepEvery()
	if o.store == nil {
		wait = min(wait, o.retryAt.Sub(now))
	}
	if at, ok := o.feed.reloadAt(); ok {
		wait = min(wait, at.Sub(now))
	}
	if o.store != nil && o.feed.hasEnded() {
		wait = min(wait, o.oldest.Add(removeAfter).Sub(now)) // zero or less if oldest is not set
	}
	if !o.again.IsZero() {
		wait = min(wait, o.again.Add(lookAgain).Sub(now))
	}
	if o.cfg.Shared && o.store != nil && o.adoption == nil && !o.closing {
		wait = min(wait, o.scanned.Add(scanEvery).Sub(now))
	}
	return max(wait, 0)
}
