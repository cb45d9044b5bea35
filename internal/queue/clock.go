package queue

import "time"

// clock counts nanoseconds since it was created. It never goes back, and costs half as much as
// time.Now, which also reads the wall clock.
type clock struct{ start time.Time }

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() int64 { return int64(time.Since(c.start)) }

// unixStart returns the Unix time in nanoseconds at which the clock was made, by the present
// wall clock. It changes when the wall clock is set and when the machine has slept. Ids follow
// with the first event of the next slab.
func (c *clock) unixStart() int64 {
	now := time.Now()
	return now.UnixNano() - int64(now.Sub(c.start))
}
