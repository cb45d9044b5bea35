package sqlite

import "time"

// A clock that is ahead by less than this is right.
const clockTolerance = 10 * time.Minute

// clock is the clock for the expiry of keys: the wall clock, except that a step ahead counts only when
// it has lasted. A clock that is a day ahead for a minute would expire every key, and all events that
// are repeated later would count twice. A step back counts at once, because it expires nothing. It is
// used by one goroutine at a time.
type clock struct {
	wall    func() time.Time
	elapsed func() time.Duration // of a clock that cannot be set
	lasts   time.Duration        // a step ahead must last for this time

	at     time.Time     // what now returned last
	when   time.Duration // elapsed at that time
	agreed time.Duration // elapsed when the wall clock was right last
}

// newClock returns a clock whose steps ahead count when they have lasted.
func newClock(lasts time.Duration) *clock {
	start := time.Now()
	return &clock{wall: func() time.Time { return time.Now().Round(0) }, elapsed: func() time.Duration { return time.Since(start) }, lasts: lasts}
}

func (c *clock) now() time.Time {
	wall, elapsed := c.wall(), c.elapsed()
	steady := c.at.Add(elapsed - c.when)
	if c.at.IsZero() || wall.Sub(steady) <= clockTolerance || elapsed-c.agreed >= c.lasts {
		steady, c.agreed = wall, elapsed
	}
	c.at, c.when = steady, elapsed
	return steady
}
