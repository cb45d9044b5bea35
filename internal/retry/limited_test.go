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
		"one event, often, and others": {alone: 20, first: mostCounted + 1, want: kindPaced},
		"others":                       {first: mostCounted + 1, want: kindPaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, k := newWorld(), kind(1, 1)
			w.fail(1, Failure{Limits: true}, k)
			w.Recovered(k, w.now)
			w.try(k, nil)
			for range row.alone {
				w.try(k, &Failure{Limits: true, Counted: mostCounted})
				w.pass(time.Millisecond)
				w.Accept(kind(2, 2), Admission{Began: w.now}, w.now)
			}
			assert.Equal(t, closed, w.states(k))
			w.fail(row.first, Failure{Limits: true}, k)
			assert.Equal(t, row.want, w.states(k))
		})
	}
}

// Answers to events that were refused before do not pace a kind if it accepts as many events as are refused.
func TestAKindIsNotPacedWhileItAcceptsAsManyEventsAsAreRefused(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[int][3]State{0: kindPaced, 1: closed} {
		w, k := newWorld(), kind(1, 1)
		w.fail(1, Failure{Limits: true}, k)
		w.Recovered(k, w.now)
		w.try(k, nil)
		for n := range mostCounted {
			w.try(k, &Failure{Limits: true, Counted: n})
		}
		for range accepted {
			w.try(k, nil)
		}
		w.try(k, &Failure{Limits: true, Counted: 1})
		w.try(k, &Failure{Limits: true, Counted: 2})
		assert.Equal(t, want, w.states(k))
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
		w.fail(mostCounted+1, Failure{Limits: true}, kind(site, 1))
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

// Two answers to one event do not pace another kind of a paced site, and one to another event does.
func TestAKindJoinsThePaceForAnswersToTwoEvents(t *testing.T) {
	t.Parallel()
	w, k := pacedWorld(t)
	other := kind(1, 2)
	assert.Equal(t, k.Site, other.Site)
	w.fail(1, Failure{Limits: true}, other)
	w.Recovered(other, w.now)
	w.try(other, nil)
	w.try(other, &Failure{Limits: true, First: true})
	w.pass(joinsAfter / 2)
	w.try(other, &Failure{Limits: true, Counted: 1})
	assert.Equal(t, closed, w.states(other))
	w.try(other, &Failure{Limits: true, First: true})
	assert.Equal(t, kindPaced, w.states(other))
}

// An API that accepts an event now and then bounds the rate. If it accepts none, it may be away for the kind.
func TestAPacedKindThatAcceptsNothingIsHeldAsInAnOutage(t *testing.T) {
	t.Parallel()
	for every, want := range map[time.Duration]State{20 * time.Second: Paced, time.Hour: Open} {
		w, k := pacedWorld(t)
		w.try(k, nil)
		last := w.now
		for range 400 {
			w.pass(100 * time.Millisecond)
			if w.now.Sub(last) < every {
				w.try(k, &Failure{Limits: true, Counted: mostCounted})
			} else if w.try(k, nil) {
				last = w.now
			}
		}
		assert.Equal(t, want, w.states(k)[2], every)
	}
}
