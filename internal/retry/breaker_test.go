package retry

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

// failedOnce fails an event at its first attempt, and returns the probe that follows.
func (b *Breaker) failedOnce() (probe Pass) {
	b.Failed(b.Admit(), &Failure{})
	time.Sleep(b.retry.Base)
	return b.Admit()
}

func TestTheFirstProbeIsOfTheKindThatClosedTheBreakerLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retry := Backoff{Base: time.Second, Max: 10 * time.Second}
		b := NewBreaker(retry, retry, slog.New(slog.DiscardHandler))
		defer b.timer.Stop()
		for _, kind := range []bool{false, true, true, false, false, true} {
			probe := b.failedOnce()
			assert.Equal(t, Probe, probe.Admission)
			b.Passed(probe, kind)
			probe = b.failedOnce()
			assert.Equal(t, Probe, probe.Admission)
			assert.Equal(t, kind, probe.RetryFirst)
			b.Passed(probe, kind)
		}
	})
}

func TestAProbeThatWasSentBeforeARetryAfterDoesNotEndTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retry := Backoff{Base: time.Second, Max: 10 * time.Second}
		b := NewBreaker(retry, retry, slog.New(slog.DiscardHandler))
		defer b.timer.Stop()
		early := b.Admit()
		probe := b.failedOnce()
		b.Failed(early, &Failure{TooMany: true, Asked: 30 * time.Second})
		b.Passed(probe, false)
		assert.False(t, b.Closed())
		time.Sleep(29 * time.Second)
		assert.Equal(t, Nothing, b.Admit().Admission)
		time.Sleep(time.Second)
		b.Passed(b.Admit(), false)
		assert.True(t, b.Closed())
	})
}

// The timer is set for an early attempt of a fresh event, and then events fail that were sent
// before: too many to allow the attempt.
func TestTheNextProbeIsDueEvenIfAnEarlyAttemptIsNoLongerAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retry := Backoff{Base: time.Second, Max: time.Minute, Low: 1} // without jitter
		b := NewBreaker(retry, retry, slog.New(slog.DiscardHandler))
		defer b.timer.Stop()
		var due atomic.Bool
		b.wake = func() { due.Store(b.Probes() > 0) }
		fresh, retried := &Failure{}, &Failure{Attempts: Attempts{Failures: 1}}
		before := []Pass{b.Admit(), b.Admit(), b.Admit()}
		b.Failed(b.Admit(), fresh)
		for range 7 {
			time.Sleep(time.Until(b.until))
			b.Failed(b.Admit(), retried)
		}
		time.Sleep(time.Until(b.until))
		b.Failed(b.Admit(), fresh)
		for b.early > 0 {
			time.Sleep(time.Until(b.earlyAt))
			b.Failed(b.Admit(), fresh)
		}
		for _, p := range before {
			b.Failed(p, fresh)
		}
		assert.False(t, b.few())
		until := b.until
		due.Store(false)
		time.Sleep(time.Until(until) - 1)
		synctest.Wait()
		assert.False(t, due.Load())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.True(t, due.Load())
	})
}

func TestConsecutiveProbesAreDifferentRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDelayed[string](func() {})
		defer d.Stop()
		first, second := Event[string]{ID: uuid.UUID{1}, Value: "first"}, Event[string]{ID: uuid.UUID{2}, Value: "second"}
		d.Add(first)
		_, ok := d.TakeProbe()
		assert.True(t, ok)
		d.Add(first)
		time.Sleep(time.Second)
		d.Add(second)
		for _, want := range []Event[string]{second, first, second} {
			got, ok := d.TakeProbe()
			assert.True(t, ok)
			assert.Equal(t, want.Value, got)
			d.Add(want)
		}
		_, ok = d.Take(false)
		assert.True(t, ok)
		_, ok = d.TakeProbe()
		assert.True(t, ok)
		_, ok = d.TakeProbe()
		assert.False(t, ok)
	})
}
