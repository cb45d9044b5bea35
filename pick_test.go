package footfall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestSimultaneousFailuresCountAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 1000)
		time.Sleep(10 * time.Millisecond) // 64 fail
		f.set(answerStatus(202))
		began := time.Now()
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Less(t, time.Since(began), 2*time.Second)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 100 * time.Millisecond
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 5000)
		time.Sleep(5 * time.Second)
		f.mostInFlight()
		time.Sleep(time.Hour)
		assert.Equal(t, 1, f.mostInFlight())
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestProbesOfARefusedKeyStartOverAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(answerDown)
		tracker := start(t, f)
		track(t, tracker, 1)
		time.Sleep(time.Hour)
		var refused time.Time
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			refused = time.Now()
			f.set(answerStatus(202))
			return answerStatus(401)(r, body)
		})
		require.NoError(t, tracker.Flush(context.Background()))
		assert.LessOrEqual(t, time.Since(refused), time.Minute)
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestEachOutageIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		tracker := start(t, f, j.into)
		for range 3 {
			f.set(answerDown)
			track(t, tracker, 10)
			time.Sleep(10 * time.Minute)
			f.set(answerStatus(202))
			require.NoError(t, tracker.Flush(context.Background()))
			synctest.Wait() // the log is written last
		}
		assert.Equal(t, []int{3, 3}, []int{j.Lines(slog.LevelWarn), j.Lines(slog.LevelInfo)}, j.String())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestABriefFailureIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(failFirstOfEvery(1, 500))
		tracker := start(t, f, j.into)
		track(t, tracker, 1)
		require.NoError(t, tracker.Flush(context.Background()))
		assert.Empty(t, j.String())
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestEventThatAlwaysFailsIsTriedLessAndLess(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		var mu sync.Mutex
		poison := 0
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, "poison") {
				mu.Lock()
				defer mu.Unlock()
				poison++
				return answerStatus(500)(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		require.NoError(t, tracker.Track(context.Background(), "poison"))
		trackFor(tracker, 10*time.Minute)
		mu.Lock()
		assert.Less(t, poison, 120, "a wait of up to 15 s each, in ten minutes")
		mu.Unlock()
		assert.Error(t, closeWithin(tracker, time.Minute))
	})
}

func TestAttemptsThatCloseCutsOffAreNotAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, j := newFakeNet(), &journal{}
		f.set(answerHang)
		tracker := start(t, f, j.into)
		track(t, tracker, 60) // fewer than MaxInFlight
		require.Error(t, closeWithin(tracker, 2*time.Second))
		synctest.Wait()
		assert.NotContains(t, j.String(), "does not accept events")
	})
}

// Each event fails once. Only probes that were sent before show that the API accepts events.
func TestEventsThatHaveFailedAreProbesBesideThoseThatWereNeverSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		once := &failsOnce{tried: make(map[string]bool)}
		f.set(once.answer)
		tracker := start(t, f)
		for range 20 { // they start senders while the breaker is open
			track(t, tracker, 50)
			time.Sleep(time.Second)
		}
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Len(t, once.tried, 1000)
		assert.Greater(t, once.probes, 5)
		assert.Greater(t, once.probes-once.untried, once.probes/10, "events that failed are probes, too")
	})
}

// failsOnce fails the first request of every event. It counts requests that arrive after a
// failure while no other request is in flight.
type failsOnce struct {
	mu              sync.Mutex
	tried           map[string]bool
	inFlight        int
	failed          bool // the last request was
	probes, untried int
}

func (o *failsOnce) answer(r *http.Request, body string) (*http.Response, error) {
	known := o.begin(r.Header.Get("Idempotency-Key"))
	time.Sleep(time.Duration(len(body)%7+1) * time.Millisecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.inFlight--
	if o.failed = !known; known {
		return answerStatus(202)(r, body)
	}
	return answerStatus(500)(r, body)
}

func (o *failsOnce) begin(id string) (known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known = o.tried[id]
	o.tried[id] = true
	if o.failed && o.inFlight == 0 {
		o.probes++
		if !known {
			o.untried++
		}
	}
	o.inFlight++
	return known
}

func TestOutageSaysSinceWhenAndWhyNoEventIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{kept: make(map[string]bool)}
		cfg := footfall.Config{SiteID: "site_1", DefaultURL: "https://example.com/", Logger: (&footfalltest.Log{}).Logger(), BackoffMin: 20 * time.Second, BackoffMax: 20 * time.Second}
		var err error
		cfg.Transport, err = footfall.NewStoringTransport(cfg, b)
		require.NoError(t, err)
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		open := func() bool { _, out := tracker.Outage(); return out }
		assert.False(t, open())

		time.Sleep(time.Hour)
		b.fail(errors.New("away"))
		track(t, tracker, 1)
		began := time.Now()
		time.Sleep(time.Millisecond)
		assert.False(t, open(), "a single event has failed once, perhaps for its own reason")
		time.Sleep(2 * time.Minute)
		assert.True(t, open(), "it fails again and again, and no other passes")
		o, _ := tracker.Outage()
		assert.Equal(t, began, o.Since)
		assert.ErrorContains(t, o.Err, "away")
		b.fail(nil)
		require.NoError(t, tracker.Flush(t.Context()))
		assert.False(t, open())
		require.NoError(t, tracker.Close(t.Context()))
	})
}

