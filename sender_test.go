package footfall_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

func TestRequestsInFlightGrowWithTheBacklogAndShrinkWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 20 * time.Millisecond
		tracker := start(t, f)
		track(t, tracker, 5000)
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Equal(t, 64, f.mostInFlight(), "a backlog uses the bound")
		synctest.Wait()
		assert.Equal(t, 0, f.mostInFlight())
		for range 100 { // 20 events a second
			track(t, tracker, 1)
			time.Sleep(50 * time.Millisecond)
		}
		assert.LessOrEqual(t, f.mostInFlight(), 4)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestFewEventsTakeFewConnectionsToADistantAPI(t *testing.T) {
	for _, latency := range []time.Duration{25 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.latency = latency
				tracker := start(t, f)
				for range 600 { // 20 a second
					track(t, tracker, 1)
					time.Sleep(50 * time.Millisecond)
				}
				assert.LessOrEqual(t, f.mostInFlight(), 4)
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

func TestEightEventsTakeOneSenderToANearAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond
		tracker := start(t, f)
		for range 50 {
			track(t, tracker, 1)
			time.Sleep(10 * time.Millisecond) // its sender has ended
			track(t, tracker, 8)
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, 450, f.requests())
		assert.Equal(t, 1, f.mostInFlight())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// A sender delivers few events within the interval if the API is distant. Events must not wait
// until a running sender has delivered eight.
func TestEventsDoNotWaitForSendersOfADistantAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 25 * time.Millisecond
		tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval = 10 * time.Millisecond })
		most := uint64(0)
		for range 2000 { // 500 a second; 12 or 13 are in flight
			track(t, tracker, 1)
			most = max(most, tracker.Stats().Queued)
			time.Sleep(2 * time.Millisecond)
		}
		assert.LessOrEqual(t, most, uint64(30))
		assert.LessOrEqual(t, f.mostInFlight(), 30)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestMaxInFlightIsNeverExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 20 * time.Millisecond
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 3 })
		track(t, tracker, 1000)
		time.Sleep(time.Second)
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Equal(t, 3, f.mostInFlight())
	})
}

func TestIdleTrackerHasOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := goroutinesOfBubble()
		tracker := start(t, newFakeNet())
		track(t, tracker, 1000)
		require.NoError(t, tracker.Flush(context.Background()))
		synctest.Wait()
		assert.Equal(t, before+1, goroutinesOfBubble())
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// Events that get no answer keep the senders busy. The others wait a second for each of them, divided
// by the senders, and AttemptTimeout, because further attempts get all their time.
func TestEventsThatHangDelayTheOthersLittle(t *testing.T) {
	for _, row := range []struct{ senders, hang int }{{1, 1}, {1, 10}, {2, 10}, {2, 100}, {8, 64}, {64, 640}} {
		for _, name := range []string{"seen", "stuck"} {
			t.Run(fmt.Sprintf("%d of %s with MaxInFlight %d", row.hang, name, row.senders), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					good := &flow{name: "seen", every: 100 * time.Millisecond}
					hang := &flow{name: name, begins: 10 * time.Second, most: row.hang, answer: always(answerHang)}
					m := newMixture(t, []*flow{good, hang}, func(c *footfall.Config) { c.MaxInFlight = row.senders })
					m.run(t, 3*time.Minute)
					time.Sleep(20 * time.Second)
					got := m.read(good)
					assert.Equal(t, got.tracked, got.delivered)
					most := time.Duration(row.hang) * time.Second / time.Duration(row.senders)
					assert.LessOrEqual(t, got.longest, most*3/2+5*time.Second+aTurn)
					assert.Error(t, closeWithin(m.tracker, time.Millisecond))
				})
			})
		}
	}
}

