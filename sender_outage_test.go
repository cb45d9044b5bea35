package footfall_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// The API is down for 10 minutes at 2,000 events a second.
func TestOutageOfTenMinutesIsSurvivedWithFlatMemoryAndGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f)
		trackFor(tracker, time.Minute)
		memory, goroutines := heap(), runtime.NumGoroutine()
		trackFor(tracker, 9*time.Minute)
		assert.Less(t, int64(heap())-int64(memory), int64(2<<20), "memory grew during the outage")
		assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+1, "goroutines grew during the outage")
		s := tracker.Stats()
		assert.Equal(t, uint64(50_000), s.Queued)
		assert.Equal(t, uint64(1_200_000-50_000), s.Refused)

		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		delivered, most := f.delivered()
		assert.Equal(t, 50_000, delivered, "everything still queued arrives")
		assert.Equal(t, 1, most, "each id once")
		require.NoError(t, closeWithin(tracker, time.Second))
	})
}

// trackFor tracks 2,000 events a second.
func trackFor(tracker *footfall.Tracker, d time.Duration) {
	for range int(d / (10 * time.Millisecond)) {
		for range 20 {
			_ = tracker.Track(context.Background(), "tested") // a full queue refuses
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestOutageCostsOneRequestPerBackoffStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 5000)
		time.Sleep(5 * time.Second)
		onset := f.requests()
		assert.LessOrEqual(t, onset, 64+10, "those under way when it began, and a few probes")
		time.Sleep(time.Hour)
		// The wait is random between 0 and 15 s, which makes about 480 probes an hour.
		assert.InDelta(t, 480, f.requests()-onset, 120)
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestOneFailureAmongSuccessesDoesNotPauseTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		f.set(failFirstOfEvery(100, 500))
		tracker := start(t, f)
		began := time.Now()
		track(t, tracker, 2000)
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Less(t, time.Since(began), 5*time.Second) // 20 separate pauses would take longer
		assert.Equal(t, uint64(2000), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// failFirstOfEvery fails the first attempt of one event in n.
func failFirstOfEvery(n, status int) func(*http.Request, string) (*http.Response, error) {
	var mu sync.Mutex
	seen := make(map[string]bool)
	return func(r *http.Request, body string) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("Idempotency-Key")
		first := !seen[id]
		seen[id] = true
		if first && len(seen)%n == 0 {
			return answerStatus(status)(r, body)
		}
		return answerStatus(202)(r, body)
	}
}

// Four well-known SDKs lose all of these events.
func TestEveryFirstAttemptFailingLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(failFirstOfEvery(1, 500))
		tracker := start(t, f)
		track(t, tracker, 1000)
		require.NoError(t, tracker.Flush(context.Background()))
		delivered, most := f.delivered()
		assert.Equal(t, 1000, delivered)
		assert.Equal(t, 1, most)
		assert.Equal(t, 2000, f.requests())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestEventThatAlwaysFailsDoesNotHoldUpTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if body == `{"site_id":"site_1","name":"poison","url":"https://example.com/"}` {
				return answerStatus(500)(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		require.NoError(t, tracker.Track(context.Background(), "poison"))
		for range 60 {
			track(t, tracker, 10)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		s := tracker.Stats()
		assert.Equal(t, uint64(600), s.Delivered)
		assert.Equal(t, uint64(1), s.Queued)
		assert.Error(t, closeWithin(tracker, time.Minute))
	})
}

func TestEveryAttemptHasTheSameIdempotencyKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerStatus(503))
		tracker := start(t, f)
		track(t, tracker, 1)
		time.Sleep(5 * time.Minute)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		require.Greater(t, len(f.ids), 5)
		for i := range f.ids {
			assert.Equal(t, f.ids[0], f.ids[i])
			assert.Equal(t, f.bodies[0], f.bodies[i])
		}
		assert.Len(t, f.ids[0], 36)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestRetryAfterIsHonouredAndClampedAndGarbageIgnored(t *testing.T) {
	tests := map[string]struct {
		value    func() string
		from, to time.Duration
	}{
		"seconds":         {func() string { return "7" }, 7 * time.Second, 10 * time.Second},
		"a date":          {func() string { return time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat) }, 89 * time.Second, 93 * time.Second},
		"a day, clamped":  {func() string { return "86400" }, 5 * time.Minute, 5*time.Minute + 3*time.Second},
		"garbage":         {func() string { return "soon" }, 0, 3 * time.Second},
		"a date gone by":  {func() string { return "Sat, 02 Jan 1999 15:04:05 GMT" }, 0, 3 * time.Second},
		"negative number": {func() string { return "-5" }, 0, 3 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				f.set(func(r *http.Request, body string) (*http.Response, error) {
					f.set(answerStatus(202))
					return answerRetryAfter(429, tt.value())(r, body)
				})
				tracker := start(t, f)
				track(t, tracker, 1)
				synctest.Wait()
				refused := time.Now()
				require.NoError(t, tracker.Flush(context.Background()))
				assert.GreaterOrEqual(t, time.Since(refused), tt.from)
				assert.LessOrEqual(t, time.Since(refused), tt.to)
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

// The API names a time in every answer.
func TestRateLimitPausesEverySender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		f.set(answerRetryAfter(429, "30"))
		tracker := start(t, f)
		track(t, tracker, 1000)
		time.Sleep(time.Second)
		track(t, tracker, 1)
		time.Sleep(28 * time.Second)
		assert.LessOrEqual(t, f.requests(), 64+4)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Equal(t, uint64(1001), tracker.Stats().Delivered)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestHangingAPITimesOutAndTheEventIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerHang)
		tracker := start(t, f)
		track(t, tracker, 1)
		time.Sleep(7 * time.Second) // 1 s until the batch is due, 5 s for the attempt
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		assert.GreaterOrEqual(t, f.requests(), 2)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestBadKeyHoldsEventsIsLoggedOnceAndDeliveryResumes(t *testing.T) {
	for _, status := range []int{401, 403} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, j := newFakeNet(), &journal{}
				f.set(answerStatus(status))
				tracker := start(t, f, j.into)
				track(t, tracker, 500)
				time.Sleep(time.Hour)
				assert.LessOrEqual(t, f.requests(), 64+25, "probed slowly")
				assert.Equal(t, 1, j.Lines(slog.LevelError), j.String())
				assert.NotContains(t, j.String(), testKey)
				assert.Equal(t, uint64(500), tracker.Stats().Queued)
				f.set(answerStatus(202))
				time.Sleep(6 * time.Minute)
				assert.Equal(t, uint64(500), tracker.Stats().Delivered)
				assert.Equal(t, 1, j.Lines(slog.LevelInfo), "says that it goes on")
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

// A refused key is logged even if an outage was logged before, because an operator must replace
// the key.
func TestKeyRefusedAfterAnOutageIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerDown)
		tracker := start(t, f, j.into)
		track(t, tracker, 10)
		time.Sleep(10 * time.Minute)
		f.set(answerStatus(401))
		time.Sleep(time.Hour)
		assert.Equal(t, 1, j.Lines(slog.LevelError), j.String())
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// A firewall that rejects one event answers 403, like an API that refuses the key.
func TestSingleForbiddenEventIsRetriedSlowlyAndDoesNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.latency = 10 * time.Millisecond
		poisoned := 0
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, "poison") {
				poisoned++ // the attempts of one event never overlap
				return answerStatus(403)(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f, j.into)
		require.NoError(t, tracker.Track(context.Background(), "poison"))
		trackFor(tracker, 20*time.Second)
		assert.Less(t, poisoned, 20)
		assert.Zero(t, j.Lines(slog.LevelError), "the key is not refused: %s", j.String())
		assert.Equal(t, 1, j.Lines(slog.LevelWarn), j.String())
		assert.Error(t, closeWithin(tracker, time.Minute))
	})
}

