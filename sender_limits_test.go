package footfall_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// rateLimit is an API that accepts a number of events a second and answers the others with 429.
type rateLimit struct {
	perSecond  float64
	burst      int // of a token bucket; 0 for a number in each second of the clock
	retryAfter int // seconds; 0 for none

	mu     sync.Mutex
	since  time.Time
	tokens float64
}

func (l *rateLimit) answer(r *http.Request, body string) (*http.Response, error) {
	switch {
	case l.accepts(time.Now()):
		return answerStatus(202)(r, body)
	case l.retryAfter == 0:
		return answerStatus(429)(r, body)
	}
	return answerRetryAfter(429, strconv.Itoa(l.retryAfter))(r, body)
}

func (l *rateLimit) accepts(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch second := now.Truncate(time.Second); {
	case l.burst > 0:
		l.tokens = min(float64(l.burst), l.tokens+now.Sub(l.since).Seconds()*l.perSecond)
		l.since = now
	case second != l.since:
		l.tokens, l.since = l.perSecond, second
	}
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}

func TestAnAPIThatLimitsTheRateGetsNearlyAsManyEventsAsItTakes(t *testing.T) {
	long(t)
	for seed := range uint64(32) {
		r := rand.New(rand.NewPCG(seed, 1))
		perSecond := 5 + r.IntN(100)
		api := &rateLimit{perSecond: float64(perSecond), retryAfter: r.IntN(4)}
		if r.IntN(4) > 0 {
			api.burst = 1 + r.IntN(perSecond)*r.IntN(2)
		}
		kinds, inFlight, over := 1+r.IntN(5), []int{1, 4, 16, 64}[r.IntN(4)], 1.1+3*r.Float64()
		events := perSecond * 60
		name := fmt.Sprintf("seed %d, %v a second, burst %d, Retry-After %d, %d kinds, MaxInFlight %d", seed, api.perSecond, api.burst, api.retryAfter, kinds, inFlight)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				each := time.Duration(float64(time.Second) * float64(kinds) / (api.perSecond * over))
				var flows []*flow
				for k := range kinds {
					flows = append(flows, &flow{name: fmt.Sprint("kind_", k), every: each, most: events / kinds, answer: always(api.answer)})
				}
				m := newMixture(t, flows, func(c *footfall.Config) { c.MaxInFlight = inFlight })
				m.run(t, 2*time.Minute)
				require.NoError(t, m.tracker.Flush(t.Context()))
				assert.Less(t, time.Since(m.began), 87*time.Second)
				assert.Less(t, m.requests(), events+events/2+200*kinds)
				assert.Zero(t, m.tracker.Stats().Refused)
				require.NoError(t, closeWithin(m.tracker, time.Second))
			})
		})
	}
}

// An API that accepts 20 events a second needs 150 s for 3,000.
func TestAnAPIThatLimitsTheRateIsSlowedDownByNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &rateLimit{perSecond: 20, retryAfter: 1}
		limited := &flow{name: "seen", every: 20 * time.Millisecond, most: 3000, answer: always(api.answer)}
		m := newMixture(t, []*flow{limited})
		m.run(t, time.Minute)
		require.NoError(t, m.tracker.Flush(t.Context()))
		assert.Less(t, time.Since(m.began), 175*time.Second)
		assert.Less(t, m.requests(), 3_500)
		require.NoError(t, closeWithin(m.tracker, time.Second))
	})
}

// An API that takes twice as many events in the long run, but one at a time, such as nginx's limit_req.
func TestAnAPIThatLimitsTheRateGetsBurstsInTime(t *testing.T) {
	long(t)
	for _, retryAfter := range []int{0, 1} {
		t.Run(fmt.Sprint("Retry-After ", retryAfter), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := &rateLimit{perSecond: 20, burst: 1, retryAfter: retryAfter}
				var flows []*flow
				for range 10 {
					flows = append(flows, &flow{name: "seen", every: time.Second, answer: always(api.answer)})
				}
				m := newMixture(t, flows)
				m.run(t, 10*time.Minute)
				assert.Less(t, m.requests(), 7_200, "for 6,000 events")
				assert.Less(t, int(m.tracker.Stats().Queued), 60)
				require.NoError(t, closeWithin(m.tracker, 10*time.Second))
			})
		})
	}
}

