package footfall_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// Mistakes of application code that the tracker calls.

// boaster calls Moved with more records than it stored.
type boaster struct{ more chan int }

func (b boaster) Deliver(ctx context.Context, src *footfall.Source) {
	one := make([]footfall.Record, 1)
	for range 3 {
		src.Wait(ctx)
		src.Take(one)
		src.Settle(one, footfall.OutcomeStored, nil)
	}
	for n := range b.more {
		src.Moved(n, footfall.OutcomeDelivered)
	}
}

func TestATransportThatMovesMoreThanItStoredIsCorrectedAndLoggedOnce(t *testing.T) {
	for name, numbers := range map[string][]int{"too many": {2, 5}, "below zero": {-1, 3}, "without an end": {math.MaxInt, math.MaxInt}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				b := boaster{make(chan int)}
				tracker := with(t, b, j.into)
				for range 3 {
					track(t, tracker, 1)
					time.Sleep(2 * time.Second)
				}
				for _, n := range numbers {
					b.more <- n
					synctest.Wait()
					balanced(t, tracker.Stats())
				}
				assert.Equal(t, footfall.Stats{Tracked: 3, Delivered: 3}, tracker.Stats())
				b.more <- 1
				close(b.more)
				require.NoError(t, closeWithin(tracker, time.Second))
				assert.Equal(t, 1, j.Lines(slog.LevelError), j.String())
				assert.Equal(t, 1, strings.Count(j.String(), "Moved("))
			})
		})
	}
}

func TestMisuseOfASourceIsIgnored(t *testing.T) {
	stranger := make(chan footfall.Record, 1)
	synctest.Test(t, func(t *testing.T) {
		other := with(t, transportFunc(func(ctx context.Context, src *footfall.Source) {
			one := make([]footfall.Record, 1)
			src.Wait(ctx)
			src.Take(one)
			stranger <- one[0]
			src.Wait(ctx)
		}))
		track(t, other, 1)
		tracker := with(t, transportFunc(func(ctx context.Context, src *footfall.Source) {
			one := make([]footfall.Record, 1)
			src.Wait(ctx)
			src.Take(one)
			for range 3 {
				src.Retry(one[0], time.Second, errAgain) // only the first call has an effect
				src.Settle(one, footfall.OutcomeRejected, errAgain)
			}
			src.Settle(nil, footfall.OutcomeDelivered, nil)
			src.Settle([]footfall.Record{<-stranger, {}}, footfall.OutcomeDelivered, nil)
			for range 2 {
				src.Wait(ctx)
				require.Equal(t, 1, src.Take(one))
				old := one[0]
				src.Retry(old, time.Second, errAgain)
				src.Retry(old, time.Second, errAgain)
				src.Settle([]footfall.Record{old}, footfall.OutcomeRejected, errAgain)
			}
			src.Wait(ctx)
			require.Equal(t, 1, src.Take(one))
			src.Settle(one, footfall.OutcomeDelivered, nil)
			assert.Zero(t, src.Take(one))
			src.Close() // only the tracker may call it
			src.Close()
		}))
		track(t, tracker, 1)
		time.Sleep(time.Minute)
		assert.Equal(t, footfall.Stats{Tracked: 1, Delivered: 1}, tracker.Stats())
		require.NoError(t, closeWithin(tracker, time.Second))
		assert.Equal(t, uint64(1), other.Stats().Queued)
		_ = closeWithin(other, time.Second)
	})
}

type transportFunc func(context.Context, *footfall.Source)

func (f transportFunc) Deliver(ctx context.Context, src *footfall.Source) { f(ctx, src) }

// Run with -race. Callers add events while a probe is taken.
func TestEventsAreAddedWhileAProbeIsTaken(t *testing.T) {
	f := newFakeNet()
	f.set(answerStatus(503))
	tracker := start(t, f, func(c *footfall.Config) {
		c.FlushInterval, c.BackoffMin, c.BackoffMax = time.Millisecond, time.Millisecond, 2*time.Millisecond
	})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 5000 {
				_ = tracker.Track(context.Background(), "tested")
			}
		})
	}
	callers.Wait()
	f.set(answerStatus(202))
	require.NoError(t, closeWithin(tracker, time.Minute))
}

