package retry

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// world is Scopes and a clock. Its waits have no jitter.
type world struct {
	*Scopes
	now time.Time
}

func newWorld() *world {
	certain := func(base, most time.Duration) Backoff { return Backoff{Base: base, Max: most, Low: 1} }
	return &world{
		NewScopes(Waits{Retry: certain(500*time.Millisecond, 15*time.Second), Hold: certain(30*time.Second, 5*time.Minute)}),
		time.Unix(1_000_000, 0),
	}
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

func kind(site, name int) Kind { return Kind{Site: uint64(site) + 1, Name: uint64(name) + 1} }

// try makes an attempt that takes no time, and reports whether it was admitted.
func (w *world) try(k Kind, f *Failure) bool {
	p, ok := w.Admit(k, Unsent, w.now)
	switch {
	case !ok:
	case f == nil:
		w.Accept(k, p, w.now)
	default:
		w.Fail(k, p, f, w.now)
	}
	return ok
}

// fail makes n attempts that fail, a millisecond apart, of kinds in turns.
func (w *world) fail(n int, f Failure, kinds ...Kind) {
	f.First = true
	for i := range n {
		w.try(kinds[i%len(kinds)], &f)
		w.pass(time.Millisecond)
	}
}

// states returns the states of the API, and of the site and the kind of k.
func (w *world) states(k Kind) (s [3]State) {
	s[0] = w.api.state()
	if b := w.sites[w.siteOf(k)]; b != nil {
		s[1] = b.state()
	}
	if b := w.kinds[w.kindOf(k)]; b != nil {
		s[2] = b.state()
	}
	return s
}

var (
	closed    = [3]State{}
	kindPaced = [3]State{Closed, Closed, Paced}
	kindOpen  = [3]State{Closed, Closed, Open}
	siteOpen  = [3]State{Closed, Open, Closed}
	apiOpen   = [3]State{Open, Closed, Closed}
)

func TestAFailureOpensTheWidestBreakerThatItConcerns(t *testing.T) {
	t.Parallel()
	later, noAPI, key := Failure{}, Failure{NoAPI: true}, Failure{Class: KeyRefused, NoAPI: true}
	for name, row := range map[string]struct {
		accepted []Kind        // before
		ago      time.Duration // since then
		fail     Failure
		kinds    []Kind
		n        int // failures that do not open it yet
		want     [3]State
	}{
		"one kind":                            {nil, 0, later, []Kind{kind(1, 1)}, 4, kindOpen},
		"several kinds":                       {nil, 0, later, []Kind{kind(1, 1), kind(1, 2)}, 4, siteOpen},
		"several sites":                       {nil, 0, later, []Kind{kind(1, 1), kind(2, 1)}, 4, apiOpen},
		"no answer":                           {nil, 0, noAPI, []Kind{kind(1, 1)}, 4, apiOpen},
		"a refused key":                       {nil, 0, key, []Kind{kind(1, 1)}, 4, apiOpen},
		"one kind, accepted long ago":         {[]Kind{kind(1, 1)}, time.Minute, later, []Kind{kind(1, 1)}, 4, kindOpen},
		"one kind, accepted seconds ago":      {[]Kind{kind(1, 1)}, 5 * time.Second, later, []Kind{kind(1, 1)}, 4, kindOpen},
		"one kind, accepted lately":           {[]Kind{kind(1, 1)}, 0, later, []Kind{kind(1, 1)}, 100, kindOpen},
		"several kinds, another accepted":     {[]Kind{kind(1, 3)}, 0, later, []Kind{kind(1, 1), kind(1, 2)}, 100, siteOpen},
		"no answer, accepted lately":          {[]Kind{kind(1, 1)}, 0, noAPI, []Kind{kind(1, 1)}, 100, kindOpen},
		"a refused key, accepted lately":      {[]Kind{kind(1, 1)}, 0, key, []Kind{kind(1, 1)}, 4, kindOpen},
		"a key of several kinds, accepted":    {[]Kind{kind(1, 3)}, 0, key, []Kind{kind(1, 1), kind(1, 2), kind(1, 3), kind(1, 4), kind(1, 5), kind(1, 6)}, 9, siteOpen},
		"one kind that takes seconds to fail": {nil, 0, Failure{Took: 4 * time.Second}, []Kind{kind(1, 1)}, 0, kindOpen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			for _, k := range row.accepted {
				assert.True(t, w.try(k, nil))
			}
			w.pass(row.ago)
			w.fail(row.n, row.fail, row.kinds...)
			assert.Equal(t, closed, w.states(row.kinds[0]), "one failure before")
			w.fail(1, row.fail, row.kinds[row.n%len(row.kinds)])
			assert.Equal(t, row.want, w.states(row.kinds[row.n%len(row.kinds)]))
			assert.True(t, w.try(kind(9, 9), nil), "an event of another site has not failed")
		})
	}
}