func TestManyFailuresAreAnOutageAtOnce(t *testing.T) {
	for name, answer := range map[string]answerFunc{"no answer": answerDown, "Retry-After": answerRetryAfter(503, "60")} {
		t.Run(name, func(t *testing.T) { opensAtOnce(t, answer, 1000) })
	}
}

func opensAtOnce(t *testing.T, answer func(*http.Request, string) (*http.Response, error), events int) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 10 * time.Millisecond
		f.set(answer)
		cfg := footfall.Config{
			BaseURL: "https://api.example.com", APIKey: "key", SiteID: "site_1", DefaultURL: "https://example.com/",
			HTTPClient: &http.Client{Transport: f}, Logger: (&footfalltest.Log{}).Logger(),
		}
		var err error
		cfg.Transport, err = footfall.NewHTTPTransport(cfg)
		require.NoError(t, err)
		tracker, err := footfall.New(cfg)
		require.NoError(t, err)
		track(t, tracker, events)
		time.Sleep(100 * time.Millisecond)
		_, out := tracker.Outage()
		assert.True(t, out)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(t.Context()))
		_, out = tracker.Outage()
		assert.False(t, out)
		require.NoError(t, tracker.Close(t.Context()))
	})
}

// named returns answer for events with the given name, and accepts all others after two
// milliseconds.
func named(name string, answer func(*http.Request, string) (*http.Response, error)) func(*http.Request, string) (*http.Response, error) {
	return func(r *http.Request, body string) (*http.Response, error) {
		if strings.Contains(body, `"`+name+`"`) {
			return answer(r, body)
		}
		time.Sleep(2 * time.Millisecond)
		return answerStatus(202)(r, body)
	}
}

// suspected tracks an event that fails repeatedly while the API accepts others.
func suspected(t *testing.T, f *fakeNet, tracker *footfall.Tracker) {
	t.Helper()
	f.set(named("poison", answerStatus(500)))
	require.NoError(t, tracker.Track(context.Background(), "poison"))
	for range 300 {
		track(t, tracker, 10)
		time.Sleep(time.Second)
	}
	time.Sleep(2 * time.Second)
	require.Equal(t, uint64(1), tracker.Stats().Queued)
}

func TestARetryDoesNotWaitForAnEventThatKeepsFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f)
		suspected(t, f, tracker)
		once := inTurn(reply{time.Millisecond, answerStatus(500)}, reply{0, answerStatus(202)})
		poison := named("poison", answerStatus(500))
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, `"once"`) {
				return once(r, body)
			}
			return poison(r, body)
		})
		require.NoError(t, tracker.Track(context.Background(), "once"))
		track(t, tracker, 99)
		time.Sleep(2 * time.Second)
		assert.Equal(t, uint64(1), tracker.Stats().Queued, "the one that keeps failing")
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestCloseRetriesAnEventThatKeepsFailingWhileTheAPIAcceptsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f)
		suspected(t, f, tracker)
		f.set(named("poison", inTurn(
			reply{100 * time.Millisecond, answerStatus(500)}, // the others are accepted earlier
			reply{0, answerStatus(202)},
		)))
		track(t, tracker, 20)
		require.NoError(t, closeWithin(tracker, 10*time.Minute))
	})
}

func TestCloseRetriesEventsThatFailedBeforeTheAPIAcceptedAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(inTurn(reply{0, answerStatus(500)}, reply{0, answerStatus(202)}))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.FlushInterval = 1, time.Hour })
		track(t, tracker, 2)
		began := time.Now()
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Less(t, time.Since(began), time.Second)
	})
}

func TestEventsThatKeepFailingHaveFewOfTheSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		var inFlight, most atomic.Int64
		f.set(named("slow", func(r *http.Request, body string) (*http.Response, error) {
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			time.Sleep(5 * time.Second)
			return answerStatus(500)(r, body)
		}))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 20 })
		for range 50 {
			require.NoError(t, tracker.Track(context.Background(), "slow"))
		}
		for i := range 600 {
			track(t, tracker, 10)
			time.Sleep(time.Second)
			if i == 300 {
				most.Store(0)
			}
		}
		assert.Positive(t, most.Load())
		assert.LessOrEqual(t, most.Load(), int64(2))
		f.set(answerStatus(202))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestAnEventThatKeptFailingIsDeliveredByFewSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight = 5 })
		suspected(t, f, tracker)
		f.set(answerStatus(202))
		require.NoError(t, tracker.Flush(context.Background()))
		require.NoError(t, closeWithin(tracker, time.Minute))
	})
}

