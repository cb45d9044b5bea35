package footfall

import (
	"sync/atomic"
	"time"
)

// clock tells the wall time at the cost of reading the monotonic clock alone, half
// that of time.Now. It looks at the wall clock once a second, so it may be behind a
// clock that was set for as long.
type clock struct {
	start  time.Time
	offset atomic.Int64 // of the wall clock's Unix time from the monotonic time since start, in ns
	stale  atomic.Int64 // ns since start when the offset must be looked at again
}

func newClock() *clock { return &clock{start: time.Now()} }

// unixNano is time.Now().UnixNano().
func (c *clock) unixNano() int64 {
	since := time.Since(c.start)
	if int64(since) >= c.stale.Load() {
		c.offset.Store(time.Now().UnixNano() - int64(since))
		c.stale.Store(int64(since + time.Second))
	}
	return int64(since) + c.offset.Load()
}
