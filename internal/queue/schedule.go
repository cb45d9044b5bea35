package queue

import "time"

// When a batch is due is for the goroutine in Wait to find out. Callers of Track wake it
// for the first event of a quiet moment, which is due at once, and when a lane has had its
// share of what a batch lacks. What comes within the interval after a batch was due is the
// next batch, of which the timer tells.

// pace is how often full batches are due at most: in a tight loop a hundred events come in
// 20 µs, and a wake for each hundred would be a sixth of the cost of Track.
const pace = time.Millisecond

// LookAgain is the least time until DueBatch tells again of events that are due and that
// nobody takes.
const LookAgain = time.Second

// DueBatch returns the number of waiting events if a batch is due, or if now is set, else
// zero. When more is false there will be none.
func (q *queue) DueBatch(now bool) (waiting int, more bool) {
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
		q.forgetLanes()
		return 0, true
	}
	q.nextWait()
	if full {
		q.armed, q.paced, q.alarm = true, true, q.pause()
	} else if !q.armed { // for what comes now, or to look again, should nobody take what is due
		q.armed, q.alarm = true, q.wait
	}
	q.startBatch()
	return q.waiting, true
}

// startBatch begins to count the next batch. A lane keeps its share of it if it had events
// in the last one, so that the first event in it wakes nobody.
func (q *queue) startBatch() {
	q.fresh = 0
	q.due = false
	for _, l := range q.lanes {
		l.inUse, l.had = l.had, false
	}
}

// forgetLanes takes their share from lanes that had no event since a batch was due.
func (q *queue) forgetLanes() {
	for _, l := range q.lanes {
		l.inUse = l.had
	}
}

// nextWait sets how long events wait after the batch that is due now: for the interval, and
// twice as long each time that nobody has taken an event since the last batch, such as in an
// outage.
func (q *queue) nextWait() {
	q.wait = min(2*q.wait, max(LookAgain, q.interval))
	if q.moved {
		q.wait = q.interval
	}
	q.moved = false
}

// endStall makes events wait for the interval again: a transport that calls Wake may take some.
func (q *queue) endStall() {
	if q.wait > q.interval && !q.paced {
		q.armed = false
	}
	q.moved = true
}

// move is told that events are taken. If the wait has grown because all senders were busy, an
// event that comes now must not wait for longer than the interval.
func (q *queue) move() {
	q.moved = true
	if q.wait > q.interval && q.armed && !q.paced {
		q.wait = q.interval
		q.timer.Reset(q.interval)
	}
}

// pause is how long no batch is due after a full one.
func (q *queue) pause() time.Duration { return min(pace, q.interval) }

// TimeOver is told that the timer has fired: the wait is over, or the pause after a full
// batch. What came in the pause waits for the rest.
func (q *queue) TimeOver() {
	q.lock()
	defer q.unlock()
	if rest := q.wait - q.pause(); q.paced && rest > 0 {
		q.paced, q.alarm = false, rest
		return
	}
	q.due = true
	q.armed, q.paced = false, false
}

// makeDue makes a batch of what there is.
func (q *queue) makeDue() {
	q.due = true
	q.ring = true
}

func (q *queue) wake() {
	select {
	case q.kick <- struct{}{}:
	default: // Wait has not looked since the last one
	}
}

// mustLook reports whether an event that came by ask, and so without counting down quiet,
// is one that Wait must be told of.
func (q *queue) mustLook() bool {
	return !q.armed || q.fresh >= q.batch && !q.paced
}

// quiet is in how many events Wait must be told; 0 if it need not be.
func (q *queue) quiet() int {
	switch {
	case q.closed || q.paced:
		return 0
	case !q.armed:
		return 1
	}
	return max(1, q.batch-q.fresh)
}

// quietEach is quiet for each lane in use: together they must not have more.
func (q *queue) quietEach() int {
	inUse := 0
	for _, l := range q.lanes {
		if l.inUse {
			inUse++
		}
	}
	n := q.quiet()
	if n == 0 {
		return 0
	}
	return max(1, n/max(1, inUse))
}
