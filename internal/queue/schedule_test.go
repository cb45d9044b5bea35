package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noteDue records when batches are due and their size, and takes them.
func (q *shardTest) noteDue(t *testing.T) (batches *[]dueBatch) {
	t.Helper()
	began := time.Now()
	batches = new([]dueBatch)
	go func() {
		for n, ok := q.source.Wait(t.Context()); ok; n, ok = q.source.Wait(t.Context()) {
			*batches = append(*batches, dueBatch{time.Since(began), n})
			q.Take(make([]item, n))
		}
	}()
	synctest.Wait()
	return batches
}

type dueBatch struct {
	at     time.Duration
	events int
}

const ms = time.Millisecond

func tenMs(c *Options) { c.Interval = 10 * ms }

func (q *shardTest) putAfter(t *testing.T, pause time.Duration, events int) {
	t.Helper()
	time.Sleep(pause)
	for n := range events {
		require.NoError(t, q.Put(&Hint{}, number(n), 0))
	}
	synctest.Wait()
}

func TestFirstEventOfAQuietMomentIsDueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(2, tenMs)
		batches := q.noteDue(t)
		for range 3 {
			q.putAfter(t, 25*ms, 1)
		}
		assert.Equal(t, []dueBatch{{25 * ms, 1}, {50 * ms, 1}, {75 * ms, 1}}, *batches)
	})
}

func TestEventsWithinTheIntervalAreDueTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(2, tenMs)
		batches := q.noteDue(t)
		q.putAfter(t, 0, 1)
		for range 9 { // after 3, 6 and so on to 27 ms
			q.putAfter(t, 3*ms, 1)
		}
		q.putAfter(t, 30*ms, 1)
		assert.Equal(t, []dueBatch{{0, 1}, {10 * ms, 3}, {20 * ms, 3}, {30 * ms, 3}, {57 * ms, 1}}, *batches)
	})
}

func TestFullBatchIsFollowedByTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(2, tenMs)
		batches := q.noteDue(t)
		q.putAfter(t, 0, 1)
		q.putAfter(t, 0, 100)
		q.putAfter(t, 5*ms, 1)
		q.putAfter(t, 13*ms, 1)
		time.Sleep(10 * ms)
		synctest.Wait()
		assert.Equal(t, []dueBatch{{0, 1}, {0, 100}, {10 * ms, 1}, {20 * ms, 1}}, *batches)
	})
}

func TestIdleQueueHasNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(2, tenMs)
		batches := q.noteDue(t)
		assert.False(t, q.timer.Stop(), "before the first event")
		for _, events := range []int{1, 99, 100, 1000} {
			q.putAfter(t, 20*ms, events)
			time.Sleep(3 * 10 * ms)
			synctest.Wait()
			assert.False(t, q.timer.Stop(), "after %d", events)
			assert.Zero(t, q.waiting)
		}
		assert.NotEmpty(t, *batches)
	})
}

// A caller that wakes Wait pays for it. The timer is set anyway.
func TestCallersDoNotWakeTheTransportBetweenTheFirstEventAndAFullBatch(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 3} {
		q := newShardTest(shards, tenMs)
		wakes := 0
		put := func(events int) {
			for n := range events {
				require.NoError(t, q.Put(&Hint{shard: n % shards}, number(n), 0))
				select {
				case <-q.trigger:
					wakes++
					q.DueBatch(false)
				default:
				}
			}
		}
		put(30)
		assert.LessOrEqual(t, wakes, 1+shards, "the first of all, and the first in each shard after it")
		for range 10 {
			wakes = 0
			q.TimeOver()
			q.DueBatch(false)
			q.Take(make([]item, 100))
			put(30)
			assert.Zero(t, wakes)
		}
	}
}

func TestUnusedShardLosesItsShareOfABatch(t *testing.T) {
	t.Parallel()
	q := newShardTest(2)
	for n := range 10 {
		require.NoError(t, q.Put(&Hint{shard: n % 2}, number(n), 0))
		q.DueBatch(false)
	}
	q.TimeOver()
	q.DueBatch(false)
	<-q.trigger
	var wakes []int
	for n := range 100 {
		require.NoError(t, q.Put(&Hint{}, number(n), 0))
		if len(q.trigger) > 0 {
			<-q.trigger
			q.DueBatch(false)
			wakes = append(wakes, n+1)
		}
	}
	assert.Equal(t, []int{50, 100}, wakes)
}

func TestWakeEndsTheLongWaitsOfEventsThatNoSenderTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(1, tenMs)
		began := time.Now()
		var due []time.Duration
		go func() {
			for _, ok := q.source.Wait(t.Context()); ok; _, ok = q.source.Wait(t.Context()) {
				due = append(due, time.Since(began))
			}
		}()
		q.putAfter(t, 0, 1)
		time.Sleep(100 * ms) // due after 0, 10, 30, 70 and 150 ms
		q.source.Wake()
		synctest.Wait()
		require.Equal(t, 1, q.Take(make([]item, 2)))
		q.putAfter(t, 5*ms, 1)
		time.Sleep(20 * ms)
		synctest.Wait()
		assert.Equal(t, []time.Duration{0, 10 * ms, 30 * ms, 70 * ms, 100 * ms, 110 * ms}, due[:6])
	})
}
