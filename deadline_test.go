package footfall

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestADeadlineIsUsedAgainAndHasAllItsTimeEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDeadlines(time.Second, 1)
		first := d.begin(t.Context())
		for range 10 {
			time.Sleep(900 * time.Millisecond)
			require.NoError(t, first.Err())
			d.end(first)
			time.Sleep(time.Minute)
			require.Same(t, first, d.begin(t.Context()))
			require.NoError(t, first.Err())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.EqualError(t, context.Cause(first), "no answer in 1s")
		d.end(first)
		second := d.begin(t.Context())
		assert.NotSame(t, first, second)
		assert.NoError(t, second.Err())
		d.end(second)
		d.close()
	})
}

func TestADeadlineEndsWithTheDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		d := newDeadlines(time.Hour, 1)
		used := d.begin(ctx)
		stop()
		require.ErrorIs(t, used.Err(), context.Canceled)
		d.end(used)
		assert.Empty(t, d.idle)
	})
}

func TestDeadlinesKeepNoMoreThanWereToBeInUse(t *testing.T) {
	d := newDeadlines(time.Hour, 2)
	var used []*deadline
	for range 5 {
		used = append(used, d.begin(t.Context()))
	}
	for _, u := range used {
		d.end(u)
	}
	assert.Len(t, d.idle, 2)
	d.close()
	assert.Empty(t, d.idle)
	for _, u := range used {
		assert.Error(t, u.Err(), "nothing is left with the parent")
	}
}
