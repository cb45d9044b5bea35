package footfall

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// failedOnce fails an event at its first attempt, and returns the probe that follows.
func (b *breaker) failedOnce() (probe pass) {
	b.failed(b.admit(), &Record{}, later, &answer{status: 500})
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
		b.failed(early, &Record{}, later, &answer{status: 429, retryAfter: "30"})
		b.passed(probe, false)
		assert.False(t, b.closed())
		time.Sleep(29 * time.Second)
		assert.Equal(t, nothing, b.admit().admission)
		time.Sleep(time.Second)
		b.passed(b.admit(), false)
		assert.True(t, b.closed())
	})
}
