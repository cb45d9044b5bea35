package retry

import "time"

// eventHeap is a container/heap of events that know their places in it.
type eventHeap[T any] struct {
	events []*delayedEvent[T]
	less   func(a, b *delayedEvent[T]) bool
	place  func(*delayedEvent[T]) *int
}

// nowhere is the place of an event that is not in the heap.
const nowhere = -1

func (h *eventHeap[T]) Len() int           { return len(h.events) }
func (h *eventHeap[T]) Less(i, j int) bool { return h.less(h.events[i], h.events[j]) }

func (h *eventHeap[T]) Swap(i, j int) {
	h.events[i], h.events[j] = h.events[j], h.events[i]
	*h.place(h.events[i]), *h.place(h.events[j]) = i, j
}

// Push implements heap.Interface.
func (h *eventHeap[T]) Push(x any) {
	e := x.(*delayedEvent[T])
	*h.place(e) = len(h.events)
	h.events = append(h.events, e)
}

// Pop implements heap.Interface.
func (h *eventHeap[T]) Pop() any {
	last := len(h.events) - 1
	e := h.events[last]
	h.events[last] = nil
	h.events = h.events[:last]
	*h.place(e) = nowhere
	return e
}

// second returns the event after the first. There must be one.
func (h *eventHeap[T]) second() *delayedEvent[T] {
	if len(h.events) > 2 && h.Less(2, 1) {
		return h.events[2]
	}
	return h.events[1]
}

// due counts the events at place i and below it that are due, up to most.
func (h *eventHeap[T]) due(i int, now time.Time, most int) int {
	if i >= len(h.events) || most <= 0 || h.events[i].due.After(now) {
		return 0
	}
	n := 1 + h.due(2*i+1, now, most-1)
	return n + h.due(2*i+2, now, most-n)
}
