package footfall

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClockTellsTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		for range 100 {
			assert.Equal(t, time.Now().UnixNano(), c.unixStart()+c.now())
			time.Sleep(70 * time.Millisecond)
		}
	})
}
