package footfall_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

type answerFunc = func(*http.Request, string) (*http.Response, error)

// flow is a sequence of events of one kind, tracked at regular times.
type flow struct {
	name, site string
	every      time.Duration
	begins     time.Duration
	most       int                    // events; 0 for no limit
	ids        bool                   // the application names the events
	answer     func(n int) answerFunc // for the nth event; nil accepts it

	tracked, delivered, refused, requests int
	longest                               time.Duration // from Track to the acceptance
}

// mixture runs flows at the same time, in a bubble, and records how long their events take.
type mixture struct {
	*fakeNet
	tracker *footfall.Tracker
	began   time.Time

	mu    sync.Mutex
	flows []*flow
	due   map[[2]int]time.Time // by flow and number: when it was tracked
}

func newMixture(t *testing.T, flows []*flow, change ...func(*footfall.Config)) *mixture {
	t.Helper()
	m := &mixture{fakeNet: newFakeNet(), flows: flows, due: make(map[[2]int]time.Time), began: time.Now()}
	m.latency = 5 * time.Millisecond
	m.set(m.reply)
	m.tracker = start(t, m, change...)
	return m
}

// reply answers as the event's flow says.
func (m *mixture) reply(r *http.Request, body string) (*http.Response, error) {
	var sent struct {
		Props struct {
			Flow, N int
		}
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		return nil, err
	}
	f, n := m.flows[sent.Props.Flow], sent.Props.N
	m.mu.Lock()
	f.requests++
	m.mu.Unlock()
	answer := answerStatus(202)
	if f.answer != nil {
		answer = f.answer(n)
	}
	resp, err := answer(r, body)
	if err == nil && resp.StatusCode == 202 {
		m.mu.Lock()
		defer m.mu.Unlock()
		f.delivered++
		f.longest = max(f.longest, time.Since(m.due[[2]int{sent.Props.Flow, n}]))
	}
	return resp, err
}

// run tracks the events of all flows for d.
func (m *mixture) run(t *testing.T, d time.Duration) {
	t.Helper()
	var callers sync.WaitGroup
	for i, f := range m.flows {
		callers.Go(func() {
			time.Sleep(f.begins)
			for n := 0; time.Since(m.began) < d && (f.most == 0 || n < f.most); n++ {
				m.track(t, i, n)
				if f.every > 0 {
					time.Sleep(f.every)
				}
			}
		})
	}
	callers.Wait()
}

func (m *mixture) track(t *testing.T, i, n int) {
	f := m.flows[i]
	m.mu.Lock()
	m.due[[2]int{i, n}] = time.Now()
	m.mu.Unlock()
	id := ""
	if f.ids {
		id = fmt.Sprint(f.name, n)
	}
	err := m.tracker.TrackEvent(t.Context(), footfall.Event{
		ID: id, SiteID: f.site, Name: f.name,
		Props: []footfall.Prop{footfall.P("flow", i), footfall.P("n", n)},
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case errors.Is(err, footfall.ErrQueueFull):
		f.refused++
	case err != nil:
		t.Error(err)
	default:
		f.tracked++
	}
}

// read returns what is recorded of a flow.
func (m *mixture) read(f *flow) flow {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *f
}

// always answers every event the same.
func always(answer answerFunc) func(int) answerFunc {
	return func(int) answerFunc { return answer }
}

// oneIn answers every nth event with answer and accepts the others.
func oneIn(n int, answer answerFunc) func(int) answerFunc {
	return func(i int) answerFunc {
		if i%n == 0 {
			return answer
		}
		return answerStatus(202)
	}
}

// atRandom answers a share of all attempts with 503. Which ones depends on the event and the number
// of its attempt only, and not on the order of requests, so the longest row of an event is the same
// in each run.
func atRandom(share float64) func(int) answerFunc {
	var mu sync.Mutex
	attempts := make(map[int]uint64)
	return func(n int) answerFunc {
		mu.Lock()
		defer mu.Unlock()
		attempts[n]++
		if rand.New(rand.NewPCG(uint64(n), attempts[n])).Float64() < share {
			return answerStatus(503)
		}
		return answerStatus(202)
	}
}

// aTurn is how long an event may take if nothing holds it up: the flush interval, an attempt, and
// its turn among the events that are due at that moment.
const aTurn = 100 * time.Millisecond

func TestRetryAfterOfOneEventInManyHoldsThatEventOnly(t *testing.T) {
	long(t)
	for _, status := range []int{503, 429} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				good := &flow{name: "seen", every: 100 * time.Millisecond, answer: oneIn(600, answerRetryAfter(status, "300"))}
				m := newMixture(t, []*flow{good})
				m.run(t, time.Hour)
				time.Sleep(time.Second)
				got := m.read(good)
				assert.Zero(t, got.refused)
				assert.Equal(t, got.tracked-got.tracked/600, got.delivered)
				assert.Less(t, got.longest, aTurn)
				assert.Error(t, closeWithin(m.tracker, time.Second))
			})
		})
	}
}

