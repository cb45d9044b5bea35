package retry

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func held(t *testing.T) (h *Held[string], wakes *atomic.Int32) {
	wakes = new(atomic.Int32)
	h = NewHeld[string](func() { wakes.Add(1) })
	t.Cleanup(h.Stop)
	return h, wakes
}

func event(value string, wait time.Duration) Event[string] {
	return Event[string]{ID: uuid.Must(uuid.NewV7()), Value: value, Wait: wait}
}

// A busy machine runs a timer late. The events that became due in the meantime must not lose it.
func TestHeldWakesForEventsThatBecameDueBeforeTheTimerRan(t *testing.T) {
	closed := Due{Next: never, Early: never, New: never}
	actions := map[string]func(h *Held[string], late time.Time){
		"an event is taken": func(h *Held[string], late time.Time) { _, _ = h.Take(Retry, late) },
		"an event is added": func(h *Held[string], late time.Time) { h.Add(event("c", time.Hour), Block{}, late) },
		"a probe is sent":   func(h *Held[string], late time.Time) { h.SetDue(Block{at: kindLevel, due: closed}, late) },
		"a breaker opens": func(h *Held[string], late time.Time) {
			h.Regroup(func(Kind) Block { return Block{} }, late)
		},
	}
	for name, act := range actions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, wakes := held(t)
				now := time.Now()
				h.Add(event("a", time.Second), Block{}, now)
				h.Add(event("b", 2*time.Second), Block{}, now)
				h.Add(event("probe", 0), Block{at: kindLevel, due: Due{Next: now.Add(4 * time.Second)}}, now)
				act(h, now.Add(3*time.Second))
				time.Sleep(500 * time.Millisecond)
				synctest.Wait()
				assert.Equal(t, int32(1), wakes.Load())
			})
		})
	}
}

func TestHeldWakesOnceForEventsThatAreDueAndNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, wakes := held(t)
		now := time.Now()
		h.Add(event("a", time.Second), Block{}, now)
		h.Add(event("b", 2*time.Second), Block{}, now)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, int32(1), wakes.Load())
		_, ok := h.Take(Retry, time.Now())
		require.True(t, ok)
		synctest.Wait()
		time.Sleep(time.Millisecond)
		assert.Equal(t, int32(2), wakes.Load())
	})
}

func TestClosePrefersEventsThatWereNeverSent(t *testing.T) {
	h, _ := held(t)
	now := time.Now()
	suspect, fresh, failed := event("suspect", time.Minute), event("fresh", 0), event("failed", time.Minute)
	suspect.Suspect, fresh.Fresh = true, true
	h.Add(suspect, Block{}, now)
	h.Add(fresh, Block{at: kindLevel, due: Due{Next: never, Early: never, New: never}}, now)
	h.Add(failed, Block{}, now)
	h.Close()
	var order []string
	for e, ok := h.Take(Untried, now); ok; e, ok = h.Take(Untried, now) {
		order = append(order, e.Value)
	}
	assert.Equal(t, []string{"fresh", "failed", "suspect"}, order)
}

// A sender takes a failed event that its breaker does not admit, and returns it. The event has not failed
// again: errors name the attempt that failed last.
func TestAReturnedEventKeepsTheTimeOfItsFailure(t *testing.T) {
	h, _ := held(t)
	now := time.Now()
	first, second := event("first", 0), event("second", 0)
	first.Err, second.Err = errors.New("first"), errors.New("second")
	h.Add(first, Block{}, now)
	h.Add(second, Block{}, now.Add(time.Second))
	e, ok := h.Take(Retry, now.Add(2*time.Second))
	require.True(t, ok)
	require.Equal(t, "first", e.Value)
	h.Return(e, Block{}, now.Add(2*time.Second))
	at, err := h.LastError()
	assert.Equal(t, second.Err, err)
	assert.Equal(t, now.Add(time.Second), at)
	assert.Empty(t, h.inFlight)
	_, ok = h.Take(Retry, now.Add(2*time.Second))
	assert.True(t, ok, "it is still due")
}

