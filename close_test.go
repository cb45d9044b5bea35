package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The common SDKs lose all of these events.
func TestCloseDeliversEventsWaitingInBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 500)
		time.Sleep(10 * time.Minute)
		f.set(answerStatus(202)) // no attempt has been made since
		began := time.Now()
		require.NoError(t, closeWithin(tracker, 2*time.Second))
		assert.Less(t, time.Since(began), time.Second)
		delivered, most := f.delivered()
		assert.Equal(t, 500, delivered)
		assert.Equal(t, 1, most)
	})
}

func TestCloseDrainsConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 25 * time.Millisecond
		tracker := start(t, f)
		track(t, tracker, 100)
		began := time.Now()
		require.NoError(t, closeWithin(tracker, 2*time.Second))
		assert.Equal(t, 50*time.Millisecond, time.Since(began), "64 and then 36 at once")
		assert.Equal(t, uint64(100), tracker.Stats().Delivered)
	})
}

func TestCloseReturnsAtItsDeadlineWithTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f)
		track(t, tracker, 30)
		require.NoError(t, tracker.Flush(context.Background()))
		f.set(answerHang)
		track(t, tracker, 60) // fewer than MaxInFlight
		began := time.Now()
		err := closeWithin(tracker, 2*time.Second)
		assert.Equal(t, 2*time.Second, time.Since(began))
		account, ok := errors.AsType[*footfall.CloseError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, footfall.CloseError{Lost: 60, Err: account.Err}, *account)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualError(t, err, "footfall: close: lost 60 of 60 events (delivered 0, rejected 0, stored 0): context deadline exceeded; no attempt has failed in the 2s of this call")
		s := tracker.Stats()
		assert.Equal(t, uint64(60), s.Dropped)
		balanced(t, s)
	})
}

// An application may not look at the error, such as with defer tracker.Close(ctx).
func TestEventsThatCloseLosesAreALineOfTheLog(t *testing.T) {
	for name, row := range map[string]struct {
		answer answerFunc
		time   time.Duration // of Close; zero is a context that has ended
		line   string        // none if it is empty
	}{
		"its context has ended":  {answerHang, 0, `msg="footfall: Close has lost events" lost=100 delivered=0 rejected=0 stored=0 error="context deadline exceeded`},
		"the API is away":        {answerDown, time.Minute, `msg="footfall: Close has lost events" lost=100 delivered=0 rejected=0 stored=0 error="footfall: api.example.com: connection refused"`},
		"no event is lost":       {answerStatus(202), time.Minute, ""},
		"all events are refused": {answerRefused(400), time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, j := newFakeNet(), &journal{}
				f.set(row.answer)
				tracker := start(t, f, j.into)
				track(t, tracker, 100)
				err := closeWithin(tracker, row.time)
				if row.line == "" {
					require.NoError(t, err)
					assert.Zero(t, j.Lines(slog.LevelError), j.String())
					return
				}
				require.Error(t, err)
				assert.Equal(t, 1, j.Lines(slog.LevelError), j.String())
				assert.Contains(t, j.String(), "level=ERROR "+row.line)
				assert.NotContains(t, j.String(), "are kept")
			})
		})
	}
}

func TestCloseGivesEveryEventOneLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(503))
		tracker := start(t, f)
		track(t, tracker, 1000)
		time.Sleep(10 * time.Minute)
		before := f.requests()
		err := closeWithin(tracker, time.Minute)
		assert.Equal(t, 1000, f.requests()-before)
		var apiErr *footfall.APIError
		require.ErrorAs(t, err, &apiErr, "why they are lost")
		assert.Equal(t, 503, apiErr.Status)
		balanced(t, tracker.Stats())
	})
}

// An attempt that times out just when it would give way to others has had all its time.
func TestCloseMakesNoSecondAttemptAfterOneThatTimesOut(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeNet()
			f.set(answerHang)
			tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout, c.MaxInFlight = time.Second, 1 })
			track(t, tracker, 3)
			synctest.Wait()
			before := f.requests()
			assert.Error(t, closeWithin(tracker, time.Minute))
			assert.Equal(t, 3, f.requests()-before)
		})
	}
}

