package queue

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shardTest is a queue with the given number of shards on every machine.
type shardTest struct {
	*Queue
	source *sourceTest
}

func newShardTest(shards int, change ...func(*Options)) *shardTest {
	s := &sourceTest{}
	o := Options{MaxEvents: 50_000, MaxBytes: 16 << 20, BatchSize: 100, Interval: 20 * time.Millisecond, Delayed: s, Dropped: func() {}}
	for _, c := range change {
		c(&o)
	}
	q := New(o)
	s.queue = q
	q.shards = nil
	for range shards {
		q.shards = append(q.shards, &shard{clock: q.clock, spares: &q.spares})
	}
	return &shardTest{q, s}
}

// tick waits until the clock has advanced, because events of one tick have no order among
// shards.
func (q *shardTest) tick() {
	for now := q.clock.now(); q.clock.now() == now; {
	}
}

// number returns the body of the n-th event.
func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func (q *shardTest) takeOne(t *testing.T) (n int, r item) {
	t.Helper()
	var one [1]item
	require.Equal(t, 1, q.Take(one[:]))
	return int(binary.BigEndian.Uint64(one[0].Body)), one[0]
}

func TestEventsOfAllShardsAreTakenInOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run("seed "+strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			q := newShardTest(1 + int(seed%5))
			added, taken := 0, 0
			for range 20_000 {
				if added == taken || random.IntN(3) > 0 {
					q.tick()
					err := q.Put(&Hint{shard: random.IntN(len(q.shards))}, number(added), 0)
					require.NoError(t, err)
					added++
					continue
				}
				n, r := q.takeOne(t)
				require.Equal(t, taken, n)
				q.Settle([]item{r}, Delivered, nil)
				taken++
			}
			s := q.Counters()
			assert.Equal(t, uint64(added), s.Tracked)
			assert.Equal(t, uint64(taken), s.Delivered)
			assert.Equal(t, uint64(8*(added-taken)), s.QueuedBytes)
		})
	}
}

func TestTrackDoesNotWaitForATransportThatHoldsTheQueue(t *testing.T) {
	t.Parallel()
	q := newShardTest(2)
	err := q.Put(&Hint{shard: 0}, number(0), 0)
	require.NoError(t, err)
	q.mu.Lock() // as Take and Settle do
	for i := range 1000 {
		err := q.Put(&Hint{shard: i % 2}, number(i), 0)
		require.NoError(t, err)
	}
	q.mu.Unlock()
	assert.Equal(t, uint64(1001), q.Counters().Tracked)
}

func TestCallerThatOftenFindsItsShardLockedUsesAnother(t *testing.T) {
	t.Parallel()
	q := newShardTest(3)
	s := &Hint{shard: 2, misses: tooMany - 1}
	q.shards[2].mu.Lock()
	q.lockShard(s).mu.Unlock()
	assert.Equal(t, Hint{shard: 0}, *s, "the one after the last is the first")
	for range 3 {
		s.misses = 2
		q.lockShard(s).mu.Unlock()
		assert.Equal(t, Hint{shard: 0, misses: 1}, *s, "where it stays")
	}
	q.shards[2].mu.Unlock()
}

// fill puts events from many goroutines until one of them is refused.
func (q *shardTest) fill(size int) (accepted int64) {
	var n atomic.Int64
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			body, s := make([]byte, size), &Hint{shard: i % len(q.shards)}
			for q.Put(s, body, 0) == nil {
				n.Add(1)
			}
		})
	}
	callers.Wait()
	return n.Load()
}

func TestBoundsAreExactOverAllShards(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events, bytes, size int
		want                int64
	}{
		"events":                   {1000, 1 << 20, 100, 1000},
		"fewer events than shards": {3, 1 << 20, 100, 3},
		"bytes":                    {1 << 20, 100_000, 170, 588},
		"large events":             {1 << 20, 1 << 20, 100_000, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newShardTest(8, func(c *Options) { c.MaxEvents, c.MaxBytes = tc.events, tc.bytes })
			for range 3 {
				assert.Equal(t, tc.want, q.fill(tc.size))
				s := q.Counters()
				assert.Equal(t, uint64(tc.want), s.Queued)
				assert.Equal(t, uint64(tc.want*int64(tc.size)), s.QueuedBytes)
				all := make([]item, tc.want)
				require.Equal(t, len(all), q.Take(all))
				q.Settle(all, Delivered, nil)
			}
		})
	}
}

func TestCreditOfAllShardsIsWithinTheBounds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"events": func(c *Options) { c.MaxEvents = 1000 },
		"bytes":  func(c *Options) { c.MaxBytes = 8000 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newShardTest(8, change)
			n := 0
			for ; q.Put(&Hint{shard: n % 8}, number(n), 0) == nil; n++ {
			}
			assert.Equal(t, 1000, n)
		})
	}
}