func TestAKindStaysClosedWhileItAcceptsOneEventASecond(t *testing.T) {
	t.Parallel()
	for _, failing := range []int{1, 10, 99} {
		w, k := newWorld(), kind(1, 1)
		for range 600 {
			assert.True(t, w.try(k, nil), "%d fail between two", failing)
			w.fail(failing, Failure{RetryAfter: 5 * time.Minute}, k)
			w.pass(time.Second - time.Duration(failing)*time.Millisecond)
		}
		w.pass(12 * time.Second)
		w.fail(1, Failure{}, k)
		assert.Equal(t, failing >= 5, w.states(k) == kindOpen, "nothing is accepted for long after %d failures", failing)
	}
}

// Many events of several kinds may fail between two that are accepted. The breaker that they open holds
// the other kinds only if nothing is accepted for a while.
func TestABreakerThatOpensBesideAcceptedEventsHoldsKindsThatFail(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]Kind{
		"several kinds": {kind(1, 1), kind(1, 2)},
		"several sites": {kind(1, 1), kind(2, 1)},
	} {
		for _, healthy := range []Kind{kind(1, 3), kinds[1]} {
			t.Run(fmt.Sprint(name, healthy), func(t *testing.T) {
				t.Parallel()
				w := newWorld()
				healthyFails := healthy == kinds[1]
				assert.True(t, w.try(healthy, nil))
				w.fail(101, Failure{}, kinds...)
				assert.False(t, w.try(kinds[0], nil), "it has failed")
				assert.Equal(t, !healthyFails, w.try(healthy, nil), "it holds kinds that have failed since")
				if healthyFails {
					return
				}
				assert.True(t, w.try(kinds[0], nil), "an accepted event closes it")
				w.fail(101, Failure{}, kinds...)
				w.pass(2 * time.Second)
				w.fail(1, Failure{}, kinds[0]) // the probe
				_, _, out := w.Outage(w.now)
				assert.True(t, out)
				first, ok := w.Admit(healthy, Unsent, w.now)
				assert.True(t, ok, "it has not failed")
				assert.False(t, w.try(healthy, nil), "one event shows whether it fails, too")
				w.Cancel(healthy, first)
				assert.True(t, w.try(healthy, &Failure{First: true}), "the first one was not sent")
				assert.False(t, w.try(healthy, nil), "it fails, too")
			})
		}
	}
}

func TestAPartialBreakerStaysPartialWhileOthersAreAccepted(t *testing.T) {
	t.Parallel()
	w, healthy := newWorld(), kind(1, 3)
	assert.True(t, w.try(healthy, nil))
	w.fail(101, Failure{RetryAfter: time.Minute}, kind(1, 1), kind(1, 2))
	for range 120 {
		w.pass(time.Second)
		w.try(kind(1, 1), &Failure{RetryAfter: time.Minute})
		assert.True(t, w.try(healthy, nil))
	}
}

func TestTheLongestRowThatEndedIsLearnt(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	assert.True(t, w.try(k, nil))
	w.fail(60, Failure{}, k)
	assert.True(t, w.try(k, nil))
	w.fail(8*60, Failure{}, k)
	assert.Equal(t, closed, w.states(k))
	w.fail(1, Failure{}, k)
	assert.Equal(t, kindOpen, w.states(k))
}

func TestStatesOfABreaker(t *testing.T) {
	t.Parallel()
	grows := []time.Duration{500, 500, 500, 500, 500, 1000, 2000, 4000, 8000, 15_000, 15_000}
	for name, row := range map[string]struct {
		class  Class
		others bool // are accepted
		waits  []time.Duration
	}{
		"retry later":                          {Later, false, grows},
		"a refused key":                        {KeyRefused, false, []time.Duration{500, 500, 500, 500, 500, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000}},
		"a refused key, others are accepted":   {KeyRefused, true, grows},
		"not the API, others are accepted":     {NotAPI, true, grows},
		"retry later, and others are accepted": {Later, true, grows},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(), kind(1, 1)
			w.fail(5, Failure{Class: row.class}, k)
			opened := w.now
			for n, wait := range row.waits {
				wait *= time.Millisecond
				w.now = opened.Add(wait - 2*time.Millisecond)
				_, ok := w.Admit(k, Sent, w.now)
				assert.False(t, ok, "probe %d is not due", n)
				w.now = opened.Add(wait)
				if row.others {
					assert.True(t, w.try(kind(2, 1), nil))
				}
				p, ok := w.Admit(k, Sent, w.now)
				assert.True(t, ok, "probe %d", n)
				assert.Equal(t, [3]State{Closed, Closed, HalfOpen}, w.states(k))
				_, ok = w.Admit(k, Sent, w.now.Add(time.Hour))
				assert.False(t, ok, "one probe at a time")
				w.Fail(k, p, &Failure{Class: row.class}, w.now)
				assert.Equal(t, kindOpen, w.states(k))
				opened = w.now
			}
			w.pass(5 * time.Minute)
			assert.True(t, w.try(k, nil))
			assert.Equal(t, closed, w.states(k))
		})
	}
}

