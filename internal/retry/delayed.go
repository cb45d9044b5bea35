package retry

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Delayed holds the events whose last attempt failed, until their next attempt is due. T is
// what the caller needs to send an event. The methods may be called from several goroutines
// at once, with other locks held: Delayed calls nothing with its lock held.
//
// A suspect is an event that has failed twice while the API accepted others. Suspects wait
// longer each time, and get a small share of the requests.
type Delayed[T any] struct {
	wake func() // called when an event is due
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
	Wait    time.Duration // until the next attempt
	Err     error         // of the last attempt
}

// delayedEvent is an Event with its places in two heaps.
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

// NewDelayed returns an empty Delayed that calls wake when an event is due.
func NewDelayed[T any](wake func()) *Delayed[T] {
	byTime := func(a, b *delayedEvent[T]) bool { return a.due.Before(b.due) }
	place := func(e *delayedEvent[T]) *int { return &e.time }
	d := &Delayed[T]{
		wake:     wake,
		inFlight: make(map[uuid.UUID]attemptError),
		retries:  eventHeap[T]{less: byTime, place: place},
		suspects: eventHeap[T]{less: byTime, place: place},
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

// LastError returns when the latest attempt failed, of events that are not settled, and why.
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

// Settled notes that an event that had failed is settled.
func (d *Delayed[T]) Settled(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inFlight, id)
}

// Some reports whether there are any events. It takes no lock.
func (d *Delayed[T]) Some() bool { return d.n.Load() > 0 }

// Size returns the number of events and of their bytes.
func (d *Delayed[T]) Size() (events, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int(d.n.Load()), d.bytes
}

// Add keeps an event whose attempt has failed just now.
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

// place adds e to a heap, or to the events that are set aside.
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

// Turn reports whether it is the turn of a retry, which has one request in two, and of a
// suspect, which has one in ten.
func (d *Delayed[T]) Turn() (retry, suspect bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turns++
	return d.turns%2 == 0, d.turns%10 == 5
}

// TakeUntried takes an event that has had no attempt since Close.
func (d *Delayed[T]) TakeUntried() (value T, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, from := range []*eventHeap[T]{&d.retries, &d.suspects} {
		if from.Len() > 0 && from.events[0].due.IsZero() {
			value = d.remove(from.events[0])
			d.arm(time.Now())
			return value, true
		}
	}
	return value, false
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

// Take takes a due retry, or a due suspect.
func (d *Delayed[T]) Take(suspect bool) (value T, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	from := &d.retries
	if suspect {
		from = &d.suspects
	}
	now := time.Now()
	if from.Len() == 0 || from.events[0].due.After(now) {
		return value, false
	}
	value = d.remove(from.events[0])
	d.arm(now)
	return value, true
}

// TakeProbe takes the event that is due first. A suspect must be due; any other event need not
// be. It is not the last probe again if there is another event.
func (d *Delayed[T]) TakeProbe() (value T, ok bool) {
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
		return value, false
	}
	e := from.events[0]
	if e.ID == d.probed && from.Len() > 1 && !from.second().due.After(now) {
		e = from.second()
	}
	d.probed = e.ID
	value = d.remove(e)
	d.arm(now)
	return value, true
}

// Reclaim takes the oldest event.
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

// remove removes e and remembers its error.
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

// Waits reports whether an event is due or will be.
func (d *Delayed[T]) Waits() bool {
	if !d.Some() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.retries.Len()+d.suspects.Len() > 0
}

// Due returns how many events are due, up to many of each kind.
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

// arm sets the timer to the next time at which an event becomes due. It leaves out events that
// are due already, because wake was called for them.
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

// Close makes every event due, because the tracker closes. From now on an event that is added
// after an attempt at close waits for [Delayed.Resume].
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

// Stop stops the timer.
func (d *Delayed[T]) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
}

// Resume makes the events that failed since Close due again, because the API accepts events. It
// reports whether it was suspended.
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

// Suspend sets the events that failed since Close aside until Resume is called, because the API
// accepts no events.
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

// GiveUp takes the events that are set aside.
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
