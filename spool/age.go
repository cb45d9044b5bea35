package spool

import "time"

// clock measures the age of events. It is the file's: it counts the time for which
// processes have had the file open, each by its monotonic clock, and goes on where the
// last one left it. It never reads the wall clock, which may be wrong by years when a
// machine boots, and jump when it is set. So it may be slow, which keeps an event for
// longer, and is never fast, which would drop an event that was not sent.
type clock struct {
	begun time.Time // of this run; only its monotonic reading counts
	base  time.Duration
}

// at returns what the clock shows at a time of this run.
func (c *clock) at(now time.Time) time.Duration { return c.base + now.Sub(c.begun) }

// set makes the clock show d now: what the first file that is opened says. No record of
// this run has been stamped by then, and whatever was before is no age of the file's.
func (c *clock) set(d time.Duration) { c.base, c.begun = d, time.Now() }

// clockNow returns what the clock of the file shows.
func (f *feed) clockNow() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock.at(time.Now())
}

// tooOld reports whether an event of the file is older than Config.MaxAge.
func (f *feed) tooOld(it *item, now time.Time) bool {
	return it.key != 0 && f.maxAge > 0 && f.clock.at(now)-it.stored > f.maxAge
}

// noteEvery is the least time between two notes of the clock. A process that is killed
// forgets the time since its last one.
const noteEvery = time.Second

// noteClock writes what the clock shows into a file of events, if the clock has gone on by
// a while since the last time.
func (o *owner) noteClock(while time.Duration) {
	s, now := o.store, o.feed.clockNow()
	if s == nil || s.events == 0 || now-s.clock < while {
		return
	}
	if err := s.commit(&change{clock: now}); err != nil {
		o.fail(err)
	}
}
