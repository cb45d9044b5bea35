package retry

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func held(t *testing.T) (h *Held[string], wakes *int) {
	wakes = new(int)
	h = NewHeld[string](func() { *wakes++ })
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
		"an event is added": func(h *Held[string], late time.Time) { h.Add(event("c", time.Hour), Group{}, Due{}, late) },
		"a probe is sent":   func(h *Held[string], late time.Time) { h.SetDue(Group{level: kindLevel}, closed, late) },
		"a breaker opens": func(h *Held[string], late time.Time) {
			h.Regroup(func(Kind) (Group, Due) { return Group{}, Due{} }, late)
		},
	}
	for name, act := range actions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, wakes := held(t)
				now := time.Now()
				h.Add(event("a", time.Second), Group{}, Due{}, now)
				h.Add(event("b", 2*time.Second), Group{}, Due{}, now)
				h.Add(event("probe", 0), Group{level: kindLevel}, Due{Next: now.Add(4 * time.Second)}, now)
				act(h, now.Add(3*time.Second))
				time.Sleep(500 * time.Millisecond)
				synctest.Wait()
				assert.Equal(t, 1, *wakes)
			})
		})
	}
}

func TestHeldWakesOnceForEventsThatAreDueAndNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, wakes := held(t)
		now := time.Now()
		h.Add(event("a", time.Second), Group{}, Due{}, now)
		h.Add(event("b", 2*time.Second), Group{}, Due{}, now)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 1, *wakes)
		_, ok := h.Take(Retry, time.Now())
		require.True(t, ok)
		synctest.Wait()
		time.Sleep(time.Millisecond)
		assert.Equal(t, 2, *wakes)
	})
}

// Events that fail are due again at once, and earlier than others. While the API accepts nothing, they
// must not be all of its probes: the API may accept others.
func TestEachHeldEventIsAProbeOfTheAPI(t *testing.T) {
	for name, row := range map[string]struct {
		failed, suspects, fresh int
		most                    int // probes until each event was one
	}{
		"failed and fresh events":       {failed: 3, fresh: 1, most: 6},
		"several fresh ones":            {failed: 2, fresh: 2, most: 4},
		"suspects and failed events":    {failed: 3, suspects: 3, most: 6},
		"one of each":                   {failed: 1, suspects: 1, fresh: 1, most: 4},
		"failed events":                 {failed: 8, most: 8},
		"more events than are compared": {failed: 100, most: 3000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := NewHeld[string](func() {})
			t.Cleanup(h.Stop)
			now := time.Now()
			missing := make(map[uuid.UUID]bool)
			add := func(n int, e Event[string]) {
				for i := range n {
					e.ID = event("", 0).ID
					missing[e.ID] = true
					h.Add(e, Group{}, Due{}, now.Add(time.Duration(i)))
				}
			}
			add(row.failed, Event[string]{})
			add(row.suspects, Event[string]{Suspect: true})
			add(row.fresh, Event[string]{Fresh: true})
			for range row.most {
				now = now.Add(time.Minute)
				e, ok := h.Take(Any, now)
				require.True(t, ok)
				delete(missing, e.ID)
				e.Wait, e.Fresh = -time.Hour, false
				h.Add(e, Group{}, Due{}, now)
			}
			assert.Empty(t, missing)
		})
	}
}

func TestClosePrefersEventsThatWereNeverSent(t *testing.T) {
	h, _ := held(t)
	now := time.Now()
	in := Group{level: kindLevel}
	suspect, fresh, failed := event("suspect", time.Minute), event("fresh", 0), event("failed", time.Minute)
	suspect.Suspect, fresh.Fresh = true, true
	h.Add(suspect, Group{}, Due{}, now)
	h.Add(fresh, in, Due{Next: never, Early: never, New: never}, now)
	h.Add(failed, Group{}, Due{}, now)
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
	h.Add(first, Group{}, Due{}, now)
	h.Add(second, Group{}, Due{}, now.Add(time.Second))
	e, ok := h.Take(Retry, now.Add(2*time.Second))
	require.True(t, ok)
	require.Equal(t, "first", e.Value)
	h.Return(e, Group{}, Due{}, now.Add(2*time.Second))
	at, err := h.LastError()
	assert.Equal(t, second.Err, err)
	assert.Equal(t, now.Add(time.Second), at)
	_, ok = h.Take(Retry, now.Add(2*time.Second))
	assert.True(t, ok, "it is still due")
}

func TestEventsThatFailAtCloseWaitUntilTheAPIAcceptsOthers(t *testing.T) {
	h, _ := held(t)
	now := time.Now()
	h.Close()
	failed := event("failed", time.Minute)
	failed.AtClose = true
	h.Add(failed, Group{}, Due{}, now)
	assert.Zero(t, h.Due(now.Add(time.Hour)))
	assert.False(t, h.Waits())
	assert.True(t, h.Resume())
	assert.False(t, h.Resume(), "they are not aside")
	assert.True(t, h.Waits())
	assert.Zero(t, h.Due(now.Add(time.Second)), "they wait as long as the API has asked for")
	assert.Equal(t, 1, h.Due(now.Add(time.Minute)))
}

func TestTheErrorOfAReclaimedEventIsForgotten(t *testing.T) {
	h, _ := held(t)
	failed := event("failed", time.Minute)
	failed.Err = errors.New("away")
	h.Add(failed, Group{}, Due{}, time.Now())
	_, ok := h.Reclaim()
	require.True(t, ok)
	_, err := h.LastError()
	assert.NoError(t, err)
}