// An API that always needs longer than an attempt may keep a sender from others gets every event.
func TestASlowAPIGetsEveryEventSoon(t *testing.T) {
	for _, latency := range []time.Duration{900 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second, 4500 * time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				good := &flow{name: "seen", most: 1000}
				m := newMixture(t, []*flow{good}, func(c *footfall.Config) { c.MaxInFlight = 16 })
				m.latency = latency
				m.run(t, time.Second)
				began := time.Now()
				assert.NoError(t, closeWithin(m.tracker, time.Hour))
				assert.Less(t, time.Since(began), (latency+time.Second)*1000/16+20*time.Second)
				assert.Less(t, m.requests(), 2100, "each event twice: once before it is known how slow the API is")
			})
		})
	}
}

func TestCloseDeliversEventsBehindOthersThatHang(t *testing.T) {
	for _, row := range []struct {
		senders, hang int
		name          string // of the events that hang
	}{{64, 128, "seen"}, {16, 64, "seen"}, {2, 12, "seen"}, {4, 128, "hangs"}, {1, 128, "hangs"}} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprint(row.hang, " of ", row.name, " hang with MaxInFlight ", row.senders, ", accepted before: ", before), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var flows []*flow
					if before {
						flows = append(flows, &flow{name: "before", most: 1})
					}
					begins := 5 * time.Second
					hang := &flow{name: row.name, begins: begins, most: row.hang, answer: always(answerHang)}
					good := &flow{name: "seen", begins: begins + time.Nanosecond, most: 500}
					m := newMixture(t, append(flows, hang, good), func(c *footfall.Config) { c.MaxInFlight = row.senders })
					m.run(t, begins+2*time.Nanosecond)
					assert.ErrorContains(t, closeWithin(m.tracker, 10*time.Second), "footfall: ")
					got := m.read(good)
					assert.Equal(t, 500, got.delivered)
				})
			})
		}
	}
}

// failsTimes fails an event this many times before it is accepted.
func failsTimes(times int) func(int) answerFunc {
	var mu sync.Mutex
	failed := make(map[int]int)
	return func(n int) answerFunc {
		return func(r *http.Request, body string) (*http.Response, error) {
			mu.Lock()
			failed[n]++
			fails := failed[n] <= times
			mu.Unlock()
			if fails {
				return answerStatus(503)(r, body)
			}
			return answerStatus(202)(r, body)
		}
	}
}

// Senders that always find events that were never sent also send those that have failed.
func TestEventsThatHaveFailedGetTheirTurnsInABacklog(t *testing.T) {
	long(t)
	for _, row := range []struct {
		times int           // attempts that fail
		most  time.Duration // until the event is delivered
	}{{1, 2 * time.Second}, {2, 5 * time.Second}, {4, 20 * time.Second}, {6, 80 * time.Second}} {
		for _, senders := range []int{1, 4} {
			t.Run(fmt.Sprintf("%d failures, MaxInFlight %d", row.times, senders), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					backlog := &flow{name: "seen", begins: time.Nanosecond, most: 30_000 * senders}
					late := &flow{name: "seen", most: 3, answer: failsTimes(row.times)}
					m := newMixture(t, []*flow{late, backlog}, func(c *footfall.Config) { c.MaxInFlight, c.MaxQueueEvents, c.MaxQueueBytes = senders, 200_000, 1<<28 })
					m.run(t, 2*time.Nanosecond)
					time.Sleep(2 * time.Minute) // the backlog needs 150 s
					assert.Equal(t, 3, m.read(late).delivered)
					assert.LessOrEqual(t, m.read(late).longest, row.most)
					assert.Less(t, m.read(backlog).delivered, backlog.most)
					t.Log(m.read(late).longest)
					assert.Error(t, closeWithin(m.tracker, time.Millisecond))
				})
			})
		}
	}
}

