package footfall

import (
	"context"
	"time"
)

// When a batch is due is for the goroutine in Wait to find out. Callers of Track wake it
// for the first event, and when there are enough for a batch.

// pace is how often full batches are due at most: in a tight loop a hundred events come in
// 20 µs, and a wake for each hundred would be a sixth of the cost of Track.
const pace = time.Millisecond

// Wait implements Source.
func (q *queue) Wait(ctx context.Context) (waiting int, ok bool) {
	for {
		if n, known := q.batchDue(); known {
			return n, n > 0
		}
		select {
		case <-q.kick:
		case <-q.timer.C:
			q.intervalOver()
		case <-ctx.Done():
			return 0, false
		}
	}
}

// batchDue returns the number of events of a batch that is due. Zero with known
// true says that there will be no more.
func (q *queue) batchDue() (waiting int, known bool) {
	q.lock()
	defer q.unlock()
	if q.waiting == 0 {
		q.ring = q.closed // whoever else is in Wait
		return 0, q.closed
	}
	if !q.due && !q.isBatchFull() {
		return 0, false
	}
	q.startBatch()
	q.due = false
	for _, l := range q.lanes {
		l.inUse = false
	}
	q.arm() // to look again, should nobody take them
	return q.waiting, true
}

// isBatchFull sets the timer if a batch is not due yet, be it for its size or for
// coming too soon after the one before.
func (q *queue) isBatchFull() bool {
	now := q.clock.now()
	soon := q.woken + int64(pace)
	switch {
	case q.fresh == 0:
		return false
	case q.fresh < q.batch:
		q.arm()
		return false
	case now < soon:
		q.armed, q.paced = true, true
		q.alarm = time.Duration(soon - now)
		return false
	}
	q.woken = now
	return true
}

func (q *queue) startBatch() {
	q.fresh = 0
	q.paced = false
}

func (q *queue) intervalOver() {
	q.lock()
	defer q.unlock()
	q.armed = false
	q.startBatch()
	q.due = q.waiting > 0
}

func (q *queue) arm() {
	if !q.armed {
		q.armed = true
		q.alarm = q.interval
	}
}

// makeDue makes a batch of what there is.
func (q *queue) makeDue() {
	q.startBatch()
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
