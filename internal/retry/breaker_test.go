package retry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// While others of a kind are accepted, a Retry-After is about its event, and not about the kind.
func TestARetryAfterHoldsAKindThatAcceptsNothing(t *testing.T) {
	t.Parallel()
	for _, ago := range []time.Duration{20 * time.Second, 40 * time.Second} {
		w, k := newWorld(), kind(1, 1)
		assert.True(t, w.try(k, nil))
		w.pass(ago)
		w.fail(5, Failure{RetryAfter: time.Minute}, k)
		assert.Equal(t, kindOpen, w.states(k))
		w.pass(time.Second)
		assert.Equal(t, ago == 20*time.Second, w.try(k, nil), ago)
	}
}

func TestAKindIsPacedIfAnEventWithSuchAnAnswerIsAccepted(t *testing.T) {
	t.Parallel()
	for _, limited := range []bool{false, true} {
		w, k := newWorld(), kind(1, 1)
		asks := Failure{Limits: true, RetryAfter: time.Second}
		w.fail(1, asks, k)
		if limited {
			w.Recovered(k, w.now)
			w.pass(lately + 1)
			assert.False(t, isLimited(w, k), "ten seconds after an event recovered")
			w.Recovered(k, w.now)
		}
		for range 9 {
			assert.True(t, w.try(k, nil))
			w.pass(time.Second)
		}
		assert.Equal(t, limited, isLimited(w, k))
		w.fail(6, Failure{}, k)
		assert.Equal(t, closed, w.states(k), "failures without Retry-After")
		assert.True(t, w.try(k, nil))
		w.fail(mostCounted, asks, k)
		assert.Equal(t, closed, w.states(k), "three failures")
		w.fail(1, asks, k)
		assert.Equal(t, limited, w.states(k) == kindPaced)
		if !limited {
			continue
		}
		w.pass(198 * time.Millisecond) // since the fourth one
		assert.False(t, w.try(k, nil))
		w.pass(time.Millisecond)
		assert.True(t, w.try(k, nil), "a Retry-After is about its event")
	}
}

func isLimited(w *world, k Kind) bool {
	b := w.kinds[w.kindOf(k)]
	return b != nil && b.isLimited(&breaker{}, w.now)
}

func TestAPacedKindIsHeldNoLongerThanTheAPIShowsTheBound(t *testing.T) {
	t.Parallel()
	w, k := pacedWorld(t)
	for range 9 {
		w.pass(time.Second)
		assert.True(t, w.try(k, nil))
		assert.Equal(t, kindPaced, w.states(k))
	}
	w.pass(2 * time.Second)
	assert.True(t, w.try(k, nil))
	assert.Equal(t, closed, w.states(k))
}

func TestAnOutageOpensTheBreakerOfTheAPIBesideAPacedKind(t *testing.T) {
	t.Parallel()
	w, k := pacedWorld(t)
	w.pass(20 * time.Second)
	w.fail(5, Failure{NoAPI: true}, k)
	assert.Equal(t, Open, w.states(k)[0])
	assert.False(t, w.try(k, nil))
}

func TestFailuresOfAnotherReasonOpenAPacedKind(t *testing.T) {
	t.Parallel()
	w, k := pacedWorld(t)
	w.pass(20 * time.Second)
	w.fail(5, Failure{}, k)
	assert.Equal(t, kindOpen, w.states(k))
	w.pass(time.Second)
	assert.True(t, w.try(k, nil))
	assert.Equal(t, closed, w.states(k))
	assert.False(t, w.AnyOpen())
}

// pacedWorld returns a world with a kind that is paced.
func pacedWorld(t *testing.T) (*world, Kind) {
	t.Helper()
	w, k := newWorld(), kind(1, 1)
	w.limit(t, k)
	return w, k
}

// limit lets the API show that it bounds the rate of a kind.
func (w *world) limit(t *testing.T, k Kind) {
	t.Helper()
	limits := Failure{Limits: true}
	w.fail(1, limits, k)
	w.Recovered(k, w.now)
	assert.True(t, w.try(k, nil))
	w.fail(6, limits, k)
	assert.Equal(t, kindPaced, w.states(k))
}

func TestAnotherKindOfAPacedSiteIsPacedForItsOwnAnswersOnly(t *testing.T) {
	t.Parallel()
	w, k := pacedWorld(t)
	other, pace := kind(1, 2), w.sites[w.siteOf(k)].pace
	assert.True(t, w.try(other, nil))
	w.fail(200, Failure{Limits: true}, other) // it may be away
	assert.NotEqual(t, kindPaced, w.states(other))
	w.pass(9 * time.Second)
	w.Recovered(other, w.now)
	assert.True(t, w.try(other, nil))
	w.fail(1, Failure{Limits: true}, other)
	assert.Equal(t, closed, w.states(other))
	w.fail(1, Failure{Limits: true}, other)
	assert.Equal(t, kindPaced, w.states(other), "two answers suffice then")
	assert.Equal(t, pace, w.sites[w.siteOf(k)].pace, "its answers tell nothing of the pace")
}

