package queue

import (
	"bytes"

	"github.com/google/uuid"
)

// What callers of Track do to the queue.

// Hint is the lane that a caller should use: mostly what the one before on the same core
// left.
type Hint struct {
	lane   int // index of the one to use
	misses int // how often it was taken lately
}

// Put accepts an event, copying body, or says why not.
func (q *queue) Put(s *Hint, body []byte, redacted int) error {
	l := q.lockLane(s)
	if !l.licensed(len(body)) {
		l.mu.Unlock()
		return q.ask(l, body, redacted, nil)
	}
	tell := l.spend(len(body))
	l.add(body, redacted)
	l.mu.Unlock()
	if tell {
		q.wake()
	}
	return nil
}

// A miss outweighs three hits. Who misses that often shares the lane with another core, and
// goes on in the next one. Who does not, stays: within one lane events keep their order even
// if the clock stands still, as it does in a synctest bubble; events of the same tick in
// two lanes may not.
const (
	missWeight = 4
	tooMany    = 10 * missWeight
)

func (q *queue) lockLane(s *Hint) *lane {
	l := q.lanes[s.lane]
	if l.mu.TryLock() {
		s.misses = max(0, s.misses-1)
		return l
	}
	s.misses += missWeight
	if s.misses >= tooMany {
		s.misses = 0
		s.lane = (s.lane + 1) % len(q.lanes)
		l = q.lanes[s.lane]
	}
	l.lock()
	return l
}

// PutWaiter is Put for a caller that waits until the event is settled.
func (q *queue) PutWaiter(s *Hint, body []byte, redacted int, w *Waiter) error {
	return q.ask(q.lanes[s.lane], body, redacted, w)
}

// ask accepts an event for which l has no licence. w waits until it is settled; it may
// be nil.
func (q *queue) ask(l *lane, body []byte, redacted int, w *Waiter) error {
	q.lock()
	defer q.unlock()
	if q.closed {
		q.stats.Refused++
		return ErrClosed
	}
	if !q.makeRoom(len(body)) {
		q.stats.Refused++
		return ErrFull
	}
	l.add(body, redacted)
	q.count(l)
	if w != nil {
		w.id = l.last.id(l.n - 1)
		q.waiters[w.id] = w
		q.makeDue()
	}
	q.ring = q.ring || q.mustLook()
	return nil
}

// makeRoom drops nothing unless that makes enough room.
func (q *queue) makeRoom(n int) bool {
	full := func(events, bytes int) bool { return events >= q.maxEvents || bytes+n > q.maxBytes }
	if !full(q.pending, q.bytes) {
		return true
	}
	if !q.dropOldest {
		return false
	}
	delayed, size := q.delayed.Size()
	if full(q.pending-q.waiting-delayed, q.taken-size) {
		return false
	}
	for full(q.pending, q.bytes) {
		if !q.drop() {
			return false
		}
	}
	return true
}

// drop gives up the oldest event that is not in flight. It returns false if there is none.
func (q *queue) drop() bool {
	r, ok := q.oldestDelayed()
	switch {
	case ok:
	case q.waiting == 0:
		return false // a sender has just taken it
	default:
		oldest := q.take()
		q.taken += len(oldest.Body)
		r = oldest.Ref
	}
	q.settle(r, Lost, ErrFull)
	q.dropped()
	return true
}

// oldestDelayed takes the oldest delayed event, if it is older than all that wait.
func (q *queue) oldestDelayed() (r Ref, ok bool) {
	id, ok := q.delayed.Oldest()
	if !ok || q.waiting > 0 && q.older(id) {
		return r, false
	}
	return q.delayed.Reclaim()
}

// older reports whether an event that waits is older than the one of that id.
func (q *queue) older(id uuid.UUID) bool {
	for _, l := range q.lanes {
		if l.waiting == 0 {
			continue
		}
		l.oldest()
		if waits := l.first.id(l.first.next); bytes.Compare(waits[:], id[:]) < 0 {
			return true
		}
	}
	return false
}

// lock locks the queue and all lanes and takes note of what was added to them: everything
// that was accepted before the call is then known.
func (q *queue) lock() {
	q.mu.Lock()
	q.look()
}

// look is the half of lock that comes after that of the queue.
func (q *queue) look() {
	for _, l := range q.lanes {
		l.lock()
		q.count(l)
		l.rewind()
	}
}

func (q *queue) count(l *lane) {
	events, bytes, redacted := l.count(q.epochs.last)
	q.epochs.last.pending += events
	q.waiting += events
	q.pending += events
	q.fresh += events
	q.bytes += bytes
	q.stats.Tracked += uint64(events)
	q.stats.Redacted += uint64(redacted)
}

// unlock undoes lock, and wakes Wait when callers may go on.
func (q *queue) unlock() {
	q.letGo()
	if q.alarm > 0 {
		q.timer.Reset(q.alarm)
		q.alarm = 0
	}
	ring := q.ring
	q.ring = false
	q.mu.Unlock()
	if ring {
		q.wake()
	}
}

// letGo gives the lanes new licences, which together are what the bounds allow, and
// unlocks them.
func (q *queue) letGo() {
	events, bytes := 0, 0
	if !q.closed {
		events, bytes = (q.maxEvents-q.pending)/len(q.lanes), (q.maxBytes-q.bytes)/len(q.lanes)
	}
	quiet := q.quietEach()
	for _, l := range q.lanes {
		l.left, l.room, l.quiet = events, bytes, quiet
		if !l.inUse {
			l.quiet = min(quiet, 1)
		}
		l.mu.Unlock()
	}
}