func TestDropOldestDropsTheOldestOfAllShards(t *testing.T) {
	t.Parallel()
	q := newShardTest(4, func(c *Options) { c.MaxEvents, c.DropOldest = 50, true })
	for i := range 1000 {
		err := q.Put(&Hint{shard: i * 7 % 4}, number(i), 0)
		require.NoError(t, err)
	}
	assert.Equal(t, Counters{Tracked: 1000, Dropped: 950, Queued: 50, QueuedBytes: 400}, q.Counters())
	for i := range 50 {
		n, _ := q.takeOne(t)
		assert.Equal(t, 950+i, n)
	}
}

func TestDropOldestDropsADelayedEventBeforeOnesThatWait(t *testing.T) {
	t.Parallel()
	q := newShardTest(1, func(c *Options) { c.MaxEvents, c.DropOldest = 3, true })
	for n := range 3 {
		require.NoError(t, q.Put(&Hint{}, number(n), 0))
	}
	_, first := q.takeOne(t)
	q.source.delay(t, first)
	require.NoError(t, q.Put(&Hint{}, number(3), 0))
	assert.Equal(t, Counters{Tracked: 4, Dropped: 1, Queued: 3, QueuedBytes: 24}, q.Counters())
	assert.Empty(t, q.source.delayed)
	for want := 1; want <= 3; want++ {
		n, _ := q.takeOne(t)
		assert.Equal(t, want, n)
	}
}

func TestBatchOverSeveralShardsIsDueWithItsLastEvent(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 8} {
		t.Run(strconv.Itoa(shards)+" shards", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newShardTest(shards)
				var due atomic.Int64
				go func() {
					for n, ok := q.source.Wait(t.Context()); ok; n, ok = q.source.Wait(t.Context()) {
						due.Store(int64(n))
					}
				}()
				q.lead(t)
				for i := range 100 {
					synctest.Wait()
					require.Equal(t, int64(1), due.Load(), "after %d", i)
					err := q.Put(&Hint{shard: i % shards}, number(i), 0)
					require.NoError(t, err)
				}
				synctest.Wait()
				assert.Equal(t, int64(100), due.Load())
			})
		})
	}
}

// lead adds and takes the first event after a pause, which is due at once.
func (q *shardTest) lead(t *testing.T) {
	t.Helper()
	require.NoError(t, q.Put(&Hint{}, number(0), 0))
	synctest.Wait()
	require.Equal(t, 1, q.Take(make([]item, 1)))
}

// Waking Wait costs more than an event.
func TestWaitIsWokenForTheFirstEventAndForAFullBatch(t *testing.T) {
	t.Parallel()
	q := newShardTest(2, func(c *Options) { c.MaxEvents = 1 << 20 })
	woken := func() bool {
		select {
		case <-q.trigger:
			q.DueBatch(false)
			return true
		default:
			return false
		}
	}
	for i := range 2 { // in both shards
		require.NoError(t, q.Put(&Hint{shard: i}, number(i), 0))
		assert.True(t, woken())
	}
	q.TimeOver()
	q.DueBatch(false)
	var wakes []int
	for i := range 10_000 { // in one of them
		require.NoError(t, q.Put(&Hint{}, number(i), 0))
		if woken() {
			wakes = append(wakes, i+1)
		}
	}
	assert.Equal(t, []int{1, 100}, wakes, "the timer tells of all that come in the next millisecond")
}

func TestBatchThatIsFullWithTheQueueIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(8, func(c *Options) { c.MaxEvents = 101 })
		began := time.Now()
		due := 0
		go func() {
			for n, ok := q.source.Wait(t.Context()); ok; n, ok = q.source.Wait(t.Context()) {
				due = n
			}
		}()
		q.lead(t) // which is not settled
		for i := range 100 {
			synctest.Wait()
			require.NoError(t, q.Put(&Hint{}, number(i), 0))
		}
		synctest.Wait()
		assert.Equal(t, 100, due)
		assert.Zero(t, time.Since(began))
	})
}

func TestFullBatchIsDueAtOnceWhenTheLastWasAMillisecondAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(1, func(c *Options) { c.MaxEvents = 1000 })
		began := time.Now()
		var due []time.Duration
		go func() {
			for _, ok := q.source.Wait(t.Context()); ok; _, ok = q.source.Wait(t.Context()) {
				due = append(due, time.Since(began))
			}
		}()
		q.lead(t)
		for _, pause := range []time.Duration{0, 0, 10 * time.Millisecond, 0, 10 * time.Millisecond} {
			time.Sleep(pause)
			for i := range 100 {
				require.NoError(t, q.Put(&Hint{}, number(i), 0))
			}
			synctest.Wait()
		}
		ms := time.Millisecond
		assert.Equal(t, []time.Duration{0, 0, ms, 10 * ms, 11 * ms, 20 * ms}, due)
	})
}

