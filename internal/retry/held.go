package retry

import (
	"bytes"
	"container/heap"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Held holds the events that are not sent before their time: those whose last attempt failed, and
// those that were never sent because the circuit breaker of their kind or site is open. T is what
// the caller needs to send an event. The methods may be called from several goroutines at once,
// with other locks held: Held calls nothing with its lock held.
//
// An event is in one of these places:
//
//   - retries: it is sent again when it is due.
//   - suspects: the same for events that keep failing while others of their kind are accepted. They
//     get a small share of the senders.
//   - a group: a circuit breaker is open, and the event is sent as a probe.
//   - ready: it was in a group, never sent, and the breaker has closed.
//   - aside: it has failed since the tracker began to close, and the API accepts nothing.
type Held[T any] struct {
	wake   func() // called when an event is due
	n      atomic.Int32
	blocks atomic.Bool // there are groups

	mu       sync.Mutex
	bytes    int
	ages     eventHeap[T] // all events, oldest first
	retries  eventHeap[T] // by time
	suspects eventHeap[T] // by time
	ready    list[T]
	groups   groups[T]
	inFlight map[uuid.UUID]attemptError
	timer    *time.Timer
	woken    time.Time // wake was called for the events that were due then
	close    closing[T]
}

// Event is an event to hold.
type Event[T any] struct {
	ID      uuid.UUID
	Kind    Kind
	Size    int
	Fresh   bool // it was never sent
	Suspect bool
	AtClose bool // its last attempt was while the tracker was closing
	Value   T
	Failed  int           // how many attempts
	Took    time.Duration // of the last attempt
	Wait    time.Duration // until the next attempt
	Err     error         // of the last attempt
}

// heldEvent is an Event with its places.
type heldEvent[T any] struct {
	Event[T]
	failed time.Time // or held, if it was never sent
	due    time.Time
	in     place[T]
	counts bool // in groups.waiting
	index  int  // in that heap, or its turn in that list
	rank   int  // index in ages
}

// place is where an event is besides ages.
type place[T any] interface {
	add(e *heldEvent[T])
	remove(e *heldEvent[T])
}

// attemptError is why the last attempt of an event failed, and when.
type attemptError struct {
	at  time.Time
	err error
}

// NewHeld returns an empty Held that calls wake when an event is due.
func NewHeld[T any](wake func()) *Held[T] {
	h := &Held[T]{
		wake:     wake,
		groups:   newGroups[T](),
		inFlight: make(map[uuid.UUID]attemptError),
		retries:  byTime[T](),
		suspects: byTime[T](),
		ages:     eventHeap[T]{less: older[T], index: func(e *heldEvent[T]) *int { return &e.rank }},
	}
	h.timer = time.AfterFunc(time.Hour, h.over)
	h.timer.Stop()
	return h
}

// compareAge compares ids, which begin with the time.
func compareAge[T any](a, b *heldEvent[T]) int { return bytes.Compare(a.ID[:], b.ID[:]) }

func older[T any](a, b *heldEvent[T]) bool { return compareAge(a, b) < 0 }

// Some reports whether there are any events. It takes no lock.
func (h *Held[T]) Some() bool { return h.n.Load() > 0 }

// Size returns the number of events and of their bytes.
func (h *Held[T]) Size() (events, bytes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int(h.n.Load()), h.bytes
}

// Add holds an event, which waits for b, too, if that is set.
func (h *Held[T]) Add(event Event[T], b Block, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(&heldEvent[T]{Event: event, failed: now, due: now.Add(event.Wait)}, b, now)
}

// Return holds an event again that was taken and not sent. It stays due.
func (h *Held[T]) Return(event Event[T], b Block, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := &heldEvent[T]{Event: event, failed: now, due: now}
	if last, ok := h.inFlight[event.ID]; ok {
		e.failed = last.at
	}
	h.add(e, b, now)
}

func (h *Held[T]) add(e *heldEvent[T], b Block, now time.Time) {
	h.n.Add(1)
	h.bytes += e.Size
	delete(h.inFlight, e.ID)
	heap.Push(&h.ages, e)
	if h.close.began && !e.AtClose {
		e.due = time.Time{}
	}
	h.put(e, b)
	h.arm(now)
}

// Blocks reports whether events wait for an open breaker of a kind or site. It takes no lock.
func (h *Held[T]) Blocks() bool { return h.blocks.Load() }

// IsBlocked reports whether events of k do, and the API has lately accepted others.
func (h *Held[T]) IsBlocked(k Kind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.groups.waiting[k] > 0 && time.Since(h.groups.accepted) <= lately
}

// Accepted notes that the API has accepted an event while a breaker was open.
func (h *Held[T]) Accepted(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.groups.accepted = now
}

// put puts e in its place.
func (h *Held[T]) put(e *heldEvent[T], b Block) {
	if h.close.began && !e.AtClose && !b.paced {
		b = Block{} // it gets an attempt in any case
	}
	e.in = h.place(e, b)
	e.in.add(e)
}

// leave takes e from its place.
func (h *Held[T]) leave(e *heldEvent[T]) {
	e.in.remove(e)
	h.groups.uncount(e)
}

func (h *Held[T]) place(e *heldEvent[T], b Block) place[T] {
	switch {
	case h.close.began && e.AtClose && !h.close.accepts:
		return &h.close.aside
	case b.IsSet():
		h.blocks.Store(true)
		h.groups.count(e)
		return h.groups.pile(b).place(e)
	case e.Fresh:
		return &h.ready
	case e.Suspect:
		return &h.suspects
	}
	return &h.retries
}

// Regroup moves every event to the group that it waits in now. It is called when a breaker has opened or
// closed.
func (h *Held[T]) Regroup(blockOf func(Kind) Block, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.groups.clear()
	h.blocks.Store(false)
	h.retries.events, h.suspects.events, h.ready.events, h.close.aside.events = nil, nil, nil, nil
	events := slices.SortedFunc(slices.Values(h.ages.events), compareAge)
	h.release(events, blockOf, now)
	for _, e := range events {
		e.counts = false
		h.put(e, blockOf(e.Kind))
	}
	h.arm(now)
}

// release makes events due that have failed, and whose breaker has closed: those that failed a few times oldest first,
// and then the others as they were due, so that each of these has its turn even if the breaker opens again soon.
func (h *Held[T]) release(events []*heldEvent[T], blockOf func(Kind) Block, now time.Time) {
	var often []*heldEvent[T]
	for _, e := range events {
		switch {
		case !e.counts || e.Fresh || e.due.IsZero() || e.due.After(now) || blockOf(e.Kind).IsSet():
		case e.Failed <= fewAttempts:
			e.due = now
		default:
			often = append(often, e)
		}
	}
	slices.SortStableFunc(often, func(a, b *heldEvent[T]) int { return a.due.Compare(b.due) })
	for i, e := range often {
		e.due = now.Add(time.Duration(i+1) * time.Microsecond)
	}
}

// fewAttempts is how often most events fail in an outage that ends soon.
const fewAttempts = 3

// SetDue sets when events that wait for b may be sent.
func (h *Held[T]) SetDue(b Block, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g := h.groups.of[b.scope()]; g != nil {
		g.due = b.due
		h.arm(now)
	}
}

// Pick is which events may be taken.
type Pick uint8

const (
	Retry   Pick = iota // one that failed and is due
	Suspect             // one that keeps failing and is due
	Ready               // one that was never sent and whose breaker has closed
	Turn                // one of a paced group whose turn it is
	Probe               // one of another group whose next probe is due
	Early               // the same, but never sent
	Untried             // one that has had no attempt since the tracker began to close
)

// Take takes an event that is due at now.
func (h *Held[T]) Take(p Pick, now time.Time) (event Event[T], ok bool) {
	if !h.Some() {
		return event, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.find(p, now)
	if e == nil {
		return event, false
	}
	h.remove(e)
	h.arm(now)
	return e.Event, true
}

func (h *Held[T]) find(p Pick, now time.Time) *heldEvent[T] {
	switch p {
	case Retry:
		return h.retries.due(now)
	case Suspect:
		return h.suspects.due(now)
	case Ready:
		return h.ready.oldest()
	case Turn, Probe, Early:
		return h.probe(p, now)
	}
	return h.untried()
}

// probe returns an event that may be sent, of the group whose last event was sent first.
func (h *Held[T]) probe(p Pick, now time.Time) *heldEvent[T] {
	var next *group[T]
	for _, g := range h.groups.of {
		if g.has(p, now) && (next == nil || g.due.began.Before(next.due.began)) {
			next = g
		}
	}
	if next == nil {
		return nil
	}
	return next.candidate(p, now)
}

// untried returns an event that was never sent, or one that has failed and has had no attempt since the
// tracker began to close. The latter may take long.
func (h *Held[T]) untried() *heldEvent[T] {
	if e := h.ready.some(); e != nil {
		return e
	}
	for _, in := range []*eventHeap[T]{&h.retries, &h.suspects} {
		if e := in.first(); e != nil && e.due.IsZero() {
			return e
		}
	}
	return nil
}

// HasTurns reports whether events of paced kinds wait for their turn.
func (h *Held[T]) HasTurns() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.groups.of {
		if g.paced && g.at() != never {
			return true
		}
	}
	return false
}

// remove removes e and remembers its error.
func (h *Held[T]) remove(e *heldEvent[T]) {
	heap.Remove(&h.ages, e.rank)
	h.leave(e)
	h.n.Add(-1)
	h.bytes -= e.Size
	if e.Err != nil {
		h.inFlight[e.ID] = attemptError{e.failed, e.Err}
	}
}

// Settled notes that an event that had failed is settled.
func (h *Held[T]) Settled(id uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.inFlight, id)
}