// The rate is remembered after the pace. If the bound shows again, an accepted event must not end the pace at once: the
// others would be sent together, and all but one of them be refused, each second.
func TestThePaceResumesAtTheRateThatIsRemembered(t *testing.T) {
	t.Parallel()
	w, k := pacedWorld(t)
	site := w.sites[w.siteOf(k)]
	w.pass(20 * time.Second)
	assert.True(t, w.try(k, nil))
	assert.Equal(t, closed, w.states(k), "the pace is over")
	w.limit(t, k)
	assert.InDelta(t, 0.8*paceFirst, site.pace.rate(w.now), 0.1)
	w.Accept(k, Admission{Began: w.now, paced: true}, w.now)
	assert.Equal(t, kindPaced, w.states(k))
}

func TestAKindIsPacedAsLongAsThePace(t *testing.T) {
	t.Parallel()
	w, k := pacedWorld(t)
	w.pass(2 * lately)
	assert.True(t, isLimited(w, k))
	w.fail(1, Failure{Limits: true}, k)
	assert.Equal(t, kindPaced, w.states(k), "although no event with such an answer was accepted lately")
}

// They are about their events if the next one is accepted.
func TestAnswersToEventsThatAreSentAloneMayBeAboutThem(t *testing.T) {
	t.Parallel()
	for alone, paced := range map[bool]bool{true: false, false: true} {
		w, k := pacedWorld(t)
		for range 2 {
			w.pass(paceCalm)
			if !alone {
				assert.True(t, w.try(k, nil))
				w.pass(paceCalm - time.Millisecond)
			}
			assert.True(t, w.try(k, &Failure{Limits: true, First: true}))
			w.try(k, nil)
		}
		w.pass(paceCalm)
		assert.True(t, w.try(k, nil))
		assert.Equal(t, paced, w.states(k) == kindPaced, "alone %t", alone)
		w.fail(6, Failure{Limits: true}, k)
		assert.Equal(t, paced, w.states(k) == kindPaced, "for a minute, alone %t", alone)
	}
}

// An event of another site may have taken what the API accepts, if that is limited, too.
func TestNoEventIsSentAloneBesideAKindThatWasLimitedLately(t *testing.T) {
	t.Parallel()
	for _, lately := range []bool{true, false} {
		w, k := pacedWorld(t)
		other := kind(2, 1)
		w.fail(1, Failure{Limits: true}, other)
		if lately {
			w.Recovered(other, w.now)
		}
		assert.True(t, w.try(other, nil))
		w.pass(paceCalm)
		assert.True(t, w.try(other, nil))
		a, ok := w.Admit(k, Unsent, w.now)
		assert.True(t, ok)
		assert.Equal(t, lately, !a.calm)
	}
}

// They may share a bound, and two events at the same time would get in each other's way.
func TestEventsOfPacedSitesAreSentInTurns(t *testing.T) {
	t.Parallel()
	w := newWorld()
	kinds := []Kind{kind(1, 1), kind(2, 1)}
	for _, k := range kinds {
		w.fail(1, Failure{Limits: true}, k)
		w.Recovered(k, w.now)
		assert.True(t, w.try(k, nil))
		w.fail(6, Failure{Limits: true}, k)
		assert.Equal(t, kindPaced, w.states(k))
	}
	w.pass(200 * time.Millisecond) // both may send five a second now
	last, sent := time.Time{}, 0
	for range 200 {
		for _, k := range kinds {
			if w.try(k, nil) {
				assert.GreaterOrEqual(t, w.now.Sub(last), 50*time.Millisecond)
				last, sent = w.now, sent+1
			}
		}
		w.pass(time.Millisecond)
	}
	assert.GreaterOrEqual(t, sent, 3)
}

// Attempts that were in flight when the API accepted an event show the limit, too.
func TestLateAnswersCountInAKindWhoseRateIsLimited(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	w.fail(1, Failure{Limits: true, RetryAfter: time.Second}, k)
	w.Recovered(k, w.now)
	before := Admission{Began: w.now}
	w.pass(time.Millisecond)
	assert.True(t, w.try(k, nil))
	for range 6 {
		w.Fail(k, before, &Failure{Limits: true, RetryAfter: time.Second, First: true}, w.now)
	}
	assert.Equal(t, kindPaced, w.states(k))
}

