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

func TestAKindWhoseRateIsLimitedWaitsAsLongAsTheAPIAsks(t *testing.T) {
	t.Parallel()
	for _, limited := range []bool{false, true} {
		w, k := newWorld(), kind(1, 1)
		asks := Failure{RetryAfter: time.Second}
		w.fail(1, asks, k)
		if limited {
			w.Recovered(k, w.now)
		}
		for range 9 {
			assert.True(t, w.try(k, nil))
			w.pass(time.Second)
		}
		assert.Equal(t, limited, w.IsLimited(k, w.now))
		w.fail(5, asks, k)
		assert.Equal(t, closed, w.states(k), "five failures")
		w.fail(1, asks, k)
		assert.Equal(t, limited, w.states(k) == kindOpen)
		if !limited {
			continue
		}
		w.pass(990 * time.Millisecond)
		assert.False(t, w.try(k, nil))
		w.pass(10 * time.Millisecond)
		assert.True(t, w.try(k, nil))
		w.pass(11 * time.Second)
		assert.False(t, w.IsLimited(k, w.now), "ten seconds after an event recovered")
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