// LastError returns when the latest attempt failed, of events that are not settled, and why.
func (h *Held[T]) LastError() (at time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.ages.events {
		if e.Err != nil && !e.failed.Before(at) {
			err, at = e.Err, e.failed
		}
	}
	for _, e := range h.inFlight {
		if !e.at.Before(at) {
			err, at = e.err, e.at
		}
	}
	return at, err
}

// Reclaim takes the oldest event. due is when its wait is over, also one that the API has asked for.
func (h *Held[T]) Reclaim() (value T, due time.Time, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	oldest := h.ages.first()
	if oldest == nil {
		return value, due, false
	}
	h.remove(oldest)
	delete(h.inFlight, oldest.ID)
	return oldest.Value, oldest.due, true
}

// Waits reports whether an event is due or will be.
func (h *Held[T]) Waits() bool {
	if !h.Some() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ages.Len() > len(h.close.aside.events)
}

// Due returns how many events are due, up to many of each kind, and one of each group whose turn or probe
// is due. doubtful of them are suspects and probes, which wait for their share of the senders.
func (h *Held[T]) Due(now time.Time) (n, doubtful int) {
	if !h.Some() {
		return 0, 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	doubtful = h.suspects.count(0, now, many)
	n = doubtful + h.retries.count(0, now, many) + len(h.ready.events)
	for _, g := range h.groups.of {
		if g.at().After(now) {
			continue
		}
		n++
		if !g.paced {
			doubtful++
		}
	}
	return n, doubtful
}

// many events call for more senders than any tracker has.
const many = 1 << 12

// arm sets the timer to the time when the next event becomes due. It leaves out events for which
// wake was called already. An event that has become due since has the timer fire at once.
func (h *Held[T]) arm(now time.Time) {
	next := never
	at := func(t time.Time) {
		if t.After(h.woken) {
			next = earlier(next, t)
		}
	}
	for _, in := range []*eventHeap[T]{&h.retries, &h.suspects} {
		if e := in.first(); e != nil {
			at(e.due)
		}
	}
	for _, g := range h.groups.of {
		at(g.at())
	}
	if next == never {
		h.timer.Stop()
		return
	}
	h.timer.Reset(max(0, next.Sub(now)))
}

// over is called by the timer.
func (h *Held[T]) over() {
	h.mu.Lock()
	now := time.Now()
	h.woken = now
	h.arm(now)
	h.mu.Unlock()
	h.wake()
}

// Stop stops the timer.
func (h *Held[T]) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer.Stop()
}
