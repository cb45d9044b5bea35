package footfall

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// delayed holds the events whose last attempt failed, until the next one is due. Its lock
// is the last that is taken.
//
// An event is a suspect once it has failed twice while the API accepted others. Suspects
// wait longer each time, and have a small share of the requests.
type delayed struct {
	wake func() // an event is due
	n    atomic.Int32

	mu       sync.Mutex
	bytes    int
	retries  eventHeap // by time
	suspects eventHeap // by time
	ages     eventHeap // both, oldest first
	inFlight map[uuid.UUID]attemptError
	probed   uuid.UUID // the last probe
	turns    uint
	timer    *time.Timer

	closing  bool
	accepted bool            // the API accepts something, as far as is known
	tried    []*delayedEvent // failed since then, while it accepted nothing
}

// delayedEvent is one event of delayed, and its places in two heaps.
type delayedEvent struct {
	record     Record
	failed     time.Time
	wait       time.Duration
	due        time.Time
	err        error // of the last attempt
	time, rank int
}

// attemptError is why the last attempt of an event failed, and when.
type attemptError struct {
	at  time.Time
	err error
}

// suspectAfter is how often an event has failed while others were accepted when it is a
// suspect. An API that fails now and then fails few events twice.
const suspectAfter = 2

func newDelayed(wake func()) *delayed {
	byTime := func(a, b *delayedEvent) bool { return a.due.Before(b.due) }
	time1 := func(e *delayedEvent) *int { return &e.time }
	d := &delayed{
		wake:     wake,
		inFlight: make(map[uuid.UUID]attemptError),
		retries:  eventHeap{less: byTime, place: time1},
		suspects: eventHeap{less: byTime, place: time1},
		ages:     eventHeap{less: older, place: func(e *delayedEvent) *int { return &e.rank }},
	}
	d.timer = time.AfterFunc(time.Hour, d.over)
	d.timer.Stop()
	return d
}

// older compares ids, which begin with the time.
func older(a, b *delayedEvent) bool {
	return string(a.record.ID[:]) < string(b.record.ID[:])
}

// lastError returns why the event failed that failed last, and when.
func (d *delayed) lastError() (at time.Time, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.ages.events {
		if !e.failed.Before(at) {
			err, at = e.err, e.failed
		}
	}
	for _, e := range d.inFlight {
		if !e.at.Before(at) {
			err, at = e.err, e.at
		}
	}
	return at, err
}

// settled is told that a record that had failed is settled.
func (d *delayed) settled(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.inFlight, id)
}

// some reports whether there are any events. It takes no lock.
func (d *delayed) some() bool { return d.n.Load() > 0 }

// size returns how many events there are, and their bytes.
func (d *delayed) size() (events, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int(d.n.Load()), d.bytes
}

// add keeps r, which has failed because of err, for so long.
func (d *delayed) add(r Record, wait time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	e := &delayedEvent{record: r, failed: now, wait: wait, due: now.Add(wait), err: err}
	d.n.Add(1)
	d.bytes += len(r.Body)
	delete(d.inFlight, r.ID)
	heap.Push(&d.ages, e)
	d.place(e)
	d.arm(now)
}

// place puts e where it waits.
func (d *delayed) place(e *delayedEvent) {
	switch {
	case d.closing && e.record.last && !d.accepted:
		e.time = nowhere
		d.tried = append(d.tried, e)
		return
	case d.closing && !e.record.last:
		e.due = time.Time{}
	}
	heap.Push(d.heapOf(e), e)
}

func (d *delayed) heapOf(e *delayedEvent) *eventHeap {
	if e.record.strikes >= suspectAfter {
		return &d.suspects
	}
	return &d.retries
}

// turn reports whether it is the turn of a retry, or of a suspect: one in two, and one in
// ten.
func (d *delayed) turn() (retry, suspect bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turns++
	return d.turns%2 == 0, d.turns%10 == 5
}

// untried moves an event into one that has had no attempt since the tracker closes.
func (d *delayed) untried(one []Record) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, from := range []*eventHeap{&d.retries, &d.suspects} {
		if from.Len() > 0 && from.events[0].due.IsZero() {
			one[0] = d.remove(from.events[0])
			d.arm(time.Now())
			return true
		}
	}
	return false
}

// oldest returns the id of the oldest event.
func (d *delayed) oldest() (id uuid.UUID, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ages.Len() == 0 {
		return id, false
	}
	return d.ages.events[0].record.ID, true
}

