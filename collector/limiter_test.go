package collector

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLimiterReturnsWaitsInWholeSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter[string](0.4, 2)
		assert.Equal(t, []int{0, 0, 3, 3}, []int{l.take("a"), l.take("a"), l.take("a"), l.take("a")}, "of 2.5 seconds")
		time.Sleep(2 * time.Second)
		assert.Equal(t, 1, l.take("a"))
		time.Sleep(time.Second)
		assert.Zero(t, l.take("a"))
		time.Sleep(time.Hour)
		l.prune()
		assert.Zero(t, l.table.Len())
	})
}

func TestNilLimiterAllowsEverything(t *testing.T) {
	t.Parallel()
	var none *limiter[string]
	for range 1000 {
		assert.Zero(t, none.take("a"))
	}
}
