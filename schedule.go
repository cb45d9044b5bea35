package footfall

import "time"

// When a batch is due is for the goroutine in Wait to find out. Callers of Track wake it
// for the first event in a lane, and when the lane has had its share of what a batch lacks.

// pace is how often full batches are due at most: in a tight loop a hundred events come in
// 20 µs, and a wake for each hundred would be a sixth of the cost of Track.
const pace = time.Millisecond

// batchDue returns the number of waiting events if a batch is due, or if now is set, else
// zero. When more is false there will be none.
func (q *queue) batchDue(now bool) (waiting int, more bool) {
	q.lock()
	defer q.unlock()
	q.due = q.due || now
	if q.waiting == 0 {
		q.startBatch()
		return 0, !q.closed
	}
	if full := !q.paced && q.fresh >= q.batch; full {
		q.armed, q.paced, q.alarm = true, true, q.pause()
	} else {
		q.arm() // for what is not due, or to look again, should nobody take what is
		if !q.due {
			return 0, true
		}
	}
	q.startBatch()
	return q.waiting, true
}

func (q *queue) startBatch() {
	q.fresh = 0
	q.due = false
	for _, l := range q.lanes {
		l.inUse = false
	}
}

// pause is how long no batch is due after a full one.
func (q *queue) pause() time.Duration { return min(pace, q.interval) }

// timeOver is told that the timer has fired: the interval is over, or the pause after a
// full batch. What came in the pause waits for the rest of the interval.
func (q *queue) timeOver() {
	q.lock()
	defer q.unlock()
	rest := q.interval - q.pause()
	if q.paced && q.waiting > 0 && rest > 0 {
		q.paced, q.alarm = false, rest
		return
	}
	q.due = q.due || !q.paced || rest <= 0
	q.armed, q.paced = false, false
}

func (q *queue) arm() {
	if !q.armed {
		q.armed = true
		q.alarm = q.interval
	}
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
