package footfall_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// with returns a tracker with the given Transport.
func with(t *testing.T, transport footfall.Transport, change ...func(*footfall.Config)) *footfall.Tracker {
	t.Helper()
	return start(t, nil, append(change, func(c *footfall.Config) { c.Transport = transport })...)
}

// twoWaiters is a Transport that takes records in two goroutines.
type twoWaiters struct{ discard }

func (w twoWaiters) Deliver(ctx context.Context, src *footfall.Source) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { w.discard.Deliver(ctx, src) })
	}
	both.Wait()
}

func TestSeveralGoroutinesMayWaitForEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := with(t, twoWaiters{})
		track(t, tracker, 10)
		require.NoError(t, tracker.Flush(context.Background()))
		synctest.Wait()
		began := time.Now()
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Zero(t, time.Since(began), "all of them are told that there will be no more")
	})
}

// forgetful is a Transport that clears the body of a record that it gives back, and settles
// each record twice.
type forgetful struct{}

func (forgetful) Deliver(ctx context.Context, src *footfall.Source) {
	one := make([]footfall.Record, 1)
	for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
		for src.Take(one) == 1 {
			one[0].Body = nil
			src.Settle(one, footfall.OutcomeDelivered, nil)
			src.Settle(one, footfall.OutcomeRejected, nil)
		}
	}
}

func TestCountsDoNotDependOnTheRecordsThatATransportSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := with(t, forgetful{})
		track(t, tracker, 10)
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Equal(t, footfall.Stats{Tracked: 10, Delivered: 10}, tracker.Stats())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestDropOldestDropsNothingUnlessThatMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f, func(c *footfall.Config) {
			c.DropOldest, c.MaxQueueBytes, c.MaxInFlight, c.Limits.PropText = true, 40_000, 1, 20_000
		})
		large := footfall.P("p", strings.Repeat("x", 20_000))
		require.NoError(t, tracker.Track(context.Background(), "on_its_way", large))
		time.Sleep(500 * time.Millisecond) // shorter than an attempt that may be interrupted
		track(t, tracker, 5)
		assert.ErrorIs(t, tracker.Track(context.Background(), "too_large", large), footfall.ErrQueueFull)
		assert.Zero(t, tracker.Stats().Dropped)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestMemoryOfSmallEventsDoesNotDependOnMaxEventBytes(t *testing.T) {
	f := newFakeNet()
	f.set(answerHang)
	before := heap()
	tracker := start(t, f, func(c *footfall.Config) { c.MaxEventBytes = 16 << 20 })
	track(t, tracker, 1)
	assert.Less(t, int64(heap())-int64(before), int64(1<<20))
	_ = closeWithin(tracker, time.Millisecond)
}

func TestEventLargerThanASlabIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f, func(c *footfall.Config) { c.MaxEventBytes, c.Limits.PropText = 1<<20, 1<<20 })
		text := strings.Repeat("x", 300_000)
		for range 3 {
			require.NoError(t, tracker.Track(context.Background(), "large", footfall.P("p", text)))
			track(t, tracker, 1)
		}
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Len(t, f.bodies, 6)
		for _, body := range f.bodies {
			assert.True(t, strings.HasPrefix(body, `{"site_id"`) && strings.HasSuffix(body, `}}`))
		}
	})
}

// The only sender ends at the moment when an event arrives. The event must not wait for the end
// of the interval.
func TestEventThatArrivesWhileTheLastSenderEndsIsSent(t *testing.T) {
	f := newFakeNet()
	tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 1; c.FlushInterval = time.Hour })
	for range 20_000 {
		track(t, tracker, 1)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		require.NoError(t, tracker.Flush(ctx))
		cancel()
	}
	require.NoError(t, closeWithin(tracker, time.Second))
}

func TestBatchAfterABatchWaitsForTheIntervalAgain(t *testing.T) {
	for name, first := range map[string]int{"a full one": 100, "one of the interval": 99} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval = time.Second })
				track(t, tracker, 1)
				synctest.Wait()
				track(t, tracker, first)
				if first < 100 {
					time.Sleep(time.Second)
				}
				synctest.Wait()
				require.Equal(t, 1+first, f.requests())
				time.Sleep(100 * time.Millisecond)
				track(t, tracker, 1)
				synctest.Wait()
				assert.Equal(t, 1+first, f.requests())
				time.Sleep(900 * time.Millisecond)
				synctest.Wait()
				assert.Equal(t, 1+first+1, f.requests())
				require.NoError(t, closeWithin(tracker, time.Second))
			})
		})
	}
}

func TestSettledEventsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.MaxQueueBytes, c.Limits.PropText = 40_000, 30_000 })
		for range 10 {
			require.NoError(t, tracker.Track(context.Background(), "tested", footfall.P("p", strings.Repeat("x", 30_000))))
			require.NoError(t, tracker.Flush(context.Background()))
			assert.Zero(t, tracker.Stats().QueuedBytes)
		}
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// scripted is a Transport made of a function.
type scripted func(ctx context.Context, src *footfall.Source)

func (f scripted) Deliver(ctx context.Context, src *footfall.Source) { f(ctx, src) }

func onTransport(t *testing.T, f scripted, change ...func(*footfall.Config)) *footfall.Tracker {
	t.Helper()
	cfg := footfall.Config{SiteID: "s", DefaultURL: "https://example.com/", Transport: f}
	quiet(&cfg)
	for _, c := range change {
		c(&cfg)
	}
	tracker, err := footfall.New(cfg)
	require.NoError(t, err)
	return tracker
}

func TestSettlingTwiceOrAfterTheEndCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := onTransport(t, func(ctx context.Context, src *footfall.Source) {
			two := make([]footfall.Record, 2)
			src.Wait(ctx)
			time.Sleep(time.Millisecond) // the second is tracked after the first
			src.Waiting()                // counts it
			src.Take(two)
			src.Settle(two[:1], footfall.OutcomeDelivered, nil)
			src.Settle(two[:1], footfall.OutcomeRejected, nil)
			<-ctx.Done()
			time.Sleep(time.Second) // Close has returned
			src.Settle(two[1:], footfall.OutcomeDelivered, nil)
		})
		track(t, tracker, 2)
		time.Sleep(2 * time.Second)
		assert.Equal(t, uint64(1), tracker.Stats().Queued)
		require.Error(t, closeWithin(tracker, time.Second))
		time.Sleep(2 * time.Second)
		assert.Equal(t, footfall.Stats{Tracked: 2, Delivered: 1, Dropped: 1}, tracker.Stats())
	})
}

func TestStoredEventsAreCountedAsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := onTransport(t, func(ctx context.Context, src *footfall.Source) {
			one := make([]footfall.Record, 1)
			for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
				for src.Take(one) == 1 {
					src.Settle(one, footfall.OutcomeStored, nil)
				}
			}
		})
		track(t, tracker, 3)
		require.NoError(t, closeWithin(tracker, time.Second), "stored is not lost")
		assert.Equal(t, footfall.Stats{Tracked: 3, Stored: 3}, tracker.Stats())
	})
}

// dueTimes returns a Transport that takes nothing and records when events are due.
func dueTimes(times *[]time.Duration) scripted {
	began := time.Now()
	return func(ctx context.Context, src *footfall.Source) {
		for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
			*times = append(*times, time.Since(began))
		}
	}
}

func milliseconds(n ...int) (times []time.Duration) {
	for _, n := range n {
		times = append(times, time.Duration(n)*time.Millisecond)
	}
	return times
}

func TestBatchThatNoSenderTookIsDueAgainLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Duration
		tracker := onTransport(t, dueTimes(&times))
		track(t, tracker, 1)
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, milliseconds(0, 20, 60, 140, 300, 620, 1260, 2260, 3260), times)
		require.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestBatchThatNoSenderTookIsDueAgainAfterALongInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times []time.Duration
		tracker := onTransport(t, dueTimes(&times), func(c *footfall.Config) { c.FlushInterval = 3 * time.Second })
		track(t, tracker, 1)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		assert.Equal(t, milliseconds(0, 3000, 6000), times)
		require.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestRedactedValuesAreCounted(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	require.NoError(t, tracker.Track(context.Background(), "n", footfall.P("a", "x@example.com"), footfall.P("b", "192.0.2.1"), footfall.P("c", 1)))
	assert.Equal(t, uint64(2), tracker.Stats().Redacted)
}

// returns is a Transport that returns at once.
type returns struct{}

func (returns) Deliver(context.Context, *footfall.Source) {}

func TestFlushDoesNotWaitForATransportThatHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := with(t, returns{})
		track(t, tracker, 3)
		assert.ErrorContains(t, tracker.Flush(context.Background()), "3 events not settled yet: the transport has stopped")
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

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

func TestCloseEndsWaitWhenAnotherGoroutineTakesTheLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := onTransport(t, func(ctx context.Context, src *footfall.Source) {
			var taking sync.WaitGroup
			taking.Go(func() {
				<-src.Closing()
				one := make([]footfall.Record, 1)
				for range 3 {
					time.Sleep(time.Second)
					takeAll(src, one)
					src.Settle(one, footfall.OutcomeDelivered, nil)
				}
			})
			<-src.Closing()
			for _, ok := src.Wait(ctx); ok; _, ok = src.Wait(ctx) {
			}
			taking.Wait()
		}, func(c *footfall.Config) { c.FlushInterval = time.Hour })
		track(t, tracker, 3)
		began := time.Now()
		require.NoError(t, closeWithin(tracker, 2*time.Hour))
		assert.Equal(t, 3*time.Second, time.Since(began))
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

var errAgain, errStore = errors.New("not now"), errors.New("no room")

// given is a Store that settles a record by itself if gone is true.
type given struct {
	untaken
	gone bool
}

func (g *given) Retry(r footfall.Record, _ error) (kept footfall.Record, ok bool) { return r, !g.gone }

func TestFailureIsTheLatestOfEventsThatAreNotSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, one := &given{}, make([]footfall.Record, 1)
		src := footfall.NewSource(store)
		src.Failed(errStore)
		time.Sleep(time.Second)
		src.Retry(footfall.Record{ID: footfall.EventID(uuid.New())}, 0, errAgain)
		assert.Equal(t, errAgain, src.Failure())
		time.Sleep(time.Second)
		src.Failed(errStore)
		assert.Equal(t, errStore, src.Failure())
		require.Equal(t, 1, src.Take(one))
		src.Settle(one, footfall.OutcomeDelivered, nil)
		assert.NoError(t, src.Failure(), "the event is settled")

		src.Retry(footfall.Record{ID: footfall.EventID(uuid.New())}, 0, errAgain)
		require.Equal(t, 1, src.Take(one))
		assert.Equal(t, errAgain, src.Failure(), "the event is in flight again")
		store.gone = true
		src.Retry(one[0], 0, errAgain)
		assert.NoError(t, src.Failure(), "the store has settled the event")
	})
}

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
			again := some[0].ID
			src.Retry(some[0], 0, errAgain)
			assert.Equal(t, 5, src.Take(some))
			assert.Equal(t, again, some[1].ID, "every second one has failed before")
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
