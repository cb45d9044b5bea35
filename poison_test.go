package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// poisoned answers poison with bad, and all other events with 202.
func poisoned(bad func(*http.Request, string) (*http.Response, error)) func(*http.Request, string) (*http.Response, error) {
	return func(r *http.Request, body string) (*http.Response, error) {
		if strings.Contains(body, `"name":"poison"`) {
			return bad(r, body)
		}
		return answerStatus(202)(r, body)
	}
}

// poison tracks n events that are never accepted.
func poison(t *testing.T, tracker *footfall.Tracker, n int) {
	t.Helper()
	for range n {
		require.NoError(t, tracker.Track(context.Background(), "poison"))
	}
}

// badAnswers are answers that a single event may get.
func badAnswers() map[string]func(*http.Request, string) (*http.Response, error) {
	return map[string]func(*http.Request, string) (*http.Response, error){
		"500": answerStatus(500), "503": answerStatus(503), "403": answerStatus(403), "401": answerStatus(401),
		"404 of a proxy": answerStatus(404), "a redirect": answerStatus(302), "no answer": answerDown, "a hang": answerHang,
	}
}

func TestEightEventsBehindAFailingEventAreDelivered(t *testing.T) {
	for name, bad := range badAnswers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.set(poisoned(bad))
				tracker := start(t, f)
				poison(t, tracker, 1)
				time.Sleep(3 * time.Second)
				began := time.Now()
				track(t, tracker, 8)
				waitFor(t, tracker, 8, 7*time.Second)
				t.Log("after", time.Since(began))
				_ = closeWithin(tracker, time.Second)
			})
		})
	}
}

// waitFor waits until n events are delivered, up to a limit.
func waitFor(t *testing.T, tracker *footfall.Tracker, n int, most time.Duration) {
	t.Helper()
	for began := time.Now(); int(tracker.Stats().Delivered) < n; time.Sleep(10 * time.Millisecond) {
		require.LessOrEqual(t, time.Since(began), most, "%+v", tracker.Stats())
	}
}

func TestEventsAmongHundredsOfFailingEventsAreDelivered(t *testing.T) {
	for name, bad := range badAnswers() {
		for _, inFlight := range []int{4, 64} {
			t.Run(fmt.Sprint(name, " with ", inFlight, " in flight"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFakeNet()
					f.set(poisoned(bad))
					tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = inFlight })
					track(t, tracker, 2000)
					poison(t, tracker, 200)
					track(t, tracker, 2000)
					time.Sleep(time.Minute)
					track(t, tracker, 2000)
					began := time.Now()
					waitFor(t, tracker, 6000, 20*time.Minute)
					t.Log("after", time.Since(began))
					assert.Error(t, closeWithin(tracker, time.Second))
				})
			})
		}
	}
}

func TestARequestThatHangsDoesNotDelayTheNextEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(poisoned(answerHang))
		tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
		for range 8 {
			poison(t, tracker, 1)
			time.Sleep(1200 * time.Millisecond)
			before := int(tracker.Stats().Delivered)
			track(t, tracker, 1)
			waitFor(t, tracker, before+1, 1100*time.Millisecond)
		}
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestCloseRetriesWhileTheAPIAcceptsAnything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 5 * time.Millisecond
		var mu sync.Mutex
		n := 0
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if n++; n%50 == 0 {
				return answerStatus(503)(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		track(t, tracker, 5000)
		require.NoError(t, closeWithin(tracker, 10*time.Second))
		assert.Equal(t, uint64(5000), tracker.Stats().Delivered)
	})
}

func TestErrorOfCloseNamesTheFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond // Close comes before the first answer
		f.set(poisoned(answerStatus(507)))
		tracker := start(t, f)
		poison(t, tracker, 1)
		track(t, tracker, 100)
		err := closeWithin(tracker, 10*time.Second)
		account, ok := errors.AsType[*footfall.CloseError](err)
		require.True(t, ok)
		assert.Equal(t, []uint64{100, 1}, []uint64{tracker.Stats().Delivered, account.Lost})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "507")
	})
}

func TestCloseWithoutADeadlineEndsAlthoughAnEventIsNeverAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(poisoned(answerStatus(507)))
		f.latency = time.Millisecond // Close comes before the first answer
		const step = time.Second
		tracker := start(t, f, func(c *footfall.Config) { c.BackoffMin, c.BackoffMax, c.MaxInFlight = step, step, 1 })
		poison(t, tracker, 3)
		track(t, tracker, 100)
		began := time.Now()
		assert.ErrorContains(t, tracker.Close(t.Context()), "507")
		took := time.Since(began)
		assert.Greater(t, took, 5*time.Minute, "after the last event was delivered")
		assert.LessOrEqual(t, took, 5*time.Minute+(1+3)*step, "and one attempt of each, a step apart")
		assert.Equal(t, uint64(100), tracker.Stats().Delivered)
	})
}