func TestCloseCountsTheOutcomesOfQueuedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond // so that nothing is delivered before the clock advances
		answers := []answerFunc{answerStatus(202), answerRefused(422), answerStatus(503)}
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			n, err := strconv.Atoi(regexp.MustCompile(`"n":(\d+)`).FindStringSubmatch(body)[1])
			require.NoError(t, err)
			return answers[n%3](r, body)
		})
		tracker := start(t, f)
		track(t, tracker, 30)
		err := closeWithin(tracker, time.Minute)
		account, ok := errors.AsType[*footfall.CloseError](err)
		require.True(t, ok)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		refused, ok := errors.AsType[*footfall.APIError](err)
		require.True(t, ok, "the account names the last answer")
		assert.Equal(t, 503, refused.Status)
		assert.Equal(t, []uint64{10, 10, 10}, []uint64{account.Delivered, account.Rejected, account.Lost})
	})
}

// once is an event that the API first answers with status.
func once(status int) func(*http.Request, string) (*http.Response, error) {
	first := true
	return func(r *http.Request, body string) (*http.Response, error) {
		if first {
			first = false
			return answerStatus(status)(r, body)
		}
		return answerStatus(202)(r, body)
	}
}

func TestCloseRetriesTheLastEventIfTheAPIAcceptedOneBefore(t *testing.T) {
	for _, status := range []int{503, 401, 404} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeNet()
			f.latency = time.Millisecond // Close is called before the first answer
			tracker := start(t, f)
			track(t, tracker, 1)
			require.NoError(t, tracker.Flush(t.Context()))
			time.Sleep(time.Minute)
			f.set(once(status))
			track(t, tracker, 1)
			began := time.Now()
			require.NoError(t, closeWithin(tracker, 10*time.Second))
			assert.Less(t, time.Since(began), time.Second)
			assert.Equal(t, footfall.Stats{Tracked: 2, Delivered: 2}, tracker.Stats())
		})
	}
}

// The API was there before, is away when Close is called, and comes back.
func TestCloseUsesItsTimeIfTheAPIEverAccepted(t *testing.T) {
	long(t)
	for name, answer := range map[string]answerFunc{
		"503": answerStatus(503), "401": answerStatus(401), "no answer": answerDown, "a hang": answerHang, "Retry-After": answerRetryAfter(429, "2"),
	} {
		for _, n := range []int{1, 100, 5000} {
			for _, before := range []time.Duration{0, time.Second, 10 * time.Minute} {
				t.Run(fmt.Sprint(n, " times ", name, " since ", before), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						f := newFakeNet()
						f.latency = time.Millisecond
						tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = 500 * time.Millisecond })
						track(t, tracker, 1)
						require.NoError(t, tracker.Flush(t.Context()))
						f.set(answer)
						track(t, tracker, n)
						time.Sleep(before)
						time.AfterFunc(time.Second, func() { f.set(answerStatus(202)) })
						began := time.Now()
						require.NoError(t, closeWithin(tracker, 10*time.Second))
						assert.Equal(t, uint64(n+1), tracker.Stats().Delivered)
						t.Log(time.Since(began))
					})
				})
			}
		}
	}
}

func TestCloseWithAnAPIThatStaysAwayUsesAllItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval, c.BatchSize = time.Hour, 1000 })
		track(t, tracker, 1)
		synctest.Wait() // it is sent at once, and the others wait
		f.set(answerDown)
		track(t, tracker, 500)
		before, began := f.requests(), time.Now()
		require.ErrorContains(t, closeWithin(tracker, 10*time.Second), "refused")
		assert.Equal(t, 10*time.Second, time.Since(began))
		assert.Less(t, f.requests()-before, 500+50, "one attempt each, and probes")
	})
}

func TestCloseGivesUpWhenTheAPIHasAcceptedNothingForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 4 })
		track(t, tracker, 1000)
		go func() {
			time.Sleep(time.Second)
			f.set(answerStatus(503))
		}()
		began := time.Now()
		require.ErrorContains(t, tracker.Close(t.Context()), "503")
		assert.InDelta(t, 5*time.Minute, time.Since(began), float64(30*time.Second))
		balanced(t, tracker.Stats())
	})
}