func TestAnswersOfAnotherServerHoldEvents(t *testing.T) {
	tests := map[string]func(*http.Request, string) (*http.Response, error){
		"200":                 answerStatus(200),
		"204":                 answerStatus(204),
		"redirect to a login": answerStatus(302),
		"404 of a web server": answerStatus(404),
		"405 of a web server": answerStatus(405),
		"407 of a proxy":      answerStatus(407),
		"404 with somebody's JSON": func(*http.Request, string) (*http.Response, error) {
			return response(404, nil, `{"detail":"Not Found"}`), nil
		},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, j := newFakeNet(), &journal{}
				f.set(answer)
				tracker := start(t, f, j.into)
				track(t, tracker, 100)
				time.Sleep(time.Hour)
				assert.Equal(t, uint64(100), tracker.Stats().Queued)
				assert.Equal(t, 1, j.Lines(slog.LevelError), j.String())
				assert.Contains(t, j.String(), "BaseURL")
				f.set(answerStatus(202))
				require.NoError(t, tracker.Flush(context.Background()))
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

func TestOutageIsOneLineWhenItBeginsAndOneWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerDown)
		tracker := start(t, f, j.into)
		track(t, tracker, 1000)
		time.Sleep(time.Hour)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		synctest.Wait() // the line is written after the event is settled
		assert.Equal(t, 1, j.Lines(slog.LevelWarn), j.String())
		assert.Equal(t, 1, j.Lines(slog.LevelInfo), j.String())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// http on a TLS port, a captive portal, a quota page: nothing is condemned while the API accepts
// nothing.
func TestA4xxWithoutTheErrorBodyCondemnsNoEvent(t *testing.T) {
	for _, status := range []int{400, 402, 404, 413, 418, 451} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, j := newFakeNet(), &journal{}
				f.set(answerStatus(status))
				tracker := start(t, f, j.into)
				track(t, tracker, 100)
				time.Sleep(time.Hour)
				assert.Equal(t, uint64(100), tracker.Stats().Queued)
				assert.Contains(t, j.String(), "is not the Site Analytics API")
				f.set(answerStatus(202))
				require.NoError(t, tracker.Flush(context.Background()))
				assert.Equal(t, uint64(100), tracker.Stats().Delivered)
				require.NoError(t, closeWithin(tracker, time.Minute))
			})
		})
	}
}

