package retry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// One event that is always refused does not pace its kind: it takes the answers to another one.
func TestAKindIsPacedForAnswersToSeveralEvents(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		alone int // answers to one event, after its first ones
		first int // answers to others
		want  [3]State
	}{
		"one event, often":             {alone: 20, want: closed},
		"one event, often, and others": {alone: 20, first: fewFailures + 1, want: kindPaced},
		"others":                       {first: fewFailures + 1, want: kindPaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(), kind(1, 1)
			w.fail(1, Failure{Limits: true}, k)
			w.Recovered(k, w.now)
			w.try(k, nil)
			for range row.alone {
				w.try(k, &Failure{Limits: true, Counted: true})
				w.pass(time.Millisecond)
				w.Accept(kind(2, 2), Admission{Began: w.now}, w.now)
			}
			assert.Equal(t, closed, w.states(k))
			w.fail(row.first, Failure{Limits: true}, k)
			assert.Equal(t, row.want, w.states(k))
		})
	}
}

// Events of paced sites keep three quarters of the distance that would spread them evenly.
func TestEventsOfPacedSitesAreSpread(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for site := range 2 {
		w.fail(1, Failure{Limits: true}, kind(site, 1))
		w.Recovered(kind(site, 1), w.now)
		w.try(kind(site, 1), nil)
		w.fail(fewFailures+1, Failure{Limits: true}, kind(site, 1))
		assert.Equal(t, kindPaced, w.states(kind(site, 1)))
	}
	w.pass(time.Second)
	_, ok := w.Admit(kind(0, 1), Sent, w.now)
	assert.True(t, ok)
	distance := w.everyPaced(w.now) / 4 * 3
	assert.Positive(t, distance)
	w.pass(distance - 1)
	_, ok = w.Admit(kind(1, 1), Sent, w.now)
	assert.False(t, ok)
	w.pass(1)
	_, ok = w.Admit(kind(1, 1), Sent, w.now)
	assert.True(t, ok)
}