// padded tracks n events of some thousand bytes each.
func padded(t *testing.T, tracker *footfall.Tracker, n int) {
	t.Helper()
	for range n {
		require.NoError(t, tracker.Track(context.Background(), "padded", footfall.P("p", strings.Repeat("x", 1000))))
	}
}

func small(c *footfall.Config) {
	c.DropOldest, c.MaxQueueBytes, c.MaxInFlight, c.Limits.PropText = true, 40_000, 1, 20_000
}

func TestDropOldestRefusesNothingAfterManyEventsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f, small)
		for range 50 {
			padded(t, tracker, 20)
			require.NoError(t, tracker.Flush(context.Background()))
		}
		f.set(answerHang) // one event is in flight
		padded(t, tracker, 200)
		s := tracker.Stats()
		assert.Zero(t, s.Refused)
		assert.Positive(t, s.Dropped)
		balanced(t, s)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestDropOldestDropsNoMoreThanNeededAfterManyRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(failFirstOfEvery(1, 500))
		tracker := start(t, f, small)
		for range 50 {
			padded(t, tracker, 20)
			require.NoError(t, tracker.Flush(context.Background()))
		}
		f.set(answerHang)
		large := footfall.P("p", strings.Repeat("x", 20_000))
		require.NoError(t, tracker.Track(context.Background(), "on_its_way", large))
		time.Sleep(500 * time.Millisecond) // shorter than an attempt that may be interrupted
		padded(t, tracker, 5)
		assert.ErrorIs(t, tracker.Track(context.Background(), "too_large", large), footfall.ErrQueueFull)
		assert.Zero(t, tracker.Stats().Dropped)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestDropOldestDropsTheOldestFailedEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		f.set(answerDown)
		tracker := start(t, f, func(c *footfall.Config) { c.DropOldest, c.MaxQueueEvents = true, 64 })
		track(t, tracker, 64)
		time.Sleep(5 * time.Second) // eight events were sent at once, and some as probes
		track(t, tracker, 4)
		f.set(answerStatus(202))
		f.bodies = nil
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Equal(t, uint64(4), tracker.Stats().Dropped)
		for n := range 4 {
			of := `"n":` + strconv.Itoa(n) + `}`
			times := 0
			for _, body := range f.bodies {
				if strings.Contains(body, of) {
					times++
				}
			}
			assert.Equal(t, 1, times, "number %d of the new events only", n)
		}
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAQueueFullOfFailingEventsRefusesNewEventsAndLogsTheReasonOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(poisoned(answerStatus(500)))
		tracker := start(t, f, j.into, func(c *footfall.Config) { c.MaxQueueEvents = 100 })
		track(t, tracker, 1)
		require.NoError(t, tracker.Flush(t.Context()))
		poison(t, tracker, 100) // before it is known that they fail
		time.Sleep(50 * time.Second)
		require.ErrorIs(t, tracker.Track(t.Context(), "one_more"), footfall.ErrQueueFull)
		time.Sleep(5 * time.Second)
		for range 10 {
			require.ErrorIs(t, tracker.Track(t.Context(), "one_more"), footfall.ErrQueueFull)
		}
		synctest.Wait()
		assert.Equal(t, 1, strings.Count(j.String(), "refused="), j.String())
		assert.Contains(t, j.String(), "500", "why the queue is full")
		balanced(t, tracker.Stats())
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestDropOldestDropsAnEventThatWaitsForItsNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond // so that nothing is delivered before the clock advances
		f.set(poisoned(answerStatus(500)))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxQueueEvents, c.DropOldest = 10, true })
		poison(t, tracker, 10)
		time.Sleep(time.Minute)
		track(t, tracker, 4)
		s := tracker.Stats()
		assert.Equal(t, []uint64{14, 4, 10}, []uint64{s.Tracked, s.Dropped, s.Queued})
		time.Sleep(time.Minute)
		track(t, tracker, 10)
		time.Sleep(time.Minute)
		s = tracker.Stats()
		assert.Equal(t, uint64(14), s.Delivered, "%+v", s)
		balanced(t, s)
		sent := f.requests()
		time.Sleep(time.Hour)
		assert.LessOrEqual(t, f.requests()-sent, 100, "what was dropped is not sent again")
		_ = closeWithin(tracker, time.Second)
	})
}