func TestASiteOverItsQuotaHoldsThatSiteOnly(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		good := &flow{name: "seen", every: 53 * time.Millisecond}
		over := &flow{name: "seen", site: "site_2", every: time.Second, answer: always(answerRetryAfter(429, "60"))}
		m := newMixture(t, []*flow{good, over})
		m.run(t, time.Hour)
		time.Sleep(time.Second)
		got := m.read(good)
		assert.Equal(t, got.tracked, got.delivered)
		assert.Less(t, got.longest, aTurn)
		assert.Less(t, m.read(over).requests, 200, "a probe a minute, and few events before it was known")
		assert.Error(t, closeWithin(m.tracker, time.Second))
	})
}

// Ten good events follow many that fail, and then silence.
func TestEventsBehindManyThatFailAreDelivered(t *testing.T) {
	long(t)
	for _, row := range []struct {
		bad  int
		most time.Duration
	}{{200, 30 * time.Second}, {10_000, 2 * time.Minute}} {
		for _, kinds := range [][2]string{{"seen", "seen"}, {"bad", "seen"}} {
			for name, bad := range badAnswers() {
				t.Run(fmt.Sprint(row.bad, " ", kinds, " ", name), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						fails := &flow{name: kinds[0], most: row.bad, answer: always(bad)}
						good := &flow{name: kinds[1], most: 10, begins: 100 * time.Millisecond}
						m := newMixture(t, []*flow{fails, good})
						m.run(t, time.Minute)
						for m.read(good).delivered < 10 && time.Since(m.began) < 10*time.Minute {
							time.Sleep(time.Second)
						}
						got := m.read(good)
						assert.Equal(t, 10, got.delivered)
						most := row.most
						if name == "a hang" {
							most += time.Duration(row.bad/64+4) * 5 * time.Second
						}
						assert.LessOrEqual(t, got.longest, most)
						assert.Error(t, closeWithin(m.tracker, time.Millisecond))
					})
				})
			}
		}
	}
}

// One good event a second beside many that fail, of the same kind or of others.
func TestOneGoodEventASecondIsDeliveredAtAnyMixture(t *testing.T) {
	long(t)
	for _, row := range []struct {
		each  time.Duration // between two events that fail
		kinds int           // of events that fail; 0 for the kind of the good ones
	}{{100 * time.Millisecond, 0}, {100 * time.Millisecond, 1}, {100 * time.Millisecond, 5}, {11 * time.Millisecond, 0}, {11 * time.Millisecond, 1}, {3 * time.Millisecond, 1}} {
		for name, bad := range badAnswers() {
			if name == "a hang" || name == "401" && row.kinds == 0 {
				continue // see TestEventsThatHang; a few 401 mean that the key is refused
			}
			t.Run(fmt.Sprint(name, " every ", row.each, " of ", row.kinds, " kinds"), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					good := &flow{name: "seen", every: time.Second}
					flows := []*flow{good}
					if row.kinds == 0 {
						flows = append(flows, &flow{name: "seen", every: row.each, begins: time.Second, answer: always(bad)})
					}
					for k := range row.kinds {
						flows = append(flows, &flow{name: fmt.Sprint("bad_", k), every: row.each * time.Duration(row.kinds), begins: time.Second, answer: always(bad)})
					}
					m := newMixture(t, flows)
					m.run(t, 20*time.Second+time.Duration(row.each/time.Millisecond)*300*time.Millisecond)
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
}

// There are breakers for 256 kinds. Others share some.
func TestMoreKindsThanBreakersHoldNoOther(t *testing.T) {
	long(t)
	for _, kinds := range []int{300, 400} {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				good := &flow{name: "seen", every: time.Second}
				flows := []*flow{good}
				each := time.Duration(kinds) * 12500 * time.Microsecond
				for k := range kinds {
					flows = append(flows, &flow{name: fmt.Sprint("bad_", k), every: each, begins: 5*time.Second + each*time.Duration(k)/time.Duration(kinds), answer: always(answerStatus(503))})
				}
				m := newMixture(t, flows)
				m.run(t, time.Minute)
				time.Sleep(time.Second)
				got := m.read(good)
				assert.Equal(t, got.tracked, got.delivered)
				assert.Less(t, got.longest, aTurn)
				assert.Error(t, closeWithin(m.tracker, time.Millisecond))
			})
		})
	}
}

