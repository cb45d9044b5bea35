package queue

import "time"

// Put triggers the transport's goroutine when a batch is due: for the first event after a
// pause, and when a shard has received its share of the events that the batch lacks. Events
// within the interval after a batch was due form the next batch, and the timer runs for it.

// pace is the least time between two full batches. A tight loop adds a hundred events in
// 20 µs, and a trigger for each hundred would be a sixth of the cost of Track.
const pace = time.Millisecond

// LookAgain is the least time until DueBatch reports again a batch that the transport did not
// take.
const LookAgain = time.Second

// DueBatch returns the number of waiting events if a batch is due or now is true, and zero
// otherwise. When more is false the queue is closed and empty.
func (q *Queue) DueBatch(now bool) (waiting int, more bool) {
	q.lock()
	defer q.unlock()
	q.due = q.due || now
	if now {
		q.endStall()
	}
	if q.waiting == 0 {
		q.startBatch()
		return 0, !q.closed
	}
	full := !q.paced && q.fresh >= q.batch
	if !full && q.armed && !q.due {
		q.forgetShards()
		return 0, true
	}
	q.nextWait()
	if full {
		q.armed, q.paced, q.alarm = true, true, q.pause()
	} else if !q.armed { // for the next events, or to report this batch again
		q.armed, q.alarm = true, q.wait
	}
	q.startBatch()
	return q.waiting, true
}

// startBatch begins to count the next batch. A shard that had events in the last batch keeps
// its share, so that its first event does not trigger the transport.
func (q *Queue) startBatch() {
	q.fresh = 0
	q.due = false
	for _, sh := range q.shards {
		sh.inUse, sh.had = sh.had, false
	}
}

// forgetShards takes the share from shards that had no event since a batch was due.
func (q *Queue) forgetShards() {
	for _, sh := range q.shards {
		sh.inUse = sh.had
	}
}

// nextWait sets how long events wait after the batch that is due now. That is the interval,
// doubled each time that no event was taken since the last batch, such as in an outage.
func (q *Queue) nextWait() {
	q.wait = min(2*q.wait, max(LookAgain, q.interval))
	if q.moved {
		q.wait = q.interval
	}
	q.moved = false
}

// endStall makes events wait for the interval again, because the transport may take some.
func (q *Queue) endStall() {
	if q.wait > q.interval && !q.paced {
		q.armed = false
	}
	q.moved = true
}

// noteMoved notes that events are taken. If the wait has grown because all senders were busy, a
// new event must not wait longer than the interval.
func (q *Queue) noteMoved() {
	q.moved = true
	if q.wait > q.interval && q.armed && !q.paced {
		q.wait = q.interval
		q.timer.Reset(q.interval)
	}
}

// pause returns how long no batch is due after a full one.
func (q *Queue) pause() time.Duration { return min(pace, q.interval) }

// TimeOver must be called when the timer has fired: the wait is over, or the pause after a full
// batch. Events that arrived in the pause wait for the rest of the interval.
func (q *Queue) TimeOver() {
	q.lock()
	defer q.unlock()
	if rest := q.wait - q.pause(); q.paced && rest > 0 {
		q.paced, q.alarm = false, rest
		return
	}
	q.due = true
	q.armed, q.paced = false, false
}

// makeDue makes the waiting events a batch.
func (q *Queue) makeDue() {
	q.due = true
	q.ring = true
}

func (q *Queue) wake() {
	select {
	case q.trigger <- struct{}{}:
	default: // the last trigger was not received yet
	}
}

// mustLook reports whether an event that was accepted through ask, which does not count down
// quiet, must trigger the transport.
func (q *Queue) mustLook() bool {
	return !q.armed || q.fresh >= q.batch && !q.paced
}

// quiet returns how many events may be added until one must trigger the transport; 0 means
// never.
func (q *Queue) quiet() int {
	switch {
	case q.closed || q.paced:
		return 0
	case !q.armed:
		return 1
	}
	return max(1, q.batch-q.fresh)
}

// quietEach returns the share of quiet of each shard in use.
func (q *Queue) quietEach() int {
	inUse := 0
	for _, sh := range q.shards {
		if sh.inUse {
			inUse++
		}
	}
	n := q.quiet()
	if n == 0 {
		return 0
	}
	return max(1, n/max(1, inUse))
}
