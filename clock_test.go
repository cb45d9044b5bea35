package footfall

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClockIsTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		for range 100 {
			assert.Equal(t, time.Now().UnixNano(), c.unixNano())
			time.Sleep(70 * time.Millisecond)
		}
	})
}

func TestClockFollowsAWallClockThatWasSetWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		c.unixNano()
		c.offset.Add(int64(time.Hour)) // as if it were an hour ahead of what the wall clock says now
		time.Sleep(time.Second)
		assert.Equal(t, time.Now().UnixNano(), c.unixNano())
	})
}
