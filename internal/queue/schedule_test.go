package queue

import (
	"math/rand/v2"
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
			assert.Zero(t, q.ledger.waiting)
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

// A schedule with events always has a batch that is due, or its timer runs, or the next event triggers
// the transport.
func TestScheduleInEachOrderOfCalls(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		interval := time.Duration(1+r.IntN(50)) * ms
		s := newSchedule(1+r.IntN(20), interval)
		var alarm time.Duration // the timer runs
		waiting := 0
		set := func(d time.Duration) {
			if d > 0 {
				alarm = d
			}
		}
		for range 200 {
			switch r.IntN(5) {
			case 0, 1:
				n := 1 + r.IntN(8)
				s.fresh += n
				waiting += n
			case 2:
				woken := r.IntN(3) == 0
				if woken {
					s.woken()
				}
				must := waiting > 0 && (s.phase == idle || s.due || s.phase == waits && s.fresh >= s.batch)
				ready, d := s.look(waiting)
				set(d)
				require.Equal(t, must || waiting == 0, ready)
				require.False(t, ready && (s.fresh > 0 || s.due), "the next batch has begun")
				require.False(t, woken && waiting > 0 && s.wait > interval, "the transport may take some")
			case 3:
				if waiting > 0 {
					waiting -= 1 + r.IntN(waiting)
					set(s.took())
					require.False(t, s.phase == waits && s.wait > interval, "a new event waits for the interval")
				}
			case 4:
				if alarm > 0 {
					alarm = 0
					set(s.timeOver())
					require.True(t, s.phase == idle && s.due || s.phase == waits && alarm > 0)
				}
			}
			require.LessOrEqual(t, s.wait, max(interval, LookAgain))
			require.Equal(t, s.phase == rests, s.untilTrigger() == 0)
			require.True(t, s.phase == idle || alarm > 0, "the timer runs")
		}
	}
}
