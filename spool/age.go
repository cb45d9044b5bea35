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