func TestCloseRetriesEventsThatFailedBeforeTheAPIRefusedAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.set(inTurn(reply{0, answerStatus(500)}, reply{0, answerRefused(400)}, reply{0, answerStatus(202)}))
		tracker := start(t, f, func(c *footfall.Config) { c.MaxInFlight, c.FlushInterval = 1, time.Hour })
		track(t, tracker, 2)
		require.NoError(t, closeWithin(tracker, time.Minute))
		assert.Equal(t, footfall.Stats{Tracked: 2, Delivered: 1, Rejected: 1}, tracker.Stats())
	})
}

// One event has failed often. That tells little about others, so they do not wait for the next probe.
func TestAnEventOfAKindWhereOneFailsOftenIsTriedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeNet()
		f.latency = 100 * time.Millisecond
		f.set(func(r *http.Request, body string) (*http.Response, error) {
			if strings.Contains(body, `"bad"`) {
				return answerStatus(403)(r, body)
			}
			return answerStatus(202)(r, body)
		})
		tracker := start(t, f)
		add := func(value string) {
			require.NoError(t, tracker.Track(t.Context(), "tested", footfall.P("value", value)))
			time.Sleep(time.Millisecond)
		}
		add("bad")
		time.Sleep(time.Hour) // the next probe is due in minutes
		for _, value := range []string{"bad", "good", "bad"} {
			add(value)
		}
		waitFor(t, tracker, 1, 2*time.Second)
		assert.Error(t, closeWithin(tracker, time.Second))
	})
}

func TestAnOutageDuringCloseCostsFewRequests(t *testing.T) {
	for name, row := range map[string]struct {
		accepts, fails time.Duration // how long the answers take
		most           int
	}{
		"an event is accepted before the others fail": {0, time.Millisecond, 600},
		"an event is accepted after a row has failed": {time.Millisecond, 0, 600}, // the row counts as usual then
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakeNet()
				tracker := start(t, f, func(c *footfall.Config) { c.FlushInterval, c.BatchSize = time.Hour, 1000 })
				track(t, tracker, 1)
				synctest.Wait() // it is sent at once, and the others wait
				f.set(inTurn(reply{row.accepts, answerStatus(202)}, reply{row.fails, answerStatus(500)}))
				track(t, tracker, 500)
				before := f.requests()
				require.Error(t, closeWithin(tracker, 30*time.Second))
				assert.GreaterOrEqual(t, f.requests()-before, 500, "one attempt each")
				assert.LessOrEqual(t, f.requests()-before, row.most, "and the probes of half a minute")
			})
		})
	}
}

// The API is away when the tracker closes, and comes back in time. Other kinds go on failing.
func TestCloseInAnOutageReachesAKindBesideOthersThatFail(t *testing.T) {
	long(t)
	for _, row := range []struct {
		kinds, events, inFlight int
		bad                     answerFunc
		name                    string
	}{
		{3, 40, 64, answerHang, "hang"}, {3, 300, 64, answerHang, "hang"}, {3, 40, 16, answerHang, "hang"}, {1, 100, 4, answerHang, "hang"},
		{20, 40, 64, answerStatus(503), "503"}, {60, 60, 64, answerRetryAfter(429, "60"), "429"}, {60, 60, 4, answerStatus(503), "503"},
	} {
		for seed := range 6 {
			t.Run(fmt.Sprintf("%d of %d kinds %s, MaxInFlight %d, run %d", row.events, row.kinds, row.name, row.inFlight, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					good := &flow{name: "seen", every: 10 * time.Millisecond, most: 300}
					flows := []*flow{good}
					for k := range row.kinds {
						flows = append(flows, &flow{name: fmt.Sprint("bad_", k), begins: 2 * time.Second, most: row.events / row.kinds, answer: always(row.bad)})
					}
					m := newMixture(t, flows, func(c *footfall.Config) { c.MaxInFlight = row.inFlight })
					time.AfterFunc(2*time.Second, func() { m.set(answerStatus(503)) })
					time.AfterFunc(4*time.Second, func() { m.set(m.reply) })
					m.run(t, 3*time.Second)
					assert.Error(t, closeWithin(m.tracker, 10*time.Second))
					got := m.read(good)
					assert.Equal(t, got.tracked, got.delivered)
				})
			})
		}
	}
}