func TestAnAcceptedEventOpensNoBreakerOfOtherKinds(t *testing.T) {
	t.Parallel()
	w, few := newWorld(), kind(1, 1)
	assert.True(t, w.try(few, nil))
	w.fail(10, Failure{}, few)
	w.pass(3 * time.Second)
	assert.True(t, w.try(kind(1, 2), nil))
	assert.Equal(t, closed, w.states(few), "no wider breaker has closed")
	w.fail(1, Failure{}, few)
	assert.Equal(t, kindOpen, w.states(few))
}

// The event may have been an exception. Failures of less than two seconds may be no outage.
func TestAnAPIThatHasAcceptedOneEventSinceItWasAwayOpensEarlier(t *testing.T) {
	t.Parallel()
	for away, most := range map[time.Duration]int{time.Second: 8 * 5, 3 * time.Second: 20} {
		for accepted, reopens := range map[int]bool{1: true, 200: false} {
			w := newWorld()
			w.fail(5, Failure{}, kind(1, 1), kind(2, 1))
			w.pass(away)
			for range accepted { // what was learnt decays
				assert.True(t, w.try(kind(3, 1), nil))
			}
			for n := range most {
				w.fail(1, Failure{}, kind(10+n, 1))
			}
			assert.Equal(t, closed[0], w.states(kind(3, 1))[0], away)
			w.fail(1, Failure{}, kind(100, 1))
			assert.Equal(t, reopens, w.states(kind(3, 1))[0] == Open, away)
		}
	}
}

func TestAProbeThatIsAcceptedClosesTheBreakerWhateverTheAPIAskedMeanwhile(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	before, _ := w.Admit(k, Unsent, w.now)
	w.fail(5, Failure{}, k)
	w.pass(time.Second)
	probe, ok := w.Admit(k, Sent, w.now)
	assert.True(t, ok)
	w.Fail(k, before, &Failure{RetryAfter: time.Minute}, w.now)
	assert.False(t, w.try(k, nil))
	w.Accept(k, probe, w.now)
	assert.Equal(t, closed, w.states(k))
}

// The log says it after a probe has failed, once for each class until events are accepted.
func TestTheLogNamesEachReasonOnce(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	logs := func(c Class) bool {
		should, all := w.ShouldLog(k, c, w.now)
		assert.False(t, should && all, "other events are accepted")
		return should
	}
	w.try(kind(2, 1), nil)
	w.fail(101, Failure{}, k)
	assert.Equal(t, kindOpen, w.states(k))
	assert.False(t, logs(Later), "no probe has failed")
	w.pass(time.Second)
	w.try(k, &Failure{})
	w.try(kind(2, 1), nil)
	assert.True(t, logs(Later))
	assert.False(t, logs(Later))
	assert.True(t, logs(NotAPI), "another reason")
	w.pass(time.Minute)
	assert.True(t, w.Accept(k, must(w.Admit(k, Sent, w.now)), w.now).Logged)
}

func must(a Admission, ok bool) Admission {
	if !ok {
		panic("not admitted")
	}
	return a
}

func TestTwoFailedAttemptsAreAnOutageIfNothingIsAccepted(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	for _, want := range []bool{false, true} {
		w.fail(1, Failure{}, k)
		_, _, out := w.Outage(w.now)
		assert.Equal(t, want, out)
		should, all := w.ShouldLog(k, Later, w.now)
		assert.Equal(t, want, should && all)
	}
}

func TestHurryShortensATimeThatTheAPINamed(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	w.fail(5, Failure{RetryAfter: time.Minute}, k)
	w.Hurry(time.Second, w.now)
	w.pass(time.Second)
	assert.True(t, w.try(k, nil))
	assert.Equal(t, closed, w.states(k))
}

func TestOnlyBreakersOfKindsOpenAfterHurry(t *testing.T) {
	t.Parallel()
	w, one, other := newWorld(), kind(1, 1), kind(2, 1)
	w.Hurry(time.Second, w.now)
	w.fail(20, Failure{NoAPI: true}, one, other)
	assert.Equal(t, kindOpen, w.states(one))
	assert.Equal(t, kindOpen, w.states(other))
}

func TestTheFailureThatOpensABreakerSaysSo(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	for n := range 2 * fewFailures {
		a, ok := w.Admit(k, New, w.now)
		assert.True(t, ok)
		c := w.Fail(k, a, &Failure{First: true}, w.now)
		assert.Equal(t, n == fewFailures-1, c.Opened, "failure %d", n)
		w.pass(time.Second)
	}
}