func TestCloseAtAnAPIThatLimitsTheRateDeliversWhatItTakes(t *testing.T) {
	for _, retryAfter := range []int{0, 1} {
		for _, burst := range []int{1, 5} {
			t.Run(fmt.Sprint("Retry-After ", retryAfter, ", burst ", burst), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					api := &rateLimit{perSecond: 50, burst: burst, retryAfter: retryAfter}
					flows := []*flow{
						{name: "seen", every: 2 * time.Millisecond, most: 900, answer: always(api.answer)},
						{name: "other", every: 20 * time.Millisecond, most: 90, answer: always(api.answer)},
					}
					m := newMixture(t, flows)
					m.run(t, 2*time.Second)
					require.NoError(t, closeWithin(m.tracker, time.Minute))
					assert.EqualValues(t, 990, m.tracker.Stats().Delivered)
					assert.Less(t, m.requests(), 2000)
				})
			})
		}
	}
}

// One event is always answered with 429, and others once. That is no bound of the rate.
func TestAnEventThatIsAlwaysAnsweredWith429DoesNotSlowDownItsKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := &flow{name: "seen", every: 200 * time.Millisecond}
		bad := &flow{name: "seen", every: time.Minute, answer: always(answerRetryAfter(429, "1"))}
		once := &flow{name: "seen", every: 5 * time.Second, answer: whileFirst(1, answerRetryAfter(429, "1"))}
		m := newMixture(t, []*flow{good, bad, once})
		m.run(t, 30*time.Minute)
		got := m.read(good)
		assert.Less(t, got.longest, time.Second)
		assert.InDelta(t, got.tracked, got.delivered, 2)
		assert.Less(t, m.read(bad).requests, 2000, "of 30 events")
		assert.Error(t, closeWithin(m.tracker, time.Millisecond))
	})
}

// Two sites, or two names, are away at the same time. One asks for 2 s, the other one for 5 min.
func TestARetryAfterHoldsForItsOwnTime(t *testing.T) {
	for _, sites := range []bool{true, false} {
		t.Run(fmt.Sprint("of sites ", sites), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				between := func(from, to time.Duration, bad answerFunc) func(int) answerFunc {
					return func(int) answerFunc {
						if at := time.Since(began); at > from && at < to {
							return bad
						}
						return answerStatus(202)
					}
				}
				good := &flow{name: "seen", every: 50 * time.Millisecond, answer: between(20*time.Second, 90*time.Second, answerRetryAfter(503, "2"))}
				over := &flow{name: "over", every: time.Second, answer: between(10*time.Second, time.Hour, answerRetryAfter(429, "300"))}
				if sites {
					over.site = "site_2"
				}
				m := newMixture(t, []*flow{good, over})
				m.run(t, 2*time.Minute)
				got := m.read(good)
				assert.Less(t, got.longest, 70*time.Second+20*time.Second)
				assert.GreaterOrEqual(t, got.delivered, got.tracked-2)
				_ = closeWithin(m.tracker, time.Millisecond)
			})
		})
	}
}

// whileFirst answers the first attempt of every nth event with answer and accepts all other attempts.
func whileFirst(n int, answer answerFunc) func(int) answerFunc {
	var mu sync.Mutex
	tried := make(map[int]bool)
	return func(i int) answerFunc {
		mu.Lock()
		defer mu.Unlock()
		first := !tried[i]
		tried[i] = true
		if first && i%n == 0 {
			return answer
		}
		return answerStatus(202)
	}
}

// Two sites, or two names, are over their quota before the events of another one come.
func TestRetryAfterOfTwoHoldsNoThird(t *testing.T) {
	long(t)
	for _, seconds := range []string{"60", "300"} {
		for _, sites := range []bool{true, false} {
			for _, fails := range []int{1 << 30, 100} {
				t.Run(fmt.Sprint(seconds, " s, of sites ", sites, ", one in ", fails, " fails once"), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						good := &flow{name: "seen", every: 20 * time.Millisecond, begins: 10 * time.Second, answer: whileFirst(fails, answerStatus(503))}
						flows := []*flow{good}
						for k := range 2 {
							over := &flow{name: fmt.Sprint("over_", k), every: 300 * time.Millisecond, answer: always(answerRetryAfter(429, seconds))}
							if sites {
								over.site = fmt.Sprint("site_", 2+k)
							}
							flows = append(flows, over)
						}
						m := newMixture(t, flows)
						m.latency = 50 * time.Millisecond
						m.run(t, 10*time.Minute)
						time.Sleep(time.Second)
						got := m.read(good)
						assert.Equal(t, got.tracked, got.delivered)
						assert.Less(t, got.longest, time.Second)
						assert.Error(t, closeWithin(m.tracker, time.Second))
					})
				})
			}
		}
	}
}

