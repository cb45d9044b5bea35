package queue

// Hint says which shard a caller should use. Callers on the same core share one.
type Hint struct {
	shard  int // index
	misses int // recent calls that found the shard locked
}

// Put accepts an event. It copies body, and returns an error that matches [ErrFull], or [ErrClosed], if it
// does not accept the event. The counter Redacted grows by redacted.
func (q *Queue) Put(h *Hint, body []byte, redacted int) error {
	sh := q.lockShard(h)
	if !sh.hasCredit(len(body)) {
		sh.mu.Unlock()
		return q.ask(sh, body, redacted, nil)
	}
	trigger := sh.spend(len(body))
	sh.add(body, redacted)
	sh.mu.Unlock()
	if trigger {
		q.wake()
	}
	return nil
}

// A call that finds the shard locked outweighs three that do not. A caller with tooMany
// misses shares the shard with another core and moves to the next one. Other callers stay,
// because one shard keeps the order of events even if the clock stands still, as it does in a
// synctest bubble. Two shards may swap events of the same tick.
const (
	missWeight = 4
	tooMany    = 10 * missWeight
)

func (q *Queue) lockShard(h *Hint) *shard {
	sh := q.shards[h.shard]
	if sh.mu.TryLock() {
		h.misses = max(0, h.misses-1)
		return sh
	}
	h.misses += missWeight
	if h.misses >= tooMany {
		h.misses = 0
		h.shard = (h.shard + 1) % len(q.shards)
		sh = q.shards[h.shard]
	}
	sh.lock()
	return sh
}

// PutWaiter is [Queue.Put] for a caller that waits until the event is settled.
func (q *Queue) PutWaiter(h *Hint, body []byte, redacted int, w *Waiter) error {
	return q.ask(q.shards[h.shard], body, redacted, w)
}

// ask accepts an event for which the shard has no credit. w, which may be nil, waits until
// the event is settled.
func (q *Queue) ask(sh *shard, body []byte, redacted int, w *Waiter) error {
	q.lock()
	defer q.unlock()
	if err := q.refusal(body); err != nil {
		q.ledger.counters.Refused++
		return err
	}
	sh.add(body, redacted)
	q.countAdded(sh)
	if w != nil {
		w.id = sh.last.id(sh.n - 1)
		q.waiters[w.id] = w
		q.makeDue()
	}
	q.mustTrigger = q.mustTrigger || q.schedule.triggers()
	return nil
}

// refusal returns why an event is not accepted, or nil. It makes room for the event if it can.
func (q *Queue) refusal(body []byte) error {
	switch {
	case q.closed:
		return ErrClosed
	case q.isScarce(len(body)) && q.delayed.IsBlocked(body):
		return errScarce
	case !q.makeRoom(len(body)):
		return ErrFull
	}
	return nil
}

// isScarce reports whether an event of n bytes would need the last quarter of the room, which is for
// events that the API may accept. If old events are dropped, there is room for all.
func (q *Queue) isScarce(n int) bool {
	return !q.dropOldest && q.ledger.isLow(n) && q.delayed.Blocks()
}

// makeRoom reports whether there is room for n bytes. It drops old events only if that makes
// enough room.
func (q *Queue) makeRoom(n int) bool {
	l := &q.ledger
	if !l.full(l.pending, l.bytes, n) {
		return true
	}
	if !q.dropOldest {
		return false
	}
	delayed, size := q.delayed.Size()
	if l.full(l.pending-l.waiting-delayed, l.taken-size, n) {
		return false
	}
	for l.full(l.pending, l.bytes, n) {
		if !q.drop() {
			return false
		}
	}
	return true
}

// drop drops the oldest event that is not in flight. It returns false if there is none. A delayed event
// was taken before, so it is older than all that wait.
func (q *Queue) drop() bool {
	r, ok := q.delayed.Reclaim()
	switch {
	case ok:
	case q.ledger.waiting == 0:
		return false // a sender has just taken it
	default:
		r = q.oldestShard().takeOldest()
		q.ledger.take(r.size())
	}
	q.settle(r, Lost, ErrDropped)
	q.dropped()
	return true
}

// lock locks the queue and all shards and counts what was added to them. The queue then knows
// every event that was accepted before the call.
func (q *Queue) lock() {
	q.mu.Lock()
	q.lockShards()
}

// lockShards locks the shards and counts what was added. The queue is locked already.
func (q *Queue) lockShards() {
	for _, sh := range q.shards {
		sh.lock()
		q.countAdded(sh)
		sh.rewind()
	}
}

func (q *Queue) countAdded(sh *shard) {
	events, bytes, redacted := sh.countAdded(q.epochs.last)
	q.epochs.last.pending += events
	q.schedule.fresh += events
	q.ledger.add(events, bytes, redacted)
}

// unlock undoes lock. It triggers the transport last, so that callers wait less.
func (q *Queue) unlock() {
	q.unlockShards()
	if q.alarm > 0 {
		q.timer.Reset(q.alarm)
		q.alarm = 0
	}
	trigger := q.mustTrigger
	q.mustTrigger = false
	q.mu.Unlock()
	if trigger {
		q.wake()
	}
}

// unlockShards gives each shard its share of what the bounds allow as credit, and unlocks
// the shards.
func (q *Queue) unlockShards() {
	events, bytes := q.credit()
	each := q.untilTriggerEach()
	for _, sh := range q.shards {
		sh.left, sh.room, sh.untilTrigger = events, bytes, each
		if !sh.inUse {
			sh.untilTrigger = min(each, 1)
		}
		sh.mu.Unlock()
	}
}

// credit returns the events and bytes that each shard may accept without asking. For the last quarter
// of the room it is little, or nothing if some events are blocked, so that ask sees those.
func (q *Queue) credit() (events, bytes int) {
	if q.closed {
		return 0, 0
	}
	l := &q.ledger
	events, bytes = l.maxEvents-l.pending, l.maxBytes-l.bytes
	if !q.dropOldest {
		events, bytes = beforeLast(events, l.maxEvents), beforeLast(bytes, l.maxBytes)
		if q.isScarce(0) {
			return 0, 0
		}
	}
	return events / len(q.shards), bytes / len(q.shards)
}

// beforeLast returns how much of the room may be used without a look at events that are blocked.
func beforeLast(room, most int) int {
	if quarter := most / 4; room > quarter {
		return room - quarter
	}
	return min(room, most/32)
}
