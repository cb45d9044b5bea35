package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
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

// reply is a delayed answer to one request.
type reply struct {
	after  time.Duration
	answer func(*http.Request, string) (*http.Response, error)
}

// inTurn gives the replies to requests in the order of their arrival. All further requests get
// the last reply.
func inTurn(replies ...reply) func(*http.Request, string) (*http.Response, error) {
	var requests atomic.Int64
	return func(r *http.Request, body string) (*http.Response, error) {
		mine := replies[min(int(requests.Add(1)), len(replies))-1]
		time.Sleep(mine.after)
		return mine.answer(r, body)
	}
}

func TestSendingResumesAfterALongerRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(inTurn(
			reply{time.Millisecond, answerStatus(503)},
			reply{2 * time.Millisecond, answerRetryAfter(429, "60")},
			reply{0, answerStatus(202)},
		))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.FlushInterval = 2, time.Hour })
		track(t, tracker, 100)
		time.Sleep(61 * time.Second)
		assert.Equal(t, uint64(100), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// While the API accepts other events, the answer to an event that keeps failing does not affect
// them. Its Retry-After applies to that event only.
func TestRetryAfterOfARetryDelaysThatEventOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		began := time.Now()
		var told time.Time
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			switch {
			case !strings.Contains(body, "retried"):
				return answerStatus(202)(r, body)
			case time.Since(began) < 20*time.Second:
				return answerStatus(500)(r, body)
			case told.IsZero():
				told = time.Now()
				return answerRetryAfter(429, "60")(r, body)
			}
			assert.GreaterOrEqual(t, time.Since(told), time.Minute)
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		require.NoError(t, tracker.Track(context.Background(), "retried"))
		for n := range 600 {
			track(t, tracker, 1)
			time.Sleep(100 * time.Millisecond)
			if n%10 == 9 { // each second
				assert.Equal(t, uint64(n+1), tracker.Stats().Delivered)
			}
		}
		require.False(t, told.IsZero())
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// All events have been sent before, so only retries can be probes.
func TestAnOutageWithRetriesOnlyCostsFewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, "held") {
				return answerStatus(500)(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		for range 200 {
			require.NoError(t, tracker.Track(context.Background(), "held"))
		}
		trackFor(tracker, 30*time.Second)
		time.Sleep(2 * time.Second)
		require.Equal(t, uint64(200), tracker.Stats().Queued)
		f.set(answerStatus(500))
		before := f.requests()
		time.Sleep(10 * time.Minute)
		assert.Less(t, f.requests()-before, 200)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAllSendersStartWhenTheAPITakesEventsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval = time.Hour })
		track(t, tracker, 1000)
		time.Sleep(time.Minute)
		f.set(inTurn(reply{100 * time.Millisecond, answerStatus(202)}))
		time.Sleep(20 * time.Second) // the next probe is sent within 15 s
		assert.Equal(t, uint64(1000), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAnEventWaitsForItsOwnRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(named("asked", inTurn(
			reply{time.Millisecond, answerStatus(500)},
			reply{time.Second, answerRetryAfter(503, "60")}, // after the others are delivered
			reply{0, answerStatus(202)},
		)))
		tracker := start(t, f)
		require.NoError(t, tracker.Track(context.Background(), "asked"))
		track(t, tracker, 99)
		time.Sleep(50 * time.Second)
		assert.Equal(t, 101, f.requests())
		time.Sleep(20 * time.Second)
		assert.Equal(t, 102, f.requests())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAnOutageOfChangingAnswersCostsFewRequests(t *testing.T) {
	for name, row := range map[string]struct {
		answers []int
		most    int // requests in an hour
	}{
		"of each kind":              {[]int{503, 401, 302, 500}, 100},
		"that refuse now and then":  {[]int{503, 503, 503, 403}, 300},
		"that are down and refused": {[]int{503, 403}, 120},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				n := 0
				f.set(func(r *http.Request, body string) (*http.Response, error) {
					n++
					return answerStatus(row.answers[n%len(row.answers)])(r, body)
				})
				tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 1 })
				track(t, tracker, 1000)
				time.Sleep(time.Hour)
				assert.Less(t, f.requests(), row.most)
				f.set(answerStatus(202))
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

// While servers restart, a proxy answers for some of them.
func TestA4xxOfAProxyIsNotFinalForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		restarts := time.Now().Add(50 * time.Second)
		seen := &flow{name: "seen", every: 10 * time.Millisecond, answer: func(int) answerFunc {
			if rand.IntN(2) == 0 && time.Now().Before(restarts) {
				return answerStatus(404)
			}
			return answerStatus(202)
		}}
		m := newMixture(t, []*flow{seen})
		m.run(t, time.Minute)
		require.NoError(t, m.tracker.Flush(t.Context()))
		got := m.read(seen)
		assert.Equal(t, got.tracked, got.delivered)
		require.NoError(t, closeWithin(m.tracker, time.Second))
	})
}

// A refusal shows that the API answers, and not that it accepts events.
func TestA4xxWithoutTheErrorBodyIsNotFinalIfTheAPIRefusesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, "poison") {
				return answerStatus(404)(r, body)
			}
			return answerRefused(400)(r, body)
		})
		tracker := start(t, f)
		poison(t, tracker, 3)
		for range 300 {
			track(t, tracker, 1)
			time.Sleep(time.Second)
		}
		assert.Equal(t, uint64(300), tracker.Stats().Rejected)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}
