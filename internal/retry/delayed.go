package retry

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Delayed holds the events whose last attempt failed, until the next one is due. Its lock
// is the last that is taken.
//
// An event is a suspect once it has failed twice while the API accepted others. Suspects
// wait longer each time, and have a small share of the requests.
type Delayed[T any] struct {
	wake func() // an event is due
	n    atomic.Int32

	mu       sync.Mutex
	bytes    int
	retries  eventHeap[T] // by time
	suspects eventHeap[T] // by time
	ages     eventHeap[T] // both, oldest first
	inFlight map[uuid.UUID]attemptError
	probed   uuid.UUID // the last probe
	turns    uint
	timer    *time.Timer

	closing  bool
	accepted bool               // the API accepts something, as far as is known
	tried    []*delayedEvent[T] // failed since then, while it accepted nothing
}

// Event is an event whose last attempt failed.
type Event[T any] struct {
	ID      uuid.UUID
	Size    int
	Suspect bool
	AtClose bool // its last attempt was while the tracker was closing
	Value   T
	Wait    time.Duration
	Err     error // of the last attempt
}

// delayedEvent is one event of Delayed, and its places in two heaps.
type delayedEvent[T any] struct {
	Event[T]
	failed     time.Time
	due        time.Time
	time, rank int
}

// attemptError is why the last attempt of an event failed, and when.
type attemptError struct {
	at  time.Time
	err error
}

func NewDelayed[T any](wake func()) *Delayed[T] {
	byTime := func(a, b *delayedEvent[T]) bool { return a.due.Before(b.due) }
	time1 := func(e *delayedEvent[T]) *int { return &e.time }
	d := &Delayed[T]{
		wake:     wake,
		inFlight: make(map[uuid.UUID]attemptError),
		retries:  eventHeap[T]{less: byTime, place: time1},
		suspects: eventHeap[T]{less: byTime, place: time1},
		ages:     eventHeap[T]{less: older[T], place: func(e *delayedEvent[T]) *int { return &e.rank }},
	}
	d.timer = time.AfterFunc(time.Hour, d.over)
	d.timer.Stop()
	return d
}

// older compares ids, which begin with the time.
func older[T any](a, b *delayedEvent[T]) bool {
	return string(a.ID[:]) < string(b.ID[:])
}

// LastError returns why the event failed that failed last, and when.
func (d *Delayed[T]) LastError() (at time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.ages.events {
		if !e.failed.Before(at) {
			err, at = e.Err, e.failed
		}
	}
	for _, e := range d.inFlight {
		if !e.at.Before(at) {
			err, at = e.err, e.at
		}
	}
	return at, err
}

// Settled is told that a record that had failed is settled.
func (d *Delayed[T]) Settled(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inFlight, id)
}

// Some reports whether there are any events. It takes no lock.
func (d *Delayed[T]) Some() bool { return d.n.Load() > 0 }

// Size returns how many events there are, and their bytes.
func (d *Delayed[T]) Size() (events, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int(d.n.Load()), d.bytes
}

// Add keeps r, which has failed because of err, for so long.
func (d *Delayed[T]) Add(event Event[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	e := &delayedEvent[T]{Event: event, failed: now, due: now.Add(event.Wait)}
	d.n.Add(1)
	d.bytes += e.Size
	delete(d.inFlight, e.ID)
	heap.Push(&d.ages, e)
	d.place(e)
	d.arm(now)
}

// place puts e where it waits.
func (d *Delayed[T]) place(e *delayedEvent[T]) {
	switch {
	case d.closing && e.AtClose && !d.accepted:
		e.time = nowhere
		d.tried = append(d.tried, e)
		return
	case d.closing && !e.AtClose:
		e.due = time.Time{}
	}
	heap.Push(d.heapOf(e), e)
}

func (d *Delayed[T]) heapOf(e *delayedEvent[T]) *eventHeap[T] {
	if e.Suspect {
		return &d.suspects
	}
	return &d.retries
}

// Turn reports whether it is the turn of a retry, or of a suspect: one in two, and one in
// ten.
func (d *Delayed[T]) Turn() (retry, suspect bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turns++
	return d.turns%2 == 0, d.turns%10 == 5
}

// TakeUntried moves an event into one that has had no attempt since the tracker closes.
func (d *Delayed[T]) TakeUntried(one []T) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, from := range []*eventHeap[T]{&d.retries, &d.suspects} {
		if from.Len() > 0 && from.events[0].due.IsZero() {
			one[0] = d.remove(from.events[0])
			d.arm(time.Now())
			return true
		}
	}
	return false
}

// Oldest returns the id of the oldest event.
func (d *Delayed[T]) Oldest() (id uuid.UUID, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ages.Len() == 0 {
		return id, false
	}
	return d.ages.events[0].ID, true
}

