package retry

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var zero = time.Unix(1_000_000, 0)

func after(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

func TestTheRateFallsAfterAnAnswerThatShowsTheBoundAndRisesAgain(t *testing.T) {
	t.Parallel()
	p := pace{}.limited(zero, zero)
	for seconds, rate := range map[float64]float64{0: 5, 0.5: 10, 1: 20, 3: 320} {
		assert.InDelta(t, rate, p.rate(after(seconds)), 0.001, "the first one: it doubles twice a second")
	}
	p = p.accepted(after(0.5)).limited(after(1), after(1))
	for seconds, rate := range map[float64]float64{0: 20, 1: 40, 4: 320} {
		assert.InDelta(t, rate, p.rate(after(1+seconds)), 0.001, "the second one: it doubles once a second")
	}
	p = p.accepted(after(2)).limited(after(5), after(5))
	for seconds, rate := range map[float64]float64{0: 256, 2.5: 312, 5: 320, 6: 640, 8: 2560} {
		assert.InDelta(t, rate, p.rate(after(5+seconds)), 0.001)
	}
	assert.False(t, p.isOver(after(15)))
	assert.True(t, p.isOver(after(15.001)))
}

func TestOneAnswerOfThoseInFlightShowsTheBound(t *testing.T) {
	t.Parallel()
	p := pace{}.limited(zero, after(0.1)).accepted(after(0.2)).limited(after(0.3), after(0.4))
	assert.Equal(t, p, p.limited(after(0.35), after(0.5)), "it began before the rate fell")
	assert.NotEqual(t, p, p.limited(after(0.45), after(0.5)))
}

// An API that counts the events of each second accepts none until the next one.
func TestEventsWaitLongerWhileNothingIsAccepted(t *testing.T) {
	t.Parallel()
	p := pace{}.limited(zero, zero).accepted(after(1)).limited(after(2), after(2))
	top, every := p.top, p.every(after(2))
	for n := range 4 {
		p = p.limited(after(2), after(2))
		assert.InDelta(t, top, p.top, 0.001)
		assert.Equal(t, every<<(n+1), p.next.Sub(after(2)))
	}
	p = p.limited(after(2), after(2))
	assert.InDelta(t, top/2, p.top, 0.001, "the API takes fewer events now")
	for range 100 {
		p = p.limited(after(2), after(2))
	}
	assert.InDelta(t, paceLeast, p.rate(after(2)), 0.001)
	assert.LessOrEqual(t, p.next.Sub(after(2)), time.Second)
}

// While few events come the rate rises without need, and a burst would show the bound many times.
func TestTheRateIsAtMostTwiceWhatWasAccepted(t *testing.T) {
	t.Parallel()
	p := pace{}.limited(zero, zero).accepted(after(0.1)).limited(after(0.2), after(0.2))
	p.seek = 0
	now := 0.2
	for range 80 {
		now += 0.1
		p = p.accepted(after(now))
	}
	assert.Greater(t, p.rate(after(now)), 40.0)
	p = p.limited(after(now), after(now))
	assert.InDelta(t, 20, p.top, 1)
}

func TestEventsOfALimitedKindAreSentAtTheRate(t *testing.T) {
	t.Parallel()
	p := pace{}.limited(zero, zero)
	p.seek = 0 // 4 events a second, and a bit more later
	var at []time.Duration
	for ms := range 1000 {
		if now := after(float64(ms) / 1000); !p.next.After(now) {
			p = p.begins(now)
			at = append(at, now.Sub(zero))
		}
	}
	assert.Equal(t, []time.Duration{200 * time.Millisecond, 443 * time.Millisecond, 679 * time.Millisecond, 909 * time.Millisecond}, at)
	late := p.begins(after(10))
	assert.InDelta(t, late.every(after(10)).Seconds()-paceBurst.Seconds(), late.next.Sub(after(10)).Seconds(), 0.001, "what was not sent is not sent at once")
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
	p, tokens, last := pace{}.limited(zero, zero), 0.0, zero
	taken, sent := 0, 0
	for now := zero; now.Sub(zero) < 2*time.Minute; now = now.Add(time.Millisecond) {
		for len(flying) > 0 && !flying[0].ends.After(now) {
			a := flying[0]
			flying = flying[1:]
			tokens, last = min(burst, tokens+now.Sub(last).Seconds()*rate), now
			if tokens < 1 {
				p = p.limited(a.began, now)
				continue
			}
			tokens--
			taken++
			p = p.accepted(now)
		}
		for !p.next.After(now) {
			p = p.begins(now)
			sent++
			flying = append(flying, answer{now, now.Add(latency)})
		}
	}
	return float64(taken) / (rate * 120), 1 - float64(taken)/float64(sent-len(flying))
}
