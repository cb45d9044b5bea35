package retry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A probe is in flight when an earlier attempt is answered. Neither ends the time that the other has named.
func TestAShortRetryAfterDoesNotEndALongOne(t *testing.T) {
	t.Parallel()
	for _, asked := range [][2]time.Duration{{time.Minute, time.Second}, {time.Second, time.Minute}} {
		w, k := newWorld(), kind(1, 1)
		before, _ := w.Admit(k, Unsent, w.now)
		w.fail(5, Failure{}, k)
		w.pass(time.Second)
		probe, ok := w.Admit(k, Sent, w.now)
		assert.True(t, ok)
		w.Fail(k, before, &Failure{RetryAfter: asked[0]}, w.now)
		w.Fail(k, probe, &Failure{RetryAfter: asked[1]}, w.now)
		w.pass(59 * time.Second)
		assert.False(t, w.try(k, nil), asked)
		w.pass(time.Second)
		assert.True(t, w.try(k, nil), asked)
	}
}

func TestEarlyProbesAreBounded(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		class  Class
		wait   time.Duration // between probes
		refill int           // early ones for four probes
	}{
		"retry later":   {Later, 15 * time.Second, 2},
		"a refused key": {KeyRefused, 5 * time.Minute, 4 * 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(), kind(1, 1)
			f := Failure{Class: row.class, First: true}
			early := func() (n int) {
				for range 10 {
					w.pass(time.Second)
					p, ok := w.Admit(k, New, w.now)
					if !ok {
						continue
					}
					n++
					assert.Equal(t, w.now, w.BlockOf(k).due.Since, "no older event is sent as the newest one")
					w.Fail(k, p, &f, w.now)
					w.pass(499 * time.Millisecond)
					_, ok = w.Admit(k, New, w.now)
					assert.False(t, ok, "half a second apart")
					w.pass(-499 * time.Millisecond)
				}
				return n
			}
			w.fail(10, f, k)
			for range 12 {
				w.pass(time.Hour)
				assert.True(t, w.try(k, &f))
			}
			p, ok := w.Admit(k, New, w.now.Add(time.Second))
			assert.True(t, ok)
			w.Cancel(k, p)
			assert.Equal(t, 5, early())
			w.pass(row.wait - 10*time.Second)
			sum := 0
			for range 4 {
				assert.True(t, w.try(k, &f), "early ones do not move the next probe")
				sum += early()
				w.pass(row.wait - 10*time.Second)
			}
			assert.Equal(t, row.refill, sum)
		})
	}
}

func TestAnEventThatWasNeverSentIsTriedEarlyIfFewHaveFailed(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	w.fail(5, Failure{}, k)
	w.pass(time.Second)
	_, ok := w.Admit(k, Sent, w.now) // a probe that hangs
	assert.True(t, ok)
	w.pass(time.Second)
	assert.True(t, w.try(k, &Failure{First: true}), "five events have failed")
	w.pass(time.Second)
	assert.False(t, w.try(k, nil), "six events have failed")
}

func TestEventsThatWereNeverSentAreTriedEarlyWhileFewHaveFailed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for name, row := range map[string]struct {
		left       int
		few        bool
		early, new time.Duration // until they may be sent
	}{
		"few have failed":                         {0, true, time.Second, time.Second},
		"many have failed":                        {0, false, time.Hour, time.Hour},
		"many have failed, one is left to arrive": {1, false, time.Hour, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := probes{next: now.Add(time.Hour), last: now, earlyLeft: row.left}.due(row.few, time.Second)
			assert.Equal(t, []time.Time{now.Add(row.early), now.Add(row.new)}, []time.Time{d.Early, d.New})
		})
	}
}

// The API has asked an event to wait. While no other has failed, those that were never sent are tried.
func TestARetryAfterOfOneEventHoldsItAlone(t *testing.T) {
	t.Parallel()
	w, k := newWorld(), kind(1, 1)
	again := Failure{RetryAfter: time.Minute}
	first := again
	first.First = true
	assert.True(t, w.try(k, &first))
	for range 4 {
		w.pass(time.Minute)
		w.Fail(k, Admission{Began: w.now}, &again, w.now)
	}
	assert.Equal(t, kindOpen, w.states(k))
	w.pass(time.Second)
	_, ok := w.Admit(k, Sent, w.now)
	assert.False(t, ok, "the one that failed")
	assert.True(t, w.try(k, &first), "another one")
	w.pass(time.Second)
	assert.False(t, w.try(k, nil), "two have failed")
	w.pass(time.Minute)
	assert.True(t, w.try(k, nil))
}
