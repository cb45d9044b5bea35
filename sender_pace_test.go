package footfall_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

// limitedFlow returns events of a kind that has its own limit.
func limitedFlow(name, site string, every time.Duration, perSecond float64) *flow {
	api := &rateLimit{perSecond: perSecond, burst: 1}
	return &flow{name: name, site: site, every: every, answer: always(api.answer)}
}

// between answers with a while a bubble has run for a time between from and to, and then as else does.
func between(from, to time.Duration, a answerFunc, otherwise answerFunc) func(int) answerFunc {
	began := time.Now()
	return func(int) answerFunc {
		if at := time.Since(began); at >= from && at < to {
			return a
		}
		return otherwise
	}
}

func inFlight(n int) func(*footfall.Config) {
	return func(c *footfall.Config) { c.MaxInFlight = n }
}

// inTime fails if events of f are not delivered, or late.
func inTime(t *testing.T, m *mixture, f *flow, late time.Duration) {
	t.Helper()
	got := m.read(f)
	assert.GreaterOrEqual(t, got.delivered, got.tracked-got.tracked/50, "%s of %s", f.name, f.site)
	assert.LessOrEqual(t, got.longest, late, "%s of %s", f.name, f.site)
}

// A kind of a site whose rate is bound, at three events a second, must not bind another one.
func TestAKindIsNotPacedBecauseAnotherOneOfItsSiteIs(t *testing.T) {
	for name, row := range map[string]struct {
		answer func() func(int) answerFunc
		late   time.Duration
	}{
		"one event gets 429": {func() func(int) answerFunc { return oneIn(1<<30, answerStatus(429)) }, time.Second},
		"it is away for 2 s": {func() func(int) answerFunc {
			return between(60*time.Second, 62*time.Second, answerRetryAfter(503, "1"), answerStatus(202))
		}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				good := &flow{name: "good", every: 20 * time.Millisecond, begins: 10 * time.Second, answer: row.answer()}
				m := newMixture(t, []*flow{limitedFlow("limited", "", 200*time.Millisecond, 3), good})
				m.run(t, 3*time.Minute)
				inTime(t, m, good, row.late)
				assert.Error(t, closeWithin(m.tracker, time.Second))
			})
		})
	}
}

// Answers at random look like a bound if there was one before.
func TestAnAPIThatRefusesOneOf100AfterALimitIsNotSlowedDown(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		limit, r := &rateLimit{perSecond: 50, burst: 1}, rand.New(rand.NewPCG(1, 1))
		one := func(req *http.Request, body string) (*http.Response, error) {
			status := 202
			limit.mu.Lock()
			if r.IntN(100) == 0 {
				status = 429
			}
			limit.mu.Unlock()
			return answerStatus(status)(req, body)
		}
		seen := &flow{name: "seen", every: 10 * time.Millisecond, answer: between(20*time.Second, 25*time.Second, limit.answer, one)}
		m := newMixture(t, []*flow{seen})
		m.run(t, 5*time.Minute)
		inTime(t, m, seen, 30*time.Second)
		require.NoError(t, closeWithin(m.tracker, 10*time.Second))
	})
}

func TestALowLimitCostsFewRequests(t *testing.T) {
	for perSecond, requests := range map[float64]int{0.5: 5, 1: 3} { // for an event
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const events = 100
				seen := limitedFlow("seen", "", time.Duration(0.4*float64(time.Second)/perSecond), perSecond)
				seen.most = events
				m := newMixture(t, []*flow{seen})
				m.run(t, time.Hour)
				require.NoError(t, m.tracker.Flush(t.Context()))
				assert.Less(t, m.requests(), requests*events)
				assert.Less(t, time.Since(m.began).Seconds(), 1.5*events/perSecond)
				require.NoError(t, closeWithin(m.tracker, time.Second))
			})
		})
	}
}