// The events of a name wait while the API does not accept them. When it does again, they do not wait
// for a backlog of others.
func TestEventsOfANameThatIsAcceptedAgainGetTheirTurnsInABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		held := &flow{name: "held", every: 100 * time.Millisecond, most: 180, answer: always(func(r *http.Request, body string) (*http.Response, error) {
			if time.Since(began) < 20*time.Second {
				return answerStatus(503)(r, body)
			}
			return answerStatus(202)(r, body)
		})}
		first := &flow{name: "seen", every: 100 * time.Millisecond, most: 180}
		backlog := &flow{name: "seen", begins: 19 * time.Second, most: 30_000}
		m := newMixture(t, []*flow{held, first, backlog}, func(c *footfall.Config) { c.MaxInFlight = 1 })
		m.run(t, 19*time.Second+time.Nanosecond)
		time.Sleep(40 * time.Second)
		assert.Equal(t, 180, m.read(held).delivered)
		assert.Less(t, m.read(backlog).delivered, backlog.most)
		assert.Error(t, closeWithin(m.tracker, time.Millisecond))
	})
}

// While all senders are busy, the transport looks at the queue less and less often. This ends
// when a sender is free again.
func TestAnEventAfterABusyTimeWaitsForTheIntervalAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(named("slow", func(r *http.Request, body string) (*http.Response, error) {
			time.Sleep(800 * time.Millisecond)
			return answerStatus(202)(r, body)
		}))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.FlushInterval = 1, 100*time.Millisecond })
		require.NoError(t, tracker.Track(context.Background(), "slow"))
		time.Sleep(10 * time.Millisecond)
		track(t, tracker, 1)
		time.Sleep(840 * time.Millisecond)
		require.Equal(t, uint64(2), tracker.Stats().Delivered)
		track(t, tracker, 1)
		time.Sleep(103 * time.Millisecond)
		assert.Equal(t, uint64(3), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// After an outage all events are retries. One sender is started for several of them, and may be
// stuck with the first.
func TestARetryDoesNotWaitForAnotherThatHangs(t *testing.T) {
	for range 10 { // the order is random
		synctest.Test(t, func(t *testing.T) {
			f := newFakeNet()
			f.set(answerStatus(503))
			tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.AttemptTimeout = 8, time.Minute })
			require.NoError(t, tracker.Track(context.Background(), "hangs"))
			track(t, tracker, 7)
			time.Sleep(10 * time.Minute)
			f.set(named("hangs", answerHang))
			waitFor(t, tracker, 1, 2*time.Minute)
			waitFor(t, tracker, 7, 250*time.Millisecond) // two looks
			assert.Error(t, closeWithin(tracker, time.Second))
		})
	}
}

func TestCloseWaitsForAnAPIThatLimitsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 5 * time.Millisecond
		var mu sync.Mutex
		var window int64
		used := 0
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if now := time.Now().Unix(); now != window {
				window, used = now, 0
			}
			if used++; used > 20 {
				return answerRetryAfter(429, "1")(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		track(t, tracker, 20)
		require.NoError(t, tracker.Flush(t.Context()))
		track(t, tracker, 20)
		require.NoError(t, closeWithin(tracker, 10*time.Second))
	})
}

func TestCloseRetriesAnEventThatFailedJustBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 5 * time.Millisecond
		f.set(failFirst("last", 2))
		tracker := start(t, f, func(c *footfall.Config) { c.BackoffMin, c.BackoffMax = 10*time.Second, 10*time.Second })
		track(t, tracker, 5000)
		require.NoError(t, tracker.Flush(t.Context()))
		require.NoError(t, tracker.Track(t.Context(), "last"))
		time.Sleep(6 * time.Millisecond) // it has failed once
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// failFirst fails the first n attempts of events with the given name.
func failFirst(name string, n int) func(*http.Request, string) (*http.Response, error) {
	var mu sync.Mutex
	failed := 0
	return named(name, func(r *http.Request, body string) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if failed++; failed <= n {
			return answerStatus(503)(r, body)
		}
		return answerStatus(202)(r, body)
	})
}

func TestAHangingProbeDoesNotDelayANewEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond
		tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
		track(t, tracker, 10)
		time.Sleep(time.Second)
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if answer, err := named("fails", answerStatus(500))(r, body); err != nil || answer.StatusCode != 202 {
				return answer, err
			}
			return named("hangs", answerHang)(r, body)
		})
		require.NoError(t, tracker.Track(t.Context(), "fails"))
		require.NoError(t, tracker.Track(t.Context(), "hangs"))
		time.Sleep(2 * time.Second)
		within, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.NoError(t, tracker.TrackDurable(within, footfall.Event{Name: "good"}))
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

// Many events have failed, and no event has arrived that could overlap the probe.
func TestAHangingProbeInAnOutageDoesNotDelayALaterEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond
		f.set(answerStatus(500))
		tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
		track(t, tracker, 20)
		time.Sleep(5 * time.Minute)
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if answer, err := named("good", answerStatus(418))(r, body); err == nil && answer.StatusCode == 418 {
				return answerStatus(202)(r, body)
			}
			return answerHang(r, body)
		})
		time.Sleep(time.Minute) // a probe hangs
		within, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.NoError(t, tracker.TrackDurable(within, footfall.Event{Name: "good"}))
		assert.Error(t, closeWithin(tracker, 0))
	})
}

func TestAProbeThatHangsGivesWayWhileTheAPIAcceptsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f, func(c *footfall.Config) { c.AttemptTimeout = time.Hour })
		track(t, tracker, 20)
		time.Sleep(5 * time.Minute)
		f.set(inTurn(reply{0, answerHang}, reply{0, answerStatus(202)}))
		waitFor(t, tracker, 19, time.Minute)
		assert.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// Each probe is another event. If each were interrupted, none would be accepted.
func TestAnAPIThatIsSlowAfterAnOutageGetsEventsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f)
		eachSecond := func(n int) {
			for range n {
				track(t, tracker, 1)
				time.Sleep(time.Second)
			}
		}
		eachSecond(1)
		f.set(answerDown)
		eachSecond(300)
		f.mu.Lock()
		f.latency, f.answer = 3*time.Second, answerStatus(202)
		f.mu.Unlock()
		eachSecond(60)
		assert.Greater(t, tracker.Stats().Delivered, uint64(1))
		assert.NoError(t, closeWithin(tracker, time.Hour))
	})
}

// A 429 without a Retry-After may be about one event only.
func TestAnEventThatIsAlwaysAnswered429DelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = time.Millisecond
		f.set(poisoned(answerStatus(429)))
		tracker := start(t, f)
		for range 100 {
			poison(t, tracker, 1)
			time.Sleep(2 * time.Second)
			within, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			require.NoError(t, tracker.TrackDurable(within, footfall.Event{Name: "good"}))
			cancel()
			time.Sleep(13 * time.Second)
		}
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestEventsThatHangHaveATenthOfTheTimeOfFewSenders(t *testing.T) {
	for _, inFlight := range []int{1, 2, 4} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeNet()
			f.latency = 10 * time.Millisecond
			f.set(poisoned(answerHang))
			tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.AttemptTimeout = inFlight, time.Second })
			poison(t, tracker, 50)
			for range 360 { // each fails while others are accepted
				track(t, tracker, 1)
				time.Sleep(10 * time.Second)
			}
			most := 100 * 60 * inFlight
			track(t, tracker, most)
			before := tracker.Stats().Delivered
			time.Sleep(time.Minute)
			assert.GreaterOrEqual(t, float64(tracker.Stats().Delivered-before), 0.85*float64(most), "with %d in flight", inFlight)
			assert.Error(t, closeWithin(tracker, 0))
		})
	}
}

func TestTrackDurableThatCloseEndsNamesTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(401))
		tracker := start(t, f)
		ended := make(chan error, 1)
		go func() { ended <- tracker.TrackDurable(context.Background(), footfall.Event{Name: "x"}) }()
		time.Sleep(3 * time.Second)
		require.Error(t, closeWithin(tracker, 0))
		assert.ErrorContains(t, <-ended, "401")
	})
}