func TestTransportThatReturnsSoonWaitsForTheNextMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(1)
		began := time.Now()
		for i := range 3 {
			for n := range 100 {
				require.NoError(t, q.Put(&Hint{}, number(n), 0))
			}
			n, _ := q.source.Wait(t.Context())
			assert.Equal(t, 100*(i+1), n)
			assert.Equal(t, time.Duration(i)*time.Millisecond, time.Since(began))
		}
	})
}

func TestPauseAfterAFullBatchDoesNotSwallowAFlush(t *testing.T) {
	t.Parallel()
	q := newShardTest(1)
	require.NoError(t, q.Put(&Hint{}, number(0), 0))
	q.lock()
	q.schedule.phase = rests
	q.makeDue()
	q.unlock()
	q.TimeOver() // before Wait has looked
	n, _ := q.DueBatch(false)
	assert.Equal(t, 1, n)
}

func TestEventInThePauseAfterAFullBatchWaitsNoLongerThanTheInterval(t *testing.T) {
	for _, interval := range []time.Duration{time.Microsecond, time.Millisecond, time.Second} {
		t.Run(interval.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newShardTest(1, func(c *Options) { c.Interval = interval })
				for n := range 100 {
					require.NoError(t, q.Put(&Hint{}, number(n), 0))
				}
				_, _ = q.source.Wait(t.Context())
				require.Equal(t, 100, q.Take(make([]item, 100)))
				require.NoError(t, q.Put(&Hint{}, number(100), 0))
				began := time.Now()
				n, _ := q.source.Wait(t.Context())
				assert.Equal(t, 1, n)
				assert.Equal(t, interval, time.Since(began))
			})
		})
	}
}

// Another shard may reuse a released slab at once, while its last event is still being settled.
func TestEveryWaiterIsNotifiedWhileSlabsAreReused(t *testing.T) {
	t.Parallel()
	q := newShardTest(2)
	q.spares.size = 16
	var callers, transport sync.WaitGroup
	for i := range 2 { // without waiting, on the slabs that come back
		callers.Go(func() {
			for n := range 20_000 {
				for q.Put(&Hint{shard: i}, number(n), 0) != nil {
					runtime.Gosched()
				}
			}
		})
	}
	callers.Go(func() {
		for n := range 2000 {
			w := NewWaiter()
			if q.ask(q.shards[n%2], number(n), 0, w) == nil {
				<-w.done
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	transport.Go(func() {
		for _, ok := q.source.Wait(ctx); ok; _, ok = q.source.Wait(ctx) {
			var one [1]item
			for q.Take(one[:]) == 1 {
				q.Settle(one[:], Delivered, nil)
			}
		}
	})
	callers.Wait()
	cancel()
	transport.Wait()
	assert.Empty(t, q.waiters)
}

func TestFirstEventWakesATransportThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(1)
		var due atomic.Int64
		go func() {
			n, _ := q.source.Wait(t.Context())
			due.Store(int64(n))
		}()
		synctest.Wait()
		require.NoError(t, q.Put(&Hint{}, number(0), 0))
		synctest.Wait()
		assert.Equal(t, int64(1), due.Load())
	})
}

func TestEventAloneInItsShardWaitsNoLongerThanTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newShardTest(4, func(c *Options) { c.Interval = time.Second })
		go func() { _, _ = q.source.Wait(t.Context()) }()
		q.lead(t)
		began := time.Now()
		for i := range 4 {
			err := q.Put(&Hint{shard: i}, number(i), 0)
			require.NoError(t, err)
		}
		n, ok := q.source.Wait(context.Background())
		assert.True(t, ok)
		assert.Equal(t, 4, n)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

func TestClosedQueueTakesNothingInAnyShard(t *testing.T) {
	t.Parallel()
	q := newShardTest(4)
	for i := range 8 {
		err := q.Put(&Hint{shard: i % 4}, number(i), 0)
		require.NoError(t, err)
	}
	before := q.Close()
	assert.Equal(t, uint64(8), before.Tracked)
	for i := range 4 {
		err := q.Put(&Hint{shard: i}, number(i), 0)
		assert.ErrorIs(t, err, ErrClosed)
	}
	assert.Equal(t, uint64(4), q.Counters().Refused)
}