// Take moves an event that is due into one.
func (d *Delayed[T]) Take(one []T, suspect bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	from := &d.retries
	if suspect {
		from = &d.suspects
	}
	now := time.Now()
	if from.Len() == 0 || from.events[0].due.After(now) {
		return false
	}
	one[0] = d.remove(from.events[0])
	d.arm(now)
	return true
}

// TakeProbe moves the event into one that has waited longest: one that is due, or if there is
// none, one that is no suspect. It is not the last probe again if there is another event.
func (d *Delayed[T]) TakeProbe(one []T) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	from := &d.retries
	if d.suspects.Len() > 0 {
		if due := d.suspects.events[0].due; !due.After(now) && (from.Len() == 0 || due.Before(from.events[0].due)) {
			from = &d.suspects
		}
	}
	if from.Len() == 0 {
		return false
	}
	e := from.events[0]
	if e.ID == d.probed && from.Len() > 1 {
		e = from.second()
	}
	d.probed = e.ID
	one[0] = d.remove(e)
	d.arm(now)
	return true
}

// Reclaim takes the oldest event out.
func (d *Delayed[T]) Reclaim() (value T, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ages.Len() == 0 {
		return value, false
	}
	oldest := d.ages.events[0]
	value = d.remove(oldest)
	delete(d.inFlight, oldest.ID)
	return value, true
}

// remove takes e out.
func (d *Delayed[T]) remove(e *delayedEvent[T]) T {
	heap.Remove(&d.ages, e.rank)
	if e.time != nowhere {
		heap.Remove(d.heapOf(e), e.time)
	} else {
		d.forget(e)
	}
	d.n.Add(-1)
	d.bytes -= e.Size
	d.inFlight[e.ID] = attemptError{e.failed, e.Err}
	return e.Value
}

func (d *Delayed[T]) forget(e *delayedEvent[T]) {
	for i := range d.tried {
		if d.tried[i] == e {
			d.tried = append(d.tried[:i], d.tried[i+1:]...)
			return
		}
	}
}

// Waits reports whether an event will be due.
func (d *Delayed[T]) Waits() bool {
	if !d.Some() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.retries.Len()+d.suspects.Len() > 0
}

// Due returns how many events are due, or many if there are more.
func (d *Delayed[T]) Due(now time.Time) int {
	if !d.Some() {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.retries.due(0, now, many) + d.suspects.due(0, now, many)
}

// many events call for more senders than any tracker has.
const many = 1 << 12

// arm sets the timer to the next time at which an event will be due. Those that are due
// already wait for a sender: wake was called for them.
func (d *Delayed[T]) arm(now time.Time) {
	var next time.Time
	for _, h := range []*eventHeap[T]{&d.retries, &d.suspects} {
		if h.Len() == 0 {
			continue
		}
		if due := h.events[0].due; due.After(now) && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	if next.IsZero() {
		d.timer.Stop()
		return
	}
	d.timer.Reset(next.Sub(now))
}

// over is called by the timer.
func (d *Delayed[T]) over() {
	d.mu.Lock()
	d.arm(time.Now())
	d.mu.Unlock()
	d.wake()
}

// Close makes every event due.
func (d *Delayed[T]) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing = true
	for _, h := range []*eventHeap[T]{&d.retries, &d.suspects} {
		for _, e := range h.events {
			e.due = time.Time{}
		}
	}
	d.timer.Stop()
}

// Stop ends the timer.
func (d *Delayed[T]) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
}

// Resume is told that the API accepts something while the tracker closes. What failed
// since is worth another attempt then. It reports whether that is news.
func (d *Delayed[T]) Resume() (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.accepted {
		return false
	}
	d.accepted = true
	now := time.Now()
	for _, e := range d.tried {
		e.due = now.Add(e.Wait)
		heap.Push(d.heapOf(e), e)
	}
	d.tried = nil
	d.arm(now)
	return true
}

// Suspend is told that the API accepts nothing any more while the tracker closes.
func (d *Delayed[T]) Suspend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.accepted {
		return
	}
	d.accepted = false
	for _, h := range []*eventHeap[T]{&d.retries, &d.suspects} {
		events := h.events
		h.events = nil
		for _, e := range events {
			d.place(e)
		}
	}
	d.arm(time.Now())
}

// GiveUp takes out the events that have failed since the tracker closes, if the API has
// accepted nothing since.
func (d *Delayed[T]) GiveUp() (events []Event[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.tried {
		heap.Remove(&d.ages, e.rank)
		d.n.Add(-1)
		d.bytes -= e.Size
		events = append(events, e.Event)
	}
	d.tried = nil
	return events
}

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

// second returns the event that follows the first. There must be one.
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