func TestFailingEventsDoNotKeepSlabsFromBeingReused(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		answer := poisoned(answerStatus(500))
		tracker := start(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			return answer(r, string(body))
		}))
		before := heap()
		for range 300 { // one in a slab of 64 KiB each
			poison(t, tracker, 1)
			track(t, tracker, 600)
			time.Sleep(2 * time.Second)
		}
		assert.Less(t, int64(heap())-int64(before), int64(12<<20), "300 slabs would be 19 MiB")
		_ = closeWithin(tracker, time.Second)
	})
}

func TestBatchIsDueAfterTheIntervalOrAtItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval = time.Second })
		track(t, tracker, 1)
		synctest.Wait()
		assert.Equal(t, 1, f.requests(), "the first")
		track(t, tracker, 99)
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 1, f.requests(), "neither is reached")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 100, f.requests(), "the interval is over")
		track(t, tracker, 100)
		synctest.Wait()
		assert.Equal(t, 200, f.requests(), "the batch is full")
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// Waking the transport for every hundred events of a burst would slow down the callers.
func TestBatchesAreDueAtMostOnceAMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var woken []time.Duration
		began := time.Now()
		tracker := onTransport(t, func(ctx context.Context, src *footfall.Source) {
			batch := make([]footfall.Record, 100)
			for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
				woken = append(woken, time.Since(began))
				for n := src.Take(batch); n > 0; n = src.Take(batch) {
					src.Settle(batch[:n], footfall.OutcomeDelivered, nil)
				}
			}
		})
		track(t, tracker, 1) // the first event is sent alone
		synctest.Wait()
		for range 10 {
			track(t, tracker, 100)
			synctest.Wait()
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, []time.Duration{0, 0, time.Millisecond}, woken)
		assert.Equal(t, uint64(1001), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// pair is a Store of two records.
type pair struct{}

func (pair) Waiting() (n int, more bool) { return 0, false }

func (pair) Take(dst []footfall.Record) int {
	for i := range dst {
		dst[i].ID = footfall.EventID(uuid.New())
	}
	return len(dst)
}

func (pair) Retry(r footfall.Record, _ error) (kept footfall.Record, ok bool) { return r, true }

func (pair) Settle([]footfall.Record, footfall.Outcome, error) {}

func TestAnyAnswerWhileTheTrackerClosesMakesFailedEventsDueAgain(t *testing.T) {
	t.Parallel()
	for o, due := range map[footfall.Outcome]int{
		footfall.OutcomeDelivered: 1, footfall.OutcomeRejected: 1, footfall.OutcomeStored: 1, footfall.OutcomeLost: 0,
	} {
		src, records := footfall.NewSource(pair{}), make([]footfall.Record, 2)
		src.Close()
		require.Equal(t, 2, src.Take(records))
		src.Retry(records[0], 0, errors.New("away"))
		waiting, _ := src.Waiting()
		require.Zero(t, waiting, "it waits until the API answers")
		src.Settle(records[1:], o, nil)
		waiting, _ = src.Waiting()
		assert.Equal(t, due, waiting, o)
	}
}

// Three quarters of the queue are in use when the API accepts no event of a name and accepts others.
func TestARefusalForTheLastQuarterOfTheQueueSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(poisoned(answerStatus(500)))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxQueueEvents = 100 })
		var err error
		for range 300 {
			track(t, tracker, 1)
			err = tracker.Track(t.Context(), "poison")
			if err != nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		require.ErrorIs(t, err, footfall.ErrQueueFull)
		require.Less(t, tracker.Stats().Queued, uint64(80))
		assert.EqualError(t, err, "footfall: queue full: the event was not accepted, because others of its name or site fail, and the last quarter of the queue is for events that do not")
		assert.NotErrorIs(t, err, footfall.ErrClosed)
		least := math.Inf(1) // the race detector has a sync.Pool forget now and then
		for range 20 {
			least = min(least, testing.AllocsPerRun(10, func() { _ = tracker.Track(t.Context(), "poison") }))
		}
		assert.Zero(t, least)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestAnEventThatIsDroppedAsTheOldestIsNotLoggedAsNotAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerDown)
		tracker := start(t, f, j.into, func(c *footfall.Config) { c.DropOldest, c.MaxQueueEvents = true, 10 })
		track(t, tracker, 100)
		synctest.Wait()
		assert.Contains(t, j.String(), `last_error="footfall: queue full: the oldest event was dropped"`)
		assert.NotContains(t, j.String(), "not accepted")
		assert.Error(t, closeWithin(tracker, time.Millisecond))
	})
}