// take moves an event that is due into one.
func (d *delayed) take(one []Record, suspect bool) bool {
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

// probe moves the event into one that has waited longest: one that is due, or if there is
// none, one that is no suspect. It is not the last probe again if another one is due.
func (d *delayed) probe(one []Record) bool {
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
	if e.record.ID == d.probed && from.Len() > 1 && !from.second().due.After(now) {
		e = from.second()
	}
	d.probed = e.record.ID
	one[0] = d.remove(e)
	d.arm(now)
	return true
}

// reclaim takes the oldest event out.
func (d *delayed) reclaim() (r Record, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ages.Len() == 0 {
		return r, false
	}
	r = d.remove(d.ages.events[0])
	delete(d.inFlight, r.ID)
	return r, true
}

// remove takes e out.
func (d *delayed) remove(e *delayedEvent) Record {
	heap.Remove(&d.ages, e.rank)
	if e.time != nowhere {
		heap.Remove(d.heapOf(e), e.time)
	} else {
		d.forget(e)
	}
	d.n.Add(-1)
	d.bytes -= len(e.record.Body)
	d.inFlight[e.record.ID] = attemptError{e.failed, e.err}
	return e.record
}

func (d *delayed) forget(e *delayedEvent) {
	for i := range d.tried {
		if d.tried[i] == e {
			d.tried = append(d.tried[:i], d.tried[i+1:]...)
			return
		}
	}
}

// waits reports whether an event will be due.
func (d *delayed) waits() bool {
	if !d.some() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.retries.Len()+d.suspects.Len() > 0
}

// due returns how many events are due, or many if there are more.
func (d *delayed) due(now time.Time) int {
	if !d.some() {
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
func (d *delayed) arm(now time.Time) {
	var next time.Time
	for _, h := range []*eventHeap{&d.retries, &d.suspects} {
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
func (d *delayed) over() {
	d.mu.Lock()
	d.arm(time.Now())
	d.mu.Unlock()
	d.wake()
}

// close makes every event due.
func (d *delayed) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing = true
	for _, h := range []*eventHeap{&d.retries, &d.suspects} {
		for _, e := range h.events {
			e.due = time.Time{}
		}
	}
	d.timer.Stop()
}

// stop ends the timer.
func (d *delayed) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
}

// accept is told that the API accepts something while the tracker closes. What failed
// since is worth another attempt then. It reports whether that is news.
func (d *delayed) accept() (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.accepted {
		return false
	}
	d.accepted = true
	now := time.Now()
	for _, e := range d.tried {
		e.due = now.Add(e.wait)
		heap.Push(d.heapOf(e), e)
	}
	d.tried = nil
	d.arm(now)
	return true
}

// resign is told that the API accepts nothing any more while the tracker closes.
func (d *delayed) resign() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.accepted {
		return
	}
	d.accepted = false
	for _, h := range []*eventHeap{&d.retries, &d.suspects} {
		events := h.events
		h.events = nil
		for _, e := range events {
			d.place(e)
		}
	}
	d.arm(time.Now())
}

// giveUp takes out the events that have failed since the tracker closes, if the API has
// accepted nothing since.
func (d *delayed) giveUp() (events []*delayedEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	events, d.tried = d.tried, nil
	for _, e := range events {
		heap.Remove(&d.ages, e.rank)
		d.n.Add(-1)
		d.bytes -= len(e.record.Body)
	}
	return events
}

// eventHeap is a container/heap of events that know their places in it.
type eventHeap struct {
	events []*delayedEvent
	less   func(a, b *delayedEvent) bool
	place  func(*delayedEvent) *int
}

// nowhere is the place of an event that is not in the heap.
const nowhere = -1

func (h *eventHeap) Len() int           { return len(h.events) }
func (h *eventHeap) Less(i, j int) bool { return h.less(h.events[i], h.events[j]) }

func (h *eventHeap) Swap(i, j int) {
	h.events[i], h.events[j] = h.events[j], h.events[i]
	*h.place(h.events[i]), *h.place(h.events[j]) = i, j
}

// Push implements heap.Interface.
func (h *eventHeap) Push(x any) {
	e := x.(*delayedEvent)
	*h.place(e) = len(h.events)
	h.events = append(h.events, e)
}

// Pop implements heap.Interface.
func (h *eventHeap) Pop() any {
	last := len(h.events) - 1
	e := h.events[last]
	h.events[last] = nil
	h.events = h.events[:last]
	*h.place(e) = nowhere
	return e
}

// second returns the event that follows the first. There must be one.
func (h *eventHeap) second() *delayedEvent {
	if len(h.events) > 2 && h.Less(2, 1) {
		return h.events[2]
	}
	return h.events[1]
}

// due counts the events at place i and below it that are due, up to most.
func (h *eventHeap) due(i int, now time.Time, most int) int {
	if i >= len(h.events) || most <= 0 || h.events[i].due.After(now) {
		return 0
	}
	n := 1 + h.due(2*i+1, now, most-1)
	return n + h.due(2*i+2, now, most-n)
}
