package retry

import (
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
