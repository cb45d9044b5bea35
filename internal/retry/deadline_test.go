package retry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAReusedDeadlineHasItsFullTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDeadlines(time.Second, 1)
		first := d.Begin(t.Context())
		for range 10 {
			time.Sleep(900 * time.Millisecond)
			require.NoError(t, first.Err())
			d.End(first)
			time.Sleep(time.Minute)
			require.Same(t, first, d.Begin(t.Context()))
			require.NoError(t, first.Err())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		assert.EqualError(t, context.Cause(first), "no answer in 1s")
		d.End(first)
		second := d.Begin(t.Context())
		assert.NotSame(t, first, second)
		assert.NoError(t, second.Err())
		d.End(second)
		d.Close()
	})
}

func TestADeadlineEndsWithTheDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		d := NewDeadlines(time.Hour, 1)
		used := d.Begin(ctx)
		stop()
		require.ErrorIs(t, used.Err(), context.Canceled)
		d.End(used)
		assert.Empty(t, d.idle)
	})
}

func TestDeadlinesKeepAtMostTheGivenNumber(t *testing.T) {
	d := NewDeadlines(time.Hour, 2)
	var used []*Deadline
	for range 5 {
		used = append(used, d.Begin(t.Context()))
	}
	for _, u := range used {
		d.End(u)
	}
	assert.Len(t, d.idle, 2)
	d.Close()
	assert.Empty(t, d.idle)
	for _, u := range used {
		assert.Error(t, u.Err(), "nothing is left with the parent")
	}
}