// A limit holds up no other site, and nothing else holds up a limited kind that gets half of what the API accepts.
func TestTheOnlySenderServesLimitedKindsAndOthers(t *testing.T) {
	low := func() *flow { return limitedFlow("low", "site_1", 200*time.Millisecond, 0.5) }
	half := func() *flow { return limitedFlow("half", "site_1", 100*time.Millisecond, 20) }
	hangs := func() *flow {
		return &flow{name: "hangs", site: "site_3", every: 10 * time.Second, begins: 20 * time.Second, most: 3, answer: always(answerHang)}
	}
	for name, flows := range map[string]func() []*flow{ // the first one must be in time
		"a site beside a low quota": func() []*flow { return []*flow{{name: "good", site: "site_2", every: 100 * time.Millisecond}, low()} },
		"beside three that hang":    func() []*flow { return []*flow{half(), hangs()} },
		"the same, with a third kind": func() []*flow {
			return []*flow{half(), {name: "good", site: "site_2", every: 100 * time.Millisecond}, hangs()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := flows()
				m := newMixture(t, f, inFlight(1), func(c *footfall.Config) { c.MaxQueueEvents = 2000 })
				m.latency = 20 * time.Millisecond
				m.run(t, 3*time.Minute)
				inTime(t, m, f[0], 15*time.Second)
				_ = closeWithin(m.tracker, time.Second)
			})
		})
	}
}

func TestSitesWithQuotasDoNotSlowEachOtherDown(t *testing.T) {
	long(t)
	for _, quotas := range [][]float64{{30}, {50, 50, 50}, {2, 2, 2, 2, 2, 100}, {3, 30}} {
		least := 0.75 // of the last one
		if len(quotas) == 2 {
			least = 0.82
		}
		t.Run(fmt.Sprint(quotas), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var flows []*flow
				for i, q := range quotas {
					flows = append(flows, limitedFlow("seen", fmt.Sprint("site_", i+1), time.Duration(float64(time.Second)/q/1.2), q))
				}
				m := newMixture(t, flows)
				m.run(t, 3*time.Minute)
				last := len(quotas) - 1
				assert.Greater(t, float64(m.read(flows[last]).delivered)/180, least*quotas[last], "events a second")
				assert.Error(t, closeWithin(m.tracker, time.Second))
			})
		})
	}
}

// Events that hang must not have all senders when the turn of an event of a limited kind comes.
func TestCloseDeliversEventsOfALimitedKindBesideEventsThatHang(t *testing.T) {
	long(t)
	for senders, hang := range map[int]int{4: 128, 16: 300} {
		t.Run(fmt.Sprint(senders, " senders"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limited := limitedFlow("limited", "", 33*time.Millisecond, 20)
				m := newMixture(t, []*flow{limited, {name: "hang", site: "site_2", every: 29 * time.Second / time.Duration(hang), most: hang, answer: always(answerHang)}}, inFlight(senders))
				m.run(t, 30*time.Second)
				before := m.read(limited)
				require.Error(t, closeWithin(m.tracker, 30*time.Second))
				assert.Greater(t, m.read(limited).delivered-before.delivered, (before.tracked-before.delivered)*3/4)
			})
		})
	}
}

func TestCloseDeliversEventsOfALimitedKindAfterTheAPIHung(t *testing.T) {
	for _, retryAfter := range []int{0, 1} {
		t.Run(fmt.Sprint("Retry-After ", retryAfter), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := &rateLimit{perSecond: 20, burst: 1, retryAfter: retryAfter}
				f := &flow{name: "seen", every: 35 * time.Millisecond, answer: between(18*time.Second, 30*time.Second, answerHang, api.answer)}
				m := newMixture(t, []*flow{f}, inFlight(1))
				m.run(t, 20*time.Second)
				before := m.read(f)
				_ = closeWithin(m.tracker, 30*time.Second)
				assert.Greater(t, m.read(f).delivered-before.delivered, (before.tracked-before.delivered)*3/4, "it accepts 400 more")
			})
		})
	}
}
