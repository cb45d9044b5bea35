package spool

import "time"

// clock measures the age of events. It belongs to the file: it adds up the time for which
// processes have had the file open, by their monotonic clocks. It never reads the wall clock,
// which may be wrong when a machine boots, and jumps when it is set. So the clock may be slow,
// which keeps an event for longer, but it is never fast, which would drop an unsent event.
type clock struct {
	begun time.Time // start of this run; only its monotonic reading is used
	base  time.Duration
}

// at returns the clock's reading at a time of this run.
func (c *clock) at(now time.Time) time.Duration { return c.base + now.Sub(c.begun) }

// set sets the clock to d, the reading in the first file that is opened. No record of this run
// has been stamped before.
func (c *clock) set(d time.Duration) { c.base, c.begun = d, time.Now() }

// clockNow returns the clock's reading.
func (f *feed) clockNow() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock.at(time.Now())
}

// tooOld reports whether an event of the file is older than Config.MaxAge.
func (f *feed) tooOld(it *item, now time.Time) bool {
	return it.key != 0 && f.maxAge > 0 && f.clock.at(now)-it.stored > f.maxAge
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
