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
	perSecond  int
	burst      int // of a token bucket; 0 for a number in each second of the clock
	retryAfter int // seconds

	mu     sync.Mutex
	since  time.Time
	tokens float64
}

func (l *rateLimit) answer(r *http.Request, body string) (*http.Response, error) {
	if l.accepts(time.Now()) {
		return answerStatus(202)(r, body)
	}
	return answerRetryAfter(429, strconv.Itoa(l.retryAfter))(r, body)
}

func (l *rateLimit) accepts(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch second := now.Truncate(time.Second); {
	case l.burst > 0:
		l.tokens = min(float64(l.burst), l.tokens+now.Sub(l.since).Seconds()*float64(l.perSecond))
		l.since = now
	case second != l.since:
		l.tokens, l.since = float64(l.perSecond), second
	}
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}

// asked returns how many events a second the API takes from a client that sends nothing while the API asks it
// to wait.
func (l *rateLimit) asked() float64 {
	each := float64(l.perSecond)
	if l.burst > 0 {
		each = min(float64(l.burst), each*float64(l.retryAfter))
	}
	return each / float64(l.retryAfter)
}

func TestAnAPIThatLimitsTheRateGetsAsManyEventsAsItAsksFor(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 1))
		api := &rateLimit{perSecond: 5 + r.IntN(100), retryAfter: 1 + r.IntN(3)}
		if r.IntN(2) == 0 {
			api.burst = 1 + r.IntN(api.perSecond)
		}
		kinds, inFlight, over := 1+r.IntN(5), []int{1, 4, 16, 64}[r.IntN(4)], 1.1+3*r.Float64()
		events := api.perSecond * 60
		name := fmt.Sprintf("seed %d, %d a second, burst %d, Retry-After %d, %d kinds, MaxInFlight %d", seed, api.perSecond, api.burst, api.retryAfter, kinds, inFlight)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				each := time.Duration(float64(time.Second) * float64(kinds) / (float64(api.perSecond) * over))
				var flows []*flow
				for k := range kinds {
					flows = append(flows, &flow{name: fmt.Sprint("kind_", k), every: each, most: events / kinds, answer: always(api.answer)})
				}
				m := newMixture(t, flows, func(c *footfall.Config) { c.MaxInFlight = inFlight })
				m.run(t, 2*time.Minute)
				require.NoError(t, m.tracker.Flush(t.Context()))
				limit := time.Duration(1.2*float64(events)/api.asked()*float64(time.Second)) + 15*time.Second
				assert.Less(t, time.Since(m.began), limit)
				assert.Less(t, m.requests(), 20*events)
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
		assert.Less(t, m.requests(), 16_000)
		require.NoError(t, closeWithin(m.tracker, time.Second))
	})
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
