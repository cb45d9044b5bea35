package queue

import "time"

// clock counts ns since it was made. It never goes back, and costs half of what time.Now
// does, which reads the wall clock as well.
type clock struct{ start time.Time }

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() int64 { return int64(time.Since(c.start)) }

// unixStart is the Unix time in ns, as the wall clock now has it, when the clock was made.
// It changes when the wall clock is set, and when the machine has slept; ids learn of that
// with the first event of the next slab.
func (c *clock) unixStart() int64 {
	now := time.Now()
	return now.UnixNano() - int64(now.Sub(c.start))
}
