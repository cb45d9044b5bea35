package retry

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// eventHeap is a container/heap of events that know their index in it.
type eventHeap[T any] struct {
	events []*heldEvent[T]
	less   func(a, b *heldEvent[T]) bool
	index  func(*heldEvent[T]) *int
}

func byTime[T any]() eventHeap[T] {
	return eventHeap[T]{
		less:  func(a, b *heldEvent[T]) bool { return cmp.Or(a.due.Compare(b.due), compareAge(a, b)) < 0 },
		index: func(e *heldEvent[T]) *int { return &e.index },
	}
}

func (h *eventHeap[T]) Len() int           { return len(h.events) }
func (h *eventHeap[T]) Less(i, j int) bool { return h.less(h.events[i], h.events[j]) }

func (h *eventHeap[T]) Swap(i, j int) {
	h.events[i], h.events[j] = h.events[j], h.events[i]
	*h.index(h.events[i]), *h.index(h.events[j]) = i, j
}

// Push implements heap.Interface.
func (h *eventHeap[T]) Push(x any) {
	e := x.(*heldEvent[T])
	*h.index(e) = len(h.events)
	h.events = append(h.events, e)
}

// Pop implements heap.Interface.
func (h *eventHeap[T]) Pop() any {
	last := len(h.events) - 1
	e := h.events[last]
	h.events[last] = nil
	h.events = h.events[:last]
	return e
}

func (h *eventHeap[T]) add(e *heldEvent[T])    { heap.Push(h, e) }
func (h *eventHeap[T]) remove(e *heldEvent[T]) { heap.Remove(h, *h.index(e)) }

// first returns the first event, or nil.
func (h *eventHeap[T]) first() *heldEvent[T] {
	if len(h.events) == 0 {
		return nil
	}
	return h.events[0]
}

// due returns the first event if it is due, or nil.
func (h *eventHeap[T]) due(now time.Time) *heldEvent[T] {
	if e := h.first(); e != nil && !e.due.After(now) {
		return e
	}
	return nil
}

// count counts the events at index i and below it that are due, up to most.
func (h *eventHeap[T]) count(i int, now time.Time, limit int) int {
	if i >= len(h.events) || limit <= 0 || h.events[i].due.After(now) {
		return 0
	}
	n := 1 + h.count(2*i+1, now, limit-1)
	return n + h.count(2*i+2, now, limit-n)
}

// list is a list of events, oldest first.
type list[T any] struct {
	events []*heldEvent[T]
	picks  uint
}

func (l *list[T]) add(e *heldEvent[T]) { l.events = append(l.events, e) }

func (l *list[T]) remove(e *heldEvent[T]) {
	if last := len(l.events) - 1; l.events[last] == e {
		l.events[last] = nil
		l.events = l.events[:last]
		return
	}
	if l.events[0] == e {
		l.events[0] = nil
		l.events = l.events[1:]
		return
	}
	i := slices.Index(l.events, e)
	l.events = slices.Delete(l.events, i, i+1)
}

// newest returns the newest event, or nil.
func (l *list[T]) newest() *heldEvent[T] {
	if len(l.events) == 0 {
		return nil
	}
	return l.events[len(l.events)-1]
}

// oldest returns the oldest event, or nil.
func (l *list[T]) oldest() *heldEvent[T] {
	if len(l.events) == 0 {
		return nil
	}
	return l.events[0]
}

// some returns the newest, a random and the oldest event in turns, or nil. Events that fail for the same
// reason are often neighbors.
func (l *list[T]) some() *heldEvent[T] {
	n := len(l.events)
	if n == 0 {
		return nil
	}
	l.picks++
	switch l.picks % 3 {
	case 1:
		return l.newest()
	case 2:
		return l.events[rand.IntN(n)]
	}
	return l.oldest()
}