func TestErrorsOfCallsThatRanOutOfTimeNameTheLastAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(*http.Request, string) (*http.Response, error)
		want   string
	}{
		"a refused key": {answerStatus(401), "401"},
		"a dead API":    {answerDown, "connection refused"},
		"a hang":        {answerHang, "no answer in 500ms"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.set(tc.answer)
				tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = 500 * time.Millisecond })
				track(t, tracker, 3)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := tracker.Flush(ctx)
				late, ok := errors.AsType[*footfall.FlushError](err)
				require.True(t, ok, "%v", err)
				assert.Equal(t, uint64(3), late.Unsettled)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, tc.want)
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err = tracker.TrackDurable(ctx, footfall.Event{Name: "paid"})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, tc.want)
				assert.ErrorContains(t, closeWithin(tracker, 2*time.Second), tc.want)
			})
		})
	}
}

func TestFlushThatRunsOutOfTimeWithAnAPIThatWorksNamesNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(503))
		tracker := start(t, f)
		track(t, tracker, 1)
		time.Sleep(2 * time.Second)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(t.Context()))
		f.latency = time.Second
		track(t, tracker, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		late, ok := errors.AsType[*footfall.FlushError](tracker.Flush(ctx))
		require.True(t, ok)
		require.NoError(t, late.Cause)
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

func TestAnAPIThatAcceptsEverySecondAttemptReceivesAllEvents(t *testing.T) {
	for _, inFlight := range []int{1, 8, 64} {
		t.Run(fmt.Sprint(inFlight), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.latency = 10 * time.Millisecond
				f.set(failFirstOfEvery(1, 503))
				tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = inFlight })
				began := time.Now()
				track(t, tracker, 1000)
				require.NoError(t, tracker.Flush(t.Context()))
				t.Log("after", time.Since(began))
				delivered, most := f.delivered()
				assert.Equal(t, []int{1000, 1}, []int{delivered, most})
				require.NoError(t, closeWithin(tracker, time.Second))
			})
		})
	}
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

// A new event is news and is tried at once, even after many fresh events have failed.
func TestANewEventBehindManyFailedEventsIsTriedSoon(t *testing.T) {
	for name, bad := range map[string]func(*http.Request, string) (*http.Response, error){"403": answerStatus(403), "500": answerStatus(500)} {
		for _, n := range []int{8, 64, 200, 5000} {
			t.Run(fmt.Sprint(n, " times ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFakeNet()
					f.latency = 5 * time.Millisecond
					f.set(poisoned(bad))
					tracker := start(t, f)
					track(t, tracker, 100)
					time.Sleep(5 * time.Second)
					poison(t, tracker, n)
					time.Sleep(time.Hour)
					for range 20 {
						ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
						require.NoError(t, tracker.TrackDurable(ctx, footfall.Event{Name: "paid"}))
						cancel()
						time.Sleep(time.Second)
					}
					_ = closeWithin(tracker, time.Second)
				})
			})
		}
	}
}

func TestRepeatedRetryAfterOfOneEventDoesNotHoldTheOthers(t *testing.T) {
	for _, status := range []int{429, 503} {
		for _, inFlight := range []int{1, 8, 64} {
			t.Run(fmt.Sprint(status, " with ", inFlight, " in flight"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFakeNet()
					f.set(poisoned(answerRetryAfter(status, "300")))
					tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = inFlight })
					poison(t, tracker, 1)
					var held []time.Duration // pauses of at least a second without a delivery
					last := time.Now()
					for range 1800 {
						before := tracker.Stats().Delivered
						track(t, tracker, 1)
						time.Sleep(time.Second)
						if tracker.Stats().Delivered == before {
							continue
						}
						if since := time.Since(last); since > 2*time.Second {
							held = append(held, since)
						}
						last = time.Now()
					}
					assert.Empty(t, held)
					time.Sleep(10 * time.Second)
					assert.Equal(t, uint64(1800), tracker.Stats().Delivered)
					_ = closeWithin(tracker, time.Second)
				})
			})
		}
	}
}

func TestCloseSendsEveryEventAlthoughOneHasARetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 5 * time.Millisecond
		f.set(poisoned(answerRetryAfter(429, "300")))
		tracker := start(t, f)
		track(t, tracker, 1000)
		poison(t, tracker, 10)
		track(t, tracker, 1000)
		assert.ErrorContains(t, closeWithin(tracker, 10*time.Second), "lost 10 of 2010")
	})
}

// A few events that fail one after another are not an outage.
func TestANewEventAmongFailingEventsIsTriedSoon(t *testing.T) {
	for name, bad := range badAnswers() {
		if name == "a hang" {
			continue // its attempts delay the retry
		}
		for range 10 { // the order of the events is random
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.set(poisoned(bad))
				tracker := start(t, f)
				poison(t, tracker, 1)
				time.Sleep(10 * time.Minute)
				poison(t, tracker, 2)
				track(t, tracker, 1)
				poison(t, tracker, 1)
				began := time.Now()
				for tracker.Stats().Delivered == 0 {
					require.Less(t, time.Since(began), 3*time.Second, name)
					time.Sleep(10 * time.Millisecond)
				}
				assert.Error(t, closeWithin(tracker, time.Second))
			})
		}
	}
}