func TestA4xxWithoutTheErrorBodyIsFinalIfTheAPIAcceptsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(poisoned(answerStatus(413)))
		tracker := start(t, f)
		poison(t, tracker, 3)
		time.Sleep(time.Minute)
		assert.Zero(t, tracker.Stats().Rejected, "the API has accepted nothing")
		for range 120 {
			track(t, tracker, 1)
			time.Sleep(time.Second)
		}
		assert.Equal(t, footfall.Stats{Tracked: 123, Delivered: 120, Rejected: 3}, tracker.Stats())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

// An outage costs a request for each step of the backoff, not for each event.
func TestTenMinutesOfOutageCostFewRequests(t *testing.T) {
	long(t)
	for name, row := range map[string]struct {
		answer answerFunc
		most   int
	}{"503": {answerStatus(503), 300}, "401": {answerRefused(401), 55}, "no answer": {answerDown, 300}} {
		for _, every := range []time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond} {
			for _, before := range []time.Duration{0, time.Minute} {
				if every < 100*time.Millisecond && (name != "503" || before == 0) {
					continue // many events, and nothing else
				}
				kinds := 1
				if before > 0 {
					kinds = 10
				}
				t.Run(fmt.Sprintf("%s, an event every %v of %d kinds, healthy for %v", name, every, kinds, before), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						var flows []*flow
						for k := range kinds {
							flows = append(flows, &flow{name: fmt.Sprint("kind_", k), every: every * time.Duration(kinds), begins: every * time.Duration(k)})
						}
						m := newMixture(t, flows)
						if before > 0 {
							m.run(t, before)
							time.Sleep(time.Second)
						}
						n := m.requests()
						m.set(row.answer)
						m.run(t, time.Since(m.began)+10*time.Minute)
						assert.LessOrEqual(t, m.requests()-n, row.most)
						ended := time.Now()
						m.set(m.reply)
						for m.tracker.Stats().Queued > 0 && time.Since(ended) < 10*time.Minute {
							time.Sleep(100 * time.Millisecond)
						}
						assert.Less(t, time.Since(ended), 6*time.Minute)
						assert.NoError(t, closeWithin(m.tracker, time.Minute))
					})
				})
			}
		}
	}
}

// Probes come from anywhere. The other events of a kind keep their order, up to the requests that are in flight.
func TestEventsKeepTheirOrderInAnOutage(t *testing.T) {
	for name, away := range map[string]answerFunc{"503": answerStatus(503), "no answer": answerDown, "401": answerStatus(401)} {
		for _, kinds := range []int{1, 5, 20} {
			t.Run(fmt.Sprint(name, " for ", kinds, " kinds"), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFakeNet()
					f.latency = time.Millisecond
					var mu sync.Mutex
					var arrived []int
					accept := func(r *http.Request, body string) (*http.Response, error) {
						_, n, _ := strings.Cut(body, `"n":`)
						at, err := strconv.Atoi(strings.TrimRight(n, "}"))
						mu.Lock()
						defer mu.Unlock()
						arrived = append(arrived, at)
						if err != nil {
							return nil, err
						}
						return answerStatus(202)(r, body)
					}
					tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 4 })
					f.set(away)
					for n := range 3000 {
						require.NoError(t, tracker.Track(t.Context(), fmt.Sprint("kind_", n%kinds), footfall.P("n", n)))
						time.Sleep(20 * time.Millisecond)
					}
					requests := f.requests()
					f.set(accept)
					require.NoError(t, tracker.Flush(t.Context()))
					early := 0 // events that came before several older ones
					for i, n := range arrived {
						older := 0
						for _, o := range arrived[i:] {
							if o < n && o%kinds == n%kinds {
								older++
							}
						}
						if older > 8 {
							early++
						}
					}
					assert.LessOrEqual(t, early, requests+1, "events that were probes and failed, and the last probe")
					require.NoError(t, closeWithin(tracker, time.Second))
				})
			})
		}
	}
}