// hoarder stores the records that it takes. At the end it gives some up, delivers others and
// keeps the rest.
type hoarder struct{ lost, delivered int }

func (h hoarder) Deliver(ctx context.Context, src *footfall.Source) {
	one := make([]footfall.Record, 1)
	for _, more := src.Wait(ctx); more; _, more = src.Wait(ctx) {
		for src.Take(one) > 0 {
			src.Settle(one, footfall.OutcomeStored, nil)
		}
	}
	src.Moved(h.lost, footfall.OutcomeLost)
	src.Moved(h.delivered, footfall.OutcomeDelivered)
}

func TestCloseCountsTheOutcomesOfStoredEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Transport = hoarder{lost: 5, delivered: 20} })
		track(t, tracker, 20)
		require.NoError(t, tracker.Flush(context.Background()))
		track(t, tracker, 10)
		err := closeWithin(tracker, time.Second)
		assert.EqualError(t, err, "footfall: close: lost 5 of 30 events (delivered 20, rejected 0, stored 5): the transport has discarded stored events")
		balanced(t, tracker.Stats())
	})
}

func TestTrackAfterCloseIsRefusedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := start(t, newFakeNet())
		require.NoError(t, closeWithin(tracker, time.Second))
		assert.ErrorIs(t, tracker.Track(context.Background(), "late"), footfall.ErrClosed)
		assert.Equal(t, footfall.Stats{Refused: 1}, tracker.Stats())
	})
}

func TestEveryCallerOfFlushAndCloseWaitsForTheSameEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 100 * time.Millisecond
		tracker := start(t, f)
		track(t, tracker, 200)
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() { assert.NoError(t, tracker.Flush(context.Background())) })
		}
		for range 3 {
			callers.Go(func() {
				assert.NoError(t, tracker.Close(context.Background()))
				assert.Equal(t, uint64(200), tracker.Stats().Delivered)
			})
		}
		callers.Wait()
		require.NoError(t, tracker.Close(context.Background()), "again")
	})
}

func TestSecondCloseObeysItsOwnContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f)
		track(t, tracker, 1)
		first := make(chan error)
		go func() { first <- closeWithin(tracker, 4*time.Second) }()
		synctest.Wait()
		began := time.Now()
		assert.ErrorIs(t, closeWithin(tracker, time.Second), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
		var account *footfall.CloseError
		require.ErrorAs(t, <-first, &account)
		assert.Equal(t, uint64(1), account.Lost)
		assert.Equal(t, error(account), tracker.Close(context.Background()), "the result stays")
	})
}

// Run with -race. There is no race, no panic, and every event is in exactly one counter.
func TestTrackRacingClose(t *testing.T) {
	t.Parallel()
	for range 20 {
		api := footfalltest.NewAPI(t)
		cfg := api.Config()
		quiet(&cfg)
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		var accepted, refused [64]uint64
		var callers sync.WaitGroup
		for i := range 64 {
			callers.Go(func() {
				for range 20 {
					switch err := tracker.Track(context.Background(), "tested"); {
					case err == nil:
						accepted[i]++
					case errors.Is(err, footfall.ErrClosed):
						refused[i]++
					default:
						t.Error(err)
					}
				}
			})
		}
		assert.NoError(t, closeWithin(tracker, 20*time.Second))
		callers.Wait()
		s := tracker.Stats()
		assert.Equal(t, sum(accepted[:]), s.Tracked)
		assert.Equal(t, sum(refused[:]), s.Refused)
		assert.Equal(t, s.Tracked, s.Delivered)
		assert.Len(t, api.Events(), int(s.Delivered))
	}
}

func sum(numbers []uint64) (total uint64) {
	for _, n := range numbers {
		total += n
	}
	return total
}