// A third of the events fail once, and have a long Retry-After. The others of their kind do not wait for it.
func TestRetryAfterAtRandomHoldsNoOtherEvent(t *testing.T) {
	long(t)
	for _, status := range []int{429, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				good := &flow{name: "seen", every: 14 * time.Millisecond}
				fails := &flow{name: "seen", every: 33 * time.Millisecond, answer: whileFirst(1, answerRetryAfter(status, "60"))}
				m := newMixture(t, []*flow{good, fails})
				m.run(t, 5*time.Minute)
				time.Sleep(61 * time.Second)
				got := m.read(good)
				assert.Equal(t, got.tracked, got.delivered)
				assert.Less(t, got.longest, 5*time.Second)
				got = m.read(fails)
				assert.Equal(t, got.tracked, got.delivered)
				require.NoError(t, closeWithin(m.tracker, time.Second))
			})
		})
	}
}

// Events of one site hang, and those of another one fail at random: they are no reason to give the former more
// senders.
func TestEventsThatHangBesideRandomFailuresDelayOthersLittle(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		good := &flow{name: "seen", every: 5 * time.Millisecond}
		hangs := &flow{name: "seen", every: 100 * time.Millisecond, most: 300, answer: always(answerHang)}
		random := &flow{name: "seen", site: "site_2", every: 20 * time.Millisecond, answer: atRandom(0.3)}
		m := newMixture(t, []*flow{good, hangs, random})
		m.run(t, 3*time.Minute)
		assert.Less(t, m.read(good).longest, 500*time.Millisecond)
		assert.Less(t, m.read(random).longest, 15*time.Second)
		assert.Less(t, m.read(hangs).requests, 1200)
		assert.Error(t, closeWithin(m.tracker, time.Millisecond))
	})
}

// Waits of the same length as the times in which the API accepts nothing would miss the others.
func TestAnAPIThatAcceptsEverySecondSecondDelaysEventsLittle(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		good := &flow{name: "seen", every: 20 * time.Millisecond, answer: func(int) answerFunc {
			if int(time.Since(began)/time.Second)%2 == 1 {
				return answerStatus(503)
			}
			return answerStatus(202)
		}}
		m := newMixture(t, []*flow{good})
		m.run(t, 10*time.Minute)
		assert.Less(t, m.read(good).longest, time.Minute)
		require.NoError(t, closeWithin(m.tracker, 30*time.Second))
	})
}

// Between two good events, many of other kinds fail. That looks like an outage, and is none.
func TestKindsThatFailOftenHoldNoOther(t *testing.T) {
	long(t)
	for _, row := range []struct {
		kinds, sites, perSecond int
		status                  int
	}{{2, 1, 110, 503}, {2, 1, 200, 500}, {10, 1, 200, 503}, {10, 10, 200, 503}, {5, 1, 1000, 500}, {20, 1, 667, 401}, {10, 10, 333, 401}, {10, 10, 200, 429}} {
		t.Run(fmt.Sprint(row.kinds, " kinds on ", row.sites, " sites, ", row.perSecond, " a second, ", row.status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				good := &flow{name: "seen", every: time.Second}
				flows := []*flow{good}
				answer := answerStatus(row.status)
				if row.status == http.StatusTooManyRequests {
					answer = answerRetryAfter(row.status, "300")
				}
				each := time.Second * time.Duration(row.kinds) / time.Duration(row.perSecond)
				for k := range row.kinds {
					site := ""
					if row.sites > 1 {
						site = fmt.Sprint("site_", 2+k%row.sites)
					}
					flows = append(flows, &flow{name: fmt.Sprint("bad_", k), site: site, every: each, begins: 10*time.Second + each*time.Duration(k)/time.Duration(row.kinds), answer: always(answer)})
				}
				m := newMixture(t, flows)
				m.run(t, time.Minute)
				time.Sleep(time.Second)
				got := m.read(good)
				assert.Zero(t, got.refused)
				assert.Equal(t, got.tracked, got.delivered)
				assert.Less(t, got.longest, aTurn)
				assert.Error(t, closeWithin(m.tracker, time.Millisecond))
			})
		})
	}
}
