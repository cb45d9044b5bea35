package footfall

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall/internal/wire"
	"github.com/stretchr/testify/assert"
)

// failedOnce fails an event at its first attempt, and returns the probe that follows.
func (b *breaker) failedOnce() (probe pass) {
	b.failed(b.admit(), &Record{}, wire.Later, &wire.Answer{Status: 500})
	time.Sleep(b.retry.base)
	return b.admit()
}

func TestTheFirstProbeIsOfTheKindThatClosedTheBreakerLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retry := backoff{base: time.Second, max: 10 * time.Second}
		b := newBreaker(retry, retry, time.Minute, slog.New(slog.DiscardHandler))
		defer b.timer.Stop()
		for _, kind := range []bool{false, true, true, false, false, true} {
			probe := b.failedOnce()
			assert.Equal(t, aProbe, probe.admission)
			b.passed(probe, kind)
			probe = b.failedOnce()
			assert.Equal(t, aProbe, probe.admission)
			assert.Equal(t, kind, probe.retryFirst)
			b.passed(probe, kind)
		}
	})
}

func TestAProbeThatWasSentBeforeARetryAfterDoesNotEndTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retry := backoff{base: time.Second, max: 10 * time.Second}
		b := newBreaker(retry, retry, time.Minute, slog.New(slog.DiscardHandler))
		defer b.timer.Stop()
		early := b.admit()
		probe := b.failedOnce()
		b.failed(early, &Record{}, wire.Later, &wire.Answer{Status: 429, RetryAfter: "30"})
		b.passed(probe, false)
		assert.False(t, b.closed())
		time.Sleep(29 * time.Second)
		assert.Equal(t, nothing, b.admit().admission)
		time.Sleep(time.Second)
		b.passed(b.admit(), false)
		assert.True(t, b.closed())
	})
}

// The timer is set for an early attempt of a fresh event, and then events fail that were sent
// before: too many to allow the attempt.
func TestTheNextProbeIsDueAlsoIfAnEarlyAttemptIsNoLongerAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retry := backoff{base: time.Second, max: time.Minute, low: 1} // without jitter
		b := newBreaker(retry, retry, time.Minute, slog.New(slog.DiscardHandler))
		defer b.timer.Stop()
		var due bool
		b.wake = func() { due = b.probes() > 0 }
		fresh, retried, failure := &Record{}, &Record{failures: 1}, &wire.Answer{Status: 500}
		before := []pass{b.admit(), b.admit(), b.admit()}
		b.failed(b.admit(), fresh, wire.Later, failure)
		for range 7 {
			time.Sleep(time.Until(b.until))
			b.failed(b.admit(), retried, wire.Later, failure)
		}
		time.Sleep(time.Until(b.until))
		b.failed(b.admit(), fresh, wire.Later, failure)
		for b.early > 0 {
			time.Sleep(time.Until(b.earlyAt))
			b.failed(b.admit(), fresh, wire.Later, failure)
		}
		for _, p := range before {
			b.failed(p, fresh, wire.Later, failure)
		}
		assert.False(t, b.few())
		until := b.until
		due = false
		time.Sleep(time.Until(until) - 1)
		synctest.Wait()
		assert.False(t, due)
		time.Sleep(1)
		synctest.Wait()
		assert.True(t, due)
	})
}

func TestAProbeOfARetryIsNotTheSameEventAgainWhereThereIsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDelayed(func() {})
		defer d.stop()
		first, second := Record{ID: newID(1, 1)}, Record{ID: newID(2, 2)}
		one := make([]Record, 1)
		d.add(first, 0, ErrClosed)
		assert.True(t, d.probe(one))
		d.add(first, 0, ErrClosed)
		time.Sleep(time.Second)
		d.add(second, 0, ErrClosed)
		for _, want := range []Record{second, first, second} {
			assert.True(t, d.probe(one))
			assert.Equal(t, want.ID, one[0].ID)
			d.add(one[0], 0, ErrClosed)
		}
		assert.True(t, d.take(one, false))
		assert.True(t, d.probe(one))
		assert.False(t, d.probe(one))
	})
}
