package footfall_test

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// Mistakes of application code that the tracker calls.

func TestARoundTripperThatEndsItsGoroutineLosesNothing(t *testing.T) {
	for _, inFlight := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			var requests atomic.Int64
			good := newFakeNet()
			tracker := start(t, roundTripper(func(r *http.Request) (*http.Response, error) {
				if requests.Add(1)%2 == 1 {
					runtime.Goexit()
				}
				return good.RoundTrip(r)
			}), func(c *footfall.Config) { c.MaxInFlight = inFlight })
			track(t, tracker, 100)
			require.NoError(t, tracker.Flush(t.Context()))
			assert.Equal(t, uint64(100), tracker.Stats().Delivered)
			track(t, tracker, 100)
			require.NoError(t, closeWithin(tracker, time.Minute))
			assert.Equal(t, uint64(200), tracker.Stats().Delivered)
		})
	}
}

func TestARoundTripperThatAlwaysEndsItsGoroutineIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		var requests atomic.Int64
		tracker := start(t, roundTripper(func(*http.Request) (*http.Response, error) {
			requests.Add(1)
			runtime.Goexit()
			return nil, nil
		}), j.into)
		track(t, tracker, 100)
		time.Sleep(10 * time.Minute)
		assert.Less(t, requests.Load(), int64(200))
		assert.Contains(t, j.String(), "runtime.Goexit")
		before := goroutinesOfBubble()
		time.Sleep(10 * time.Minute)
		assert.LessOrEqual(t, goroutinesOfBubble(), before+1)
		began := time.Now()
		assert.ErrorContains(t, closeWithin(tracker, time.Minute), "lost 100 of 100")
		assert.Zero(t, time.Since(began))
	})
}

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
