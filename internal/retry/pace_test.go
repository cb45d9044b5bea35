package retry

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var zero = time.Unix(1_000_000, 0)

func after(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

// found is a pace that has found a rate of 100 events a second.
func found() pace {
	return pace{top: 100, cut: zero, from: zero, next: zero, accepted: zero, rise: paceRise}
}

func TestTheRateIsSoughtAfterTheFirstAnswersThatShowTheBound(t *testing.T) {
	t.Parallel()
	p := pace{}.limited(zero, zero, false)
	begins := 0.2 // the first event at 5 a second
	for seconds, rate := range map[float64]float64{0: 5, 0.5: 10, 1: 20, 3: 320} {
		assert.InDelta(t, rate, p.rate(after(begins+seconds)), 0.001, "it doubles twice a second")
	}
	p = p.accepts(after(0.5), after(0.5)).limited(after(1.2), after(1.2), false)
	begins = 1.25
	for seconds, rate := range map[float64]float64{0: 20, 1: 40, 4: 320} {
		assert.InDelta(t, rate, p.rate(after(begins+seconds)), 0.001, "it doubles once a second")
	}
	p = p.accepts(after(2), after(2)).limited(after(5.25), after(5.25), false)
	assert.InDelta(t, 320*0.8, p.rate(after(5.25)), 0.001)
	assert.Zero(t, p.seek)
}

func TestTheRateFallsAfterAnAnswerThatShowsTheBoundAndRisesAgain(t *testing.T) {
	t.Parallel()
	for seconds, rate := range map[float64]float64{-1: 80, 0: 80, 2.5: 97.5, 5: 100, 6: 200, 8: 800} {
		assert.InDelta(t, rate, found().rate(after(seconds)), 0.001)
	}
	assert.False(t, found().isOver(after(10)))
	assert.True(t, found().isOver(after(10.001)))
	assert.True(t, found().isKnown(after(60)))
	assert.False(t, found().isKnown(after(60.001)))
}

// falls returns p after an accepted event and as many answers that show the bound as make the rate fall.
func falls(p pace, now time.Time) pace {
	p = p.accepts(now, now.Add(-time.Millisecond))
	for range paceLevel + 1 {
		p = p.limited(now, now, false)
	}
	return p
}

func TestSingleAnswersThatShowTheBoundDoNotMakeTheRateFall(t *testing.T) {
	t.Parallel()
	for every, fall := range map[int]bool{12: false, 6: true} { // one of so many events
		p, now := found(), zero
		for n := range 1000 {
			now = now.Add(time.Millisecond)
			if n%every == 0 {
				p = p.limited(now, now, false)
			} else {
				p = p.accepts(now, now)
			}
		}
		assert.Equal(t, fall, p.cut.After(zero), "one of %d", every)
	}
}

func TestARateThatStaysTheSameIsTriedLessOften(t *testing.T) {
	t.Parallel()
	p := found()
	for _, rise := range []float64{10, 20, 20} {
		now := p.from.Add(p.rise)
		p = falls(p, now)
		assert.InDelta(t, 100, p.top, 0.001)
		assert.InDelta(t, rise, p.rise.Seconds(), 0)
	}
	few := found()
	few.top = 4
	few = falls(few, after(5))
	assert.Equal(t, paceRise, few.rise, "in a slow rise there would be few events")
	now := p.from.Add(p.rise / 2) // the API takes fewer events now
	p = falls(p, now)
	assert.InDelta(t, 97.5, p.top, 0.001)
	now = p.from.Add(time.Second)
	p = falls(p, now)
	assert.Less(t, p.top, 90.0)
	assert.Equal(t, paceRise, p.rise)
	now = p.from.Add(paceRise + time.Second)
	p = falls(p, now)
	assert.Greater(t, p.top, 150.0)
	assert.Equal(t, paceRise, p.rise, "it takes more")
}

func TestOneAnswerOfThoseInFlightShowsTheBound(t *testing.T) {
	t.Parallel()
	p := falls(found(), after(0.4))
	assert.Equal(t, p, p.limited(after(0.35), after(0.5), false), "it began before the rate fell")
	assert.NotEqual(t, p, p.limited(after(0.45), after(0.5), false))
}

// refusedAlone returns p after an event was refused although no other was sent, and the next one was sent after a
// time and accepted, or refused.
func refusedAlone(t *testing.T, p pace, seconds float64, next time.Duration, accepted bool) pace {
	t.Helper()
	at := after(seconds)
	p = p.limited(at, at, true)
	assert.False(t, p.next.After(at), "the next one is sent at once")
	if began := at.Add(next); accepted {
		return p.accepts(began, began)
	} else {
		return p.limited(began, began, false)
	}
}

func TestEventsThatAreRefusedAloneBesideOthersThatAreAcceptedEndThePace(t *testing.T) {
	t.Parallel()
	p := refusedAlone(t, found(), 1, paceRight, true)
	assert.False(t, p.isOff(after(1.1)))
	p = refusedAlone(t, p, 3, paceRight, true)
	for _, at := range []time.Time{after(3.1), after(63.099)} {
		assert.True(t, p.isOff(at))
		assert.True(t, p.isOver(at))
		assert.False(t, p.begins(time.Time{}, at).next.After(at), "events are not held")
	}
	p = p.limited(after(63.101), after(63.101), false)
	assert.False(t, p.isOff(after(63.101)))
	assert.InDelta(t, paceFirst, p.rate(after(63.101)), 0.001, "it begins anew")
}

// An API that takes an event in two seconds accepts one soon after it has refused another now and then.
func TestEventsThatAreRefusedAloneShowTheBoundIfTheNextOneIsRefusedToo(t *testing.T) {
	t.Parallel()
	p := found()
	for n := range 20 {
		p = refusedAlone(t, p, float64(4*n+1), time.Millisecond, true)
		p = refusedAlone(t, p, float64(4*n+3), time.Millisecond, false)
		assert.False(t, p.isOff(after(float64(4*n+4))))
	}
	for n := range 20 {
		p = refusedAlone(t, p, float64(4*n+101), paceRight+1, true)
		assert.False(t, p.isOff(after(float64(4*n+104))), "the API may have begun to accept events")
	}
}

// An API that counts the events of each second accepts none until the next one.
func TestEventsWaitLongerWhileNothingIsAccepted(t *testing.T) {
	t.Parallel()
	p := falls(found(), after(5))
	every := time.Second / 80
	for n := range 4 {
		p = p.limited(after(5), after(5), false)
		assert.InDelta(t, 100, p.top, 0.001)
		assert.InDelta(t, every<<(n+1), p.next.Sub(after(5)), 10)
	}
	p = p.limited(after(5), after(5), false)
	assert.InDelta(t, 50, p.top, 0.001, "the API takes fewer events now")
	for range 100 {
		p = p.limited(after(5), after(5), false)
	}
	assert.InDelta(t, paceLeast, p.rate(after(5)), 0.001)
	assert.LessOrEqual(t, p.next.Sub(after(5)), time.Second)
}

func TestTheRateDoesNotRiseWhileNoEventWaits(t *testing.T) {
	t.Parallel()
	p, now := found(), zero
	for range 1000 { // one a second
		now = now.Add(time.Second)
		p = p.begins(time.Time{}, now)
	}
	assert.InDelta(t, 100, p.rate(now), 20)
	for range 1000 { // as many as may be sent
		now = p.next
		p = p.begins(time.Time{}, now)
	}
	assert.Greater(t, p.rate(now), 200.0)
}

func TestSitesWithoutPacedEventsDoNotHurryOthers(t *testing.T) {
	t.Parallel()
	s, busy, idle := NewScopes(Waits{}), breaker{pace: found()}, breaker{pace: found()}
	s.sites[1], s.sites[2] = &busy, &idle
	assert.InDelta(t, busy.pace.every(zero)/2, s.everyPaced(zero), 10)
	for ms := range 2000 {
		if now := after(float64(ms) / 1000); !busy.pace.next.After(now) {
			busy.pace = busy.pace.begins(time.Time{}, now)
		}
	}
	assert.InDelta(t, busy.pace.every(after(2)), s.everyPaced(after(2)), 10)
}

func TestEventsOfALimitedKindAreSentAtTheRate(t *testing.T) {
	t.Parallel()
	p := found()
	p.top = 5 // and four a second at first
	var at []time.Duration
	for ms := range 1000 {
		if now := after(float64(ms) / 1000); !p.next.After(now) {
			p = p.begins(time.Time{}, now)
			at = append(at, now.Sub(zero))
		}
	}
	assert.Len(t, at, 5)
	for i, d := range at[1:] {
		assert.InDelta(t, time.Second/4, d-at[i], float64(30*time.Millisecond))
	}
	late := p.begins(time.Time{}, after(10))
	assert.InDelta(t, late.every(after(10)).Seconds(), late.next.Sub(after(10)).Seconds(), 0.001, "what was not sent is not sent at once")
	p.top = 500
	late = p.begins(time.Time{}, after(1.5))
	assert.InDelta(t, late.every(after(1.5)).Seconds()-paceBurst.Seconds(), late.next.Sub(after(1.5)).Seconds(), 0.001, "at a high rate little is")
}

// An API with a token bucket of any rate and size gets nearly as many events as it takes, and few others.
func TestThePaceFindsTheRateOfAnAPI(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		rate := 1 + r.Float64()*float64(r.IntN(2000))
		burst := 1 + r.Float64()*rate*r.Float64()
		latency := time.Duration(r.IntN(100)) * time.Millisecond
		accepted, refused := throughput(rate, burst, latency)
		assert.Greater(t, accepted, 0.8, "seed %d: %v a second, burst %v, %v", seed, rate, burst, latency)
		assert.Less(t, refused, 0.15, "seed %d: %v a second, burst %v, %v", seed, rate, burst, latency)
	}
}

// throughput returns the share of what an API takes in two minutes that it gets, and the share of the answers
// that refuse an event.
func throughput(rate, burst float64, latency time.Duration) (accepted, refused float64) {
	type answer struct{ began, ends time.Time }
	var flying []answer
	p, tokens, last := pace{}.limited(zero, zero, false), 0.0, zero
	taken, sent := 0, 0
	for now := zero; now.Sub(zero) < 2*time.Minute; now = now.Add(time.Millisecond) {
		for len(flying) > 0 && !flying[0].ends.After(now) {
			a := flying[0]
			flying = flying[1:]
			tokens, last = min(burst, tokens+now.Sub(last).Seconds()*rate), now
			if tokens < 1 {
				p = p.limited(a.began, now, false)
				continue
			}
			tokens--
			taken++
			p = p.accepts(a.began, now)
		}
		for !p.next.After(now) {
			p = p.begins(time.Time{}, now)
			sent++
			flying = append(flying, answer{now, now.Add(latency)})
		}
	}
	return float64(taken) / (rate * 120), 1 - float64(taken)/float64(sent-len(flying))
}