func TestOnlyAProbeEndsATimeThatTheAPINamed(t *testing.T) {
	t.Parallel()
	for _, asked := range []time.Duration{0, time.Minute} {
		w, k := newWorld(), kind(1, 1)
		before, _ := w.Admit(k, Unsent, w.now)
		w.fail(5, Failure{RetryAfter: asked}, k)
		w.Accept(k, before, w.now)
		assert.Equal(t, asked == 0, w.states(k) == closed, "an event that was sent before is accepted")
		if asked == 0 {
			continue
		}
		w.pass(59 * time.Second)
		assert.False(t, w.try(k, nil), "not even a new event is sent")
		w.pass(time.Second)
		assert.True(t, w.try(k, nil))
		assert.Equal(t, closed, w.states(k))
	}
}

func TestAKindThatStillFailsIsProbedWhenTheAPIAcceptsEventsAgain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		good Kind
		open [3]State
	}{
		"the API accepts events":  {kind(2, 1), apiOpen},
		"the site accepts events": {kind(1, 2), siteOpen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, bad := newWorld(), kind(1, 1)
			w.fail(4, Failure{}, bad)
			w.fail(1, Failure{}, row.good)
			assert.Equal(t, row.open, w.states(bad))
			w.pass(time.Second)
			w.try(bad, &Failure{First: true})
			w.pass(time.Second)
			assert.True(t, w.try(row.good, nil))
			assert.Equal(t, kindOpen, w.states(bad))
			assert.Equal(t, closed, w.states(row.good))
			assert.True(t, w.try(bad, &Failure{First: true}), "a probe is due at once")
			assert.False(t, w.try(bad, nil))
		})
	}
}

func TestAProbeOfABreakerThatHasClosedSinceIsNoProbe(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	before, _ := w.Admit(k, Unsent, w.now)
	w.fail(5, Failure{}, k)
	w.pass(time.Second)
	probe, ok := w.Admit(k, Sent, w.now)
	assert.True(t, ok)
	w.Accept(k, before, w.now)
	w.pass(time.Minute)
	w.fail(5, Failure{}, k)
	assert.Equal(t, kindOpen, w.states(k))
	w.Cancel(k, probe)
	assert.Equal(t, kindOpen, w.states(k), "no probe is in flight")
}

func TestAnAttemptThatBeganBeforeAnAcceptanceDoesNotCount(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	w.fail(1, Failure{}, k) // the kind has a breaker
	before, _ := w.Admit(k, Unsent, w.now)
	w.pass(time.Second)
	assert.True(t, w.try(k, nil))
	for range 200 {
		w.Fail(k, before, &Failure{First: true}, w.now)
	}
	assert.Equal(t, closed, w.states(k))
}

func TestRetriesDoNotCountWhileAKindAcceptsEvents(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	assert.True(t, w.try(k, nil))
	for range 200 {
		w.try(k, &Failure{})
		w.pass(time.Millisecond)
	}
	assert.Equal(t, closed, w.states(k))
}

func TestAnAPIThatAcceptsAnEventShortensTheWaitsOfOthers(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	key := Failure{Class: KeyRefused, First: true}
	w.fail(5, key, k)
	for range 10 {
		w.pass(5 * time.Minute)
		assert.True(t, w.try(k, &key))
	}
	assert.True(t, w.Accept(kind(2, 1), Admission{Began: w.now}, w.now).Opened, "held events are told")
	w.pass(14 * time.Second)
	assert.False(t, w.try(k, nil))
	w.pass(time.Second)
	assert.True(t, w.try(k, nil))
}

func TestBreakersAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for n := range 100_000 {
		if n%3 == 0 {
			w.try(kind(n, 0), nil)
		} else {
			w.try(kind(n%1000, n), &Failure{First: true})
		}
		w.pass(time.Millisecond)
	}
	assert.LessOrEqual(t, len(w.kinds), 2*maxKinds+sharedKinds)
	assert.LessOrEqual(t, len(w.sites), maxSites+sharedSites)
}

func TestAnOpenBreakerIsKeptWhenOthersAreEvicted(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	w.fail(5, Failure{}, k)
	for n := range 5000 {
		w.try(kind(2, 1), nil)
		w.try(kind(n+10, 1), &Failure{First: true})
	}
	assert.Equal(t, kindOpen, w.states(k))
}

func TestNothingIsKeptOnceAllIsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for n := range 20 {
		w.fail(n, Failure{}, kind(n, 1), kind(n, 2))
	}
	w.pass(time.Hour)
	for range 1000 {
		for n := range 20 {
			w.try(kind(n, 1), nil)
			w.try(kind(n, 2), nil)
		}
		w.pass(time.Second)
	}
	assert.True(t, w.NothingFailed(), fmt.Sprint(len(w.kinds), " kinds ", w.api))
	assert.Empty(t, w.sites)
	assert.False(t, w.AnyOpen())
}

func TestAnEventThatKeepsFailingMakesOthersOfItsKindWait(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		events, again int // first and further attempts that fail after one is accepted
		want          bool
	}{
		"few events":                        {events: 5},
		"many events":                       {events: 6, want: true},
		"few attempts of one event":         {events: 1, again: 4},
		"many attempts of one event":        {events: 1, again: 5, want: true},
		"many attempts of several together": {events: 3, again: 3, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.fail(1, Failure{}, kind(1, 1)) // the kind has a breaker
			w.try(kind(1, 1), nil)
			w.pass(time.Millisecond)
			w.fail(row.events, Failure{}, kind(1, 1))
			for range row.again {
				w.try(kind(1, 1), &Failure{})
				w.pass(time.Millisecond)
			}
			_, doubts := w.Doubts(kind(1, 1))
			assert.Equal(t, row.want, doubts)
			w.try(kind(1, 1), nil)
			_, doubts = w.Doubts(kind(1, 1))
			assert.False(t, doubts, "an event is accepted")
			w.pass(time.Minute)
			w.fail(10, Failure{}, kind(1, 1))
			assert.Equal(t, kindOpen, w.states(kind(1, 1)))
			_, doubts = w.Doubts(kind(1, 1))
			assert.False(t, doubts, "the breaker decides when one is sent")
		})
	}
}

func TestAnOutageIsThatTheAPIAcceptsNothing(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fail       Failure
		n          int
		kinds      []Kind
		now, later bool // two seconds later
	}{
		"few refused keys":                 {Failure{Class: KeyRefused}, 5, []Kind{kind(1, 1)}, false, true},
		"many events of a kind":            {Failure{}, 101, []Kind{kind(1, 1)}, false, true},
		"many events of two sites":         {Failure{}, 101, []Kind{kind(1, 1), kind(2, 1)}, true, true},
		"many events before it has opened": {Failure{}, 100, []Kind{kind(1, 1), kind(2, 1)}, false, true},
		"one event":                        {Failure{}, 1, []Kind{kind(1, 1)}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			assert.True(t, w.try(kind(1, 2), nil))
			began := w.now
			w.fail(row.n, row.fail, row.kinds...)
			_, _, out := w.Outage(w.now)
			assert.Equal(t, row.now, out)
			w.pass(3 * time.Second)
			since, err, out := w.Outage(w.now)
			assert.Equal(t, row.later, out)
			assert.Equal(t, began, since)
			assert.Equal(t, row.fail.Err, err)
		})
	}
}

// A kind that fails slowly opens beside one that is accepted.
func TestAKindThatFailsBesideOthersIsNoOutage(t *testing.T) {
	t.Parallel()
	w, bad := newWorld(), kind(1, 1)
	for range 100 {
		slow, ok := w.Admit(bad, Unsent, w.now)
		w.pass(time.Second)
		assert.True(t, w.try(kind(1, 2), nil))
		if ok {
			w.Fail(bad, slow, &Failure{First: true, Took: time.Second}, w.now)
		}
		_, _, out := w.Outage(w.now)
		assert.False(t, out)
	}
}

func TestTheRowOfAnOutageIsNotLearnt(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	before, _ := w.Admit(k, Unsent, w.now)
	w.fail(5, Failure{}, k)
	for range 60 { // were in flight
		w.Fail(k, before, &Failure{First: true}, w.now)
	}
	w.pass(3 * time.Second)
	probe, _ := w.Admit(k, Sent, w.now)
	w.Accept(k, probe, w.now)
	w.pass(5 * time.Second)
	w.fail(5, Failure{}, kind(1, 1), kind(2, 1))
	assert.Equal(t, apiOpen, w.states(k))
}

func TestHurryShortensTheWaitsOfARefusedKey(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	key := Failure{Class: KeyRefused}
	w.fail(5, key, k)
	for range 10 {
		w.pass(5 * time.Minute)
		assert.True(t, w.try(k, &key))
	}
	w.Hurry(2*time.Second, w.now)
	for range 3 {
		w.pass(2 * time.Second)
		p, ok := w.Admit(k, Sent, w.now)
		assert.True(t, ok)
		w.Fail(k, p, &key, w.now)
	}
}
