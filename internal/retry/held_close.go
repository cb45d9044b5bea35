package retry

import (
	"slices"
	"time"
)

// closing is what changes when the tracker closes.
type closing[T any] struct {
	began   bool
	accepts bool    // events that failed since are sent again
	aside   list[T] // they wait here otherwise
}

// Close makes every event due, because the tracker closes. From now on an event that is added
// after an attempt at close is put aside until [Held.Resume] is called.
func (h *Held[T]) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.close.began = true
	for _, e := range h.ages.events {
		h.leave(e)
		e.due = time.Time{}
		h.put(e, Block{})
	}
}

// Resume makes the events that failed since Close due again, because the API accepts events.
// It reports whether they were aside.
func (h *Held[T]) Resume() bool { return h.setAccepts(true) }

// Suspend puts the events that failed since Close aside until Resume is called, because the API
// accepts no events.
func (h *Held[T]) Suspend() { h.setAccepts(false) }

func (h *Held[T]) setAccepts(yes bool) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.close.accepts == yes {
		return false
	}
	h.close.accepts = yes
	for _, e := range h.ages.events {
		if e.AtClose {
			h.leave(e)
			h.put(e, Block{})
		}
	}
	h.arm(time.Now())
	return true
}

// GiveUp takes the events that are aside. The caller settles them.
func (h *Held[T]) GiveUp() (events []Event[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range slices.Clone(h.close.aside.events) {
		h.remove(e)
		events = append(events, e.Event)
	}
	return events
}
