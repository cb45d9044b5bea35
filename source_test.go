package footfall_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCloseEndsWaitInAllGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := onTransport(t, func(ctx context.Context, src *footfall.Source) {
			var waiting sync.WaitGroup
			for range 10 {
				waiting.Go(func() { discard{}.Deliver(ctx, src) })
			}
			waiting.Wait()
		})
		track(t, tracker, 10)
		require.NoError(t, tracker.Flush(context.Background()))
		synctest.Wait()
		began := time.Now()
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Zero(t, time.Since(began))
	})
}

// untaken is a Store whose records are never taken.
type untaken int

func (s untaken) Waiting() (n int, more bool)                                    { return int(s), true }
func (untaken) Take([]footfall.Record) int                                       { return 0 }
func (untaken) Retry(r footfall.Record, _ error) (kept footfall.Record, ok bool) { return r, true }
func (untaken) Settle([]footfall.Record, footfall.Outcome, error)                {}

func TestWaitReturnsAgainForRecordsThatNoSenderTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := footfall.NewSource(untaken(3))
		src.Wake()
		began := time.Now()
		for i := range 3 {
			n, ok := src.Wait(t.Context())
			assert.True(t, ok)
			assert.Equal(t, 3, n)
			assert.Equal(t, time.Duration(i)*time.Second, time.Since(began))
		}
	})
}

var errAgain = errors.New("not now")

func TestFlushNamesWhyAnEventFailedWhileTheEventIsInFlightAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(507))
		tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
		track(t, tracker, 1)
		synctest.Wait()
		f.set(answerHang)
		time.Sleep(time.Minute)
		require.Equal(t, 1, f.mostInFlight())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorContains(t, tracker.Flush(ctx), "507")
		assert.ErrorContains(t, closeWithin(tracker, time.Second), "507")
	})
}

func TestTakeFillsUpWithEventsThatWereNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := onTransport(t, func(ctx context.Context, src *footfall.Source) {
			some := make([]footfall.Record, 10)
			src.Wait(ctx)
			time.Sleep(time.Second) // the others are tracked after the first
			src.Waiting()           // counts them
			assert.Equal(t, 1, src.Take(some[:1]))
			src.Retry(some[0], 0, errAgain)
			assert.Equal(t, 5, src.Take(some))
			src.Settle(some[:5], footfall.OutcomeDelivered, nil)
		})
		track(t, tracker, 5)
		time.Sleep(2 * time.Second)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestWaitingSaysThatARetryWillCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := onTransport(t, func(ctx context.Context, src *footfall.Source) {
			one := make([]footfall.Record, 1)
			src.Wait(ctx)
			assert.Equal(t, 1, src.Take(one))
			<-src.Closing()
			_, more := src.Waiting()
			assert.False(t, more)
			src.Retry(one[0], time.Second, errAgain)
			n, more := src.Waiting()
			assert.True(t, more)
			time.Sleep(time.Second)
			assert.Equal(t, 1, src.Take(one), "%d before", n)
			src.Settle(one, footfall.OutcomeDelivered, nil)
		})
		track(t, tracker, 1)
		time.Sleep(2 * time.Second)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// takeAll fills dst with records, which may arrive one after another.
func takeAll(src *footfall.Source, dst []footfall.Record) {
	for n := 0; n < len(dst); n += src.Take(dst[n:]) {
	}
}

func TestWaitCountsEveryRetryThatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := onTransport(t, func(ctx context.Context, src *footfall.Source) {
			some := make([]footfall.Record, 100)
			src.Wait(ctx)
			takeAll(src, some)
			for _, r := range some {
				src.Retry(r, time.Minute, errAgain)
			}
			n, ok := src.Wait(ctx)
			assert.True(t, ok)
			assert.Equal(t, 100, n)
			src.Settle(some[:src.Take(some)], footfall.OutcomeDelivered, nil)
		})
		track(t, tracker, 100)
		time.Sleep(2 * time.Minute)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}
