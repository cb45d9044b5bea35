package queue

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

func TestClockAgreesWithTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		for range 100 {
			assert.Equal(t, time.Now().UnixNano(), c.unixStart()+c.now())
			time.Sleep(70 * time.Millisecond)
		}
	})
}

// Not in a bubble: times have no monotonic reading there.
func TestClockFollowsAWallClockThatIsSet(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"forward": -time.Hour, "back": time.Hour} {
		c := newClock()
		c.start = withWallClock(c.start, before)
		assert.InDelta(t, 0, c.now(), float64(time.Minute), "set %s: the monotonic clock is not", name)
		assert.InDelta(t, time.Now().UnixNano(), c.unixStart()+c.now(), float64(time.Minute), "set %s", name)
	}
}

// withWallClock returns at with a wall clock that differs by d and the same monotonic reading.
// No function of package time can do so: Add changes both. In a Time with a monotonic reading,
// the first word contains the wall clock's seconds from bit 30 on.
func withWallClock(at time.Time, d time.Duration) time.Time {
	word := (*uint64)(unsafe.Pointer(&at))
	*word += uint64(int64(d/time.Second)) << 30
	return at
}