func due(h *Held[string], at time.Time) int {
	n, _ := h.Due(at)
	return n
}

func TestDueCountsSuspectsAndProbesAsDoubtful(t *testing.T) {
	h, _ := held(t)
	now := time.Now()
	suspect, fresh := event("suspect", 0), event("fresh", 0)
	suspect.Suspect, fresh.Fresh = true, true
	h.Add(suspect, Block{}, now)
	h.Add(event("failed once", 0), Block{}, now)
	h.Add(fresh, Block{}, now)
	h.Add(event("limited", 0), Block{at: kindLevel, paced: true, due: Due{Next: now, Early: now, New: now}}, now)
	due, doubtful := h.Due(now)
	assert.Equal(t, []int{4, 1}, []int{due, doubtful})
}

func TestAKindIsBlockedWhileItsEventsWaitAndOthersAreAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := held(t)
		k := kind(1, 1)
		for range 2 {
			e := event("of the kind", 0)
			e.Kind, e.Fresh = k, true
			h.Add(e, Block{at: kindLevel, kind: k}, time.Now())
		}
		assert.False(t, h.IsBlocked(k), "nothing is accepted")
		h.Accepted(time.Now())
		assert.True(t, h.IsBlocked(k))
		assert.False(t, h.IsBlocked(kind(1, 2)))
		time.Sleep(lately + time.Second)
		assert.False(t, h.IsBlocked(k), "nothing was accepted lately")
		h.Accepted(time.Now())
		h.Reclaim()
		assert.True(t, h.IsBlocked(k), "one event is left")
		h.Reclaim()
		assert.False(t, h.IsBlocked(k))
	})
}

func TestEventsThatFailAtCloseWaitUntilTheAPIAcceptsOthers(t *testing.T) {
	h, _ := held(t)
	now := time.Now()
	h.Close()
	failed := event("failed", time.Minute)
	failed.AtClose = true
	h.Add(failed, Block{}, now)
	assert.Zero(t, due(h, now.Add(time.Hour)))
	assert.False(t, h.Waits())
	assert.True(t, h.Resume())
	assert.False(t, h.Resume(), "they are not aside")
	assert.True(t, h.Waits())
	assert.Zero(t, due(h, now.Add(time.Second)), "they wait as long as the API has asked for")
	assert.Equal(t, 1, due(h, now.Add(time.Minute)))
}

func TestTheErrorOfAReclaimedEventIsForgotten(t *testing.T) {
	h, _ := held(t)
	failed := event("failed", time.Minute)
	failed.Err = errors.New("away")
	h.Add(failed, Block{}, time.Now())
	_, _, ok := h.Reclaim()
	require.True(t, ok)
	_, err := h.LastError()
	assert.NoError(t, err)
}

func TestFailedEventsOfABreakerThatClosesAreDueOldestFirst(t *testing.T) {
	h, _ := held(t)
	now := time.Now()
	var events []Event[string]
	for i, failed := range []int{12, 9, 4, 1, 3, 2, 1, 3} {
		e := event(string(rune('a'+i)), 0)
		e.Failed = failed
		events = append(events, e)
	}
	for _, i := range []int{6, 2, 5, 3, 1, 7, 0, 4} { // as they fail as probes
		now = now.Add(time.Second)
		h.Add(events[i], Block{at: kindLevel, due: Due{Next: never, Early: never, New: never}}, now)
	}
	h.Regroup(func(Kind) Block { return Block{} }, now)
	now = now.Add(time.Second)
	var got strings.Builder
	for e, ok := h.Take(Retry, now); ok; e, ok = h.Take(Retry, now) {
		got.WriteString(e.Value)
	}
	assert.Equal(t, "defgh"+"cba", got.String())
}