// Once it is known that they hang, few senders suffice for the others.
func TestKindsThatHangLeaveFewSendersToOthers(t *testing.T) {
	for inFlight, most := range map[int]time.Duration{1: 5*time.Second + aTurn, 2: time.Second + aTurn, 4: aTurn} {
		for _, kinds := range []int{1, 3, 8} {
			t.Run(fmt.Sprint(kinds, " kinds, MaxInFlight ", inFlight), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					good := &flow{name: "seen", every: 200 * time.Millisecond, begins: time.Minute}
					flows := []*flow{{name: "seen", every: 200 * time.Millisecond, most: 250}, good}
					for k := range kinds {
						flows = append(flows, &flow{name: fmt.Sprint("hang_", k), every: time.Second, answer: always(answerHang)})
					}
					m := newMixture(t, flows, func(c *footfall.Config) { c.MaxInFlight = inFlight })
					m.run(t, 6*time.Minute)
					time.Sleep(6 * time.Second)
					got := m.read(good)
					assert.Equal(t, got.tracked, got.delivered)
					assert.LessOrEqual(t, got.longest, most)
					assert.Error(t, closeWithin(m.tracker, time.Millisecond))
				})
			})
		}
	}
}

// Events of a name that is not accepted leave room in the queue for the others.
func TestEventsThatAreNotAcceptedDoNotFillTheQueue(t *testing.T) {
	for name, change := range map[string]func(*footfall.Config){
		"events": func(c *footfall.Config) { c.MaxQueueEvents = 2000 },
		"bytes":  func(c *footfall.Config) { c.MaxQueueBytes = 200_000 },
	} {
		for _, site := range []string{"", "site_2"} {
			t.Run(fmt.Sprint(name, " ", site), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					good := &flow{name: "seen", every: 50 * time.Millisecond}
					bad := &flow{name: "bad", ids: true, site: site, every: 2 * time.Millisecond, begins: time.Second, answer: always(answerStatus(503))}
					other := &flow{name: "worse", ids: true, site: site, every: 2 * time.Millisecond, begins: time.Second, answer: always(answerStatus(503))}
					m := newMixture(t, []*flow{good, bad, other}, change)
					m.run(t, time.Minute)
					time.Sleep(time.Second)
					got := m.read(good)
					assert.Zero(t, got.refused)
					assert.Equal(t, got.tracked, got.delivered)
					assert.Less(t, got.longest, aTurn)
					assert.Positive(t, m.read(bad).refused)
					assert.Error(t, closeWithin(m.tracker, time.Millisecond))
				})
			})
		}
	}
}