func TestAttemptThatBeganBeforeCloseIsNotTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Second
		f.set(answerStatus(503))
		tracker := start(t, f)
		track(t, tracker, 100)
		time.Sleep(500 * time.Millisecond)
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestCloseInterruptsEveryKindOfWaiting(t *testing.T) {
	for n := range 40 {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeNet()
			f.set(answerStatus(503))
			tracker := start(t, f)
			track(t, tracker, 1)
			time.Sleep(time.Minute + time.Duration(n)*7*time.Second)
			f.set(answerStatus(202))
			began := time.Now()
			require.NoError(t, closeWithin(tracker, time.Minute))
			assert.Zero(t, time.Since(began))
		})
	}
}

func TestNothingIsSentAfterCloseReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f)
		track(t, tracker, 1000)
		require.Error(t, closeWithin(tracker, 2*time.Second))
		n := f.requests()
		assert.GreaterOrEqual(t, n, 64)
		time.Sleep(time.Hour)
		assert.Equal(t, n, f.requests())
	})
}

func TestErrorOfCloseNamesItsContextAndTheFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 600 * time.Millisecond
		f.set(answerStatus(503))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 1 })
		track(t, tracker, 10)
		assert.ErrorIs(t, closeWithin(tracker, time.Second), context.DeadlineExceeded)
	})
}

// lastWords is a Transport that takes a moment to store its records after its context ends, or
// never returns.
type lastWords struct{ takes time.Duration }

func (l lastWords) Deliver(ctx context.Context, src *footfall.Source) {
	batch := make([]footfall.Record, 10)
	src.Wait(ctx)
	time.Sleep(time.Millisecond) // the others are tracked after the first
	src.Waiting()                // moves the first into the queue
	n := src.Take(batch)
	<-ctx.Done()
	time.Sleep(l.takes)
	src.Settle(batch[:n], footfall.OutcomeStored, nil)
}

func TestCloseCountsEventsThatTheTransportStoresAtTheLastMoment(t *testing.T) {
	for _, tc := range []struct {
		name  string
		takes time.Duration
		close time.Duration
		want  footfall.Stats
	}{
		{"in time", 50 * time.Millisecond, 2050 * time.Millisecond, footfall.Stats{Tracked: 3, Stored: 3}},
		{"a transport that does not stop holds nobody up", time.Hour, 2100 * time.Millisecond, footfall.Stats{Tracked: 3, Dropped: 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tracker := start(t, newFakeNet(), func(c *footfall.Config) { c.Transport = lastWords{tc.takes} })
				track(t, tracker, 3)
				began := time.Now()
				_ = closeWithin(tracker, 2*time.Second)
				assert.Equal(t, tc.close, time.Since(began))
				assert.Equal(t, tc.want, tracker.Stats())
				time.Sleep(time.Hour)
			})
		})
	}
}

// The API is away before and after Close is called, and comes back in time for two attempts more: one that
// began before may hang, and gives way after a second.
func TestCloseDeliversEventsIfTheAPIComesBackInTime(t *testing.T) {
	long(t)
	ways := map[string]answerFunc{"hangs": answerHang, "503": answerStatus(503), "503 with Retry-After": answerRetryAfter(503, "60"), "refuses": answerDown}
	for name, away := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(50) {
				r := rand.New(rand.NewPCG(seed, 1))
				limit := 4*time.Second + time.Duration(r.Int64N(int64(10*time.Second)))
				back := time.Duration(r.Int64N(int64(limit - 3500*time.Millisecond)))
				before, events := time.Duration(r.Int64N(int64(3*time.Second))), 1+r.IntN(300)
				synctest.Test(t, func(t *testing.T) {
					f := newFakeNet()
					f.latency = time.Duration(1+r.IntN(20)) * time.Millisecond
					tracker := start(t, f)
					track(t, tracker, 1)
					time.Sleep(time.Second)
					f.set(away)
					track(t, tracker, events)
					time.Sleep(before)
					time.AfterFunc(back, func() { f.set(answerStatus(202)) })
					assert.NoError(t, closeWithin(tracker, limit), "seed %d: %d events, back after %v of %v", seed, events, back, limit)
				})
			}
		})
	}
}