// If the API accepts nothing, no room is kept.
func TestAnOutageMayFillTheQueue(t *testing.T) {
	for _, kinds := range []int{1, 5} {
		for name, answer := range badAnswers() {
			for _, healthy := range []time.Duration{0, 30 * time.Second} {
				t.Run(fmt.Sprint(kinds, " kinds, ", name, ", accepted for ", healthy), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						began := time.Now()
						var flows []*flow
						for k := range kinds {
							flows = append(flows, &flow{name: fmt.Sprint("kind_", k), every: 20 * time.Millisecond * time.Duration(kinds), answer: func(int) answerFunc {
								if time.Since(began) < healthy {
									return answerStatus(202)
								}
								return answer
							}})
						}
						m := newMixture(t, flows, func(c *footfall.Config) { c.MaxQueueEvents = 2000 })
						m.run(t, 2*time.Minute)
						assert.Equal(t, uint64(2000), m.tracker.Stats().Queued)
						assert.Error(t, closeWithin(m.tracker, time.Millisecond))
					})
				})
			}
		}
	}
}

// An API that fails at random has no events that keep failing.
func TestAnAPIThatFailsAtRandomDelaysEventsLittle(t *testing.T) {
	long(t)
	for _, share := range []float64{0.2, 0.3} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				good := &flow{name: "seen", every: 5 * time.Millisecond, answer: atRandom(share)}
				m := newMixture(t, []*flow{good})
				m.run(t, 3*time.Minute)
				time.Sleep(time.Minute)
				got := m.read(good)
				assert.Equal(t, got.tracked, got.delivered)
				assert.Less(t, got.longest, 15*time.Second)
				require.NoError(t, closeWithin(m.tracker, time.Second))
			})
		})
	}
}

// A process starts, or the API comes back, while events of other kinds and sites go on failing. They must
// not be all of the probes.
func TestAGoodKindIsFoundAmongOthersThatGoOnFailing(t *testing.T) {
	answers := badAnswers()
	answers["429 with Retry-After"] = answerRetryAfter(429, "60")
	for _, outage := range []time.Duration{0, time.Minute} {
		for name, bad := range answers {
			for _, row := range []struct{ kinds, sites, perSecond int }{{1, 1, 9}, {20, 1, 49}, {20, 20, 49}} {
				t.Run(fmt.Sprint(name, " for ", row, " after an outage of ", outage), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						began := time.Now()
						good := &flow{name: "seen", every: time.Second, begins: 3 * time.Second, answer: func(int) answerFunc {
							if time.Since(began) < outage {
								return answerStatus(503)
							}
							return answerStatus(202)
						}}
						flows := []*flow{good}
						for k := range row.kinds {
							flows = append(flows, &flow{name: fmt.Sprint("bad_", k), site: fmt.Sprint("site_", 2+k%row.sites), every: time.Second * time.Duration(row.kinds) / time.Duration(row.perSecond), answer: always(bad)})
						}
						m := newMixture(t, flows)
						m.run(t, outage+10*time.Second)
						for m.read(good).delivered == 0 && time.Since(began) < outage+5*time.Minute {
							time.Sleep(time.Second)
						}
						limit := outage + 11*time.Second
						if outage > 0 { // of the kinds that are probed in turns, none was accepted before
							limit += 2*time.Minute + time.Duration(row.kinds)*15*time.Second
						}
						assert.LessOrEqual(t, time.Since(began), limit)
						assert.Error(t, closeWithin(m.tracker, time.Millisecond))
					})
				})
			}
		}
	}
}

// Half of the events of each kind always ask to wait for a minute. The others are accepted.
func TestARetryAfterOfHalfOfAKindHoldsThatHalfOnly(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		var flows []*flow
		for k := range 5 {
			r := rand.New(rand.NewPCG(uint64(k), 1))
			bad := make([]bool, 2000)
			for n := range bad {
				bad[n] = r.IntN(2) == 0
			}
			flows = append(flows, &flow{name: fmt.Sprint("kind_", k), every: 500 * time.Millisecond, answer: func(n int) answerFunc {
				if bad[n] {
					return answerRetryAfter(429, "60")
				}
				return answerStatus(202)
			}})
		}
		m := newMixture(t, flows)
		m.run(t, 15*time.Minute)
		time.Sleep(time.Minute)
		for _, f := range flows {
			assert.Less(t, m.read(f).longest, 30*time.Second, f.name)
		}
		assert.Error(t, closeWithin(m.tracker, time.Millisecond))
	})
}
