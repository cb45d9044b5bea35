package queue

import "time"

// Put triggers the transport's goroutine when a batch is due: for the first event after a
// pause, and when a shard has received its share of the events that the batch lacks.

// Trigger returns a channel of capacity 1. The queue sends on it when the transport should call
// [Queue.DueBatch].
func (q *Queue) Trigger() chan struct{} { return q.trigger }

// Timer returns the channel of the queue's timer. A receiver must call [Queue.TimeOver].
func (q *Queue) Timer() <-chan time.Time { return q.timer.C }

// DueBatch returns the number of waiting events if a batch is due or now is true, and zero
// otherwise. When more is false the queue is closed and empty.
func (q *Queue) DueBatch(now bool) (waiting int, more bool) {
	q.lock()
	defer q.unlock()
	if now {
		q.schedule.woken()
	}
	ready, alarm := q.schedule.look(q.ledger.waiting)
	q.alarm = alarm
	q.divide(ready)
	if ready {
		waiting = q.ledger.waiting
	}
	return waiting, !q.closed || q.ledger.waiting > 0
}

// divide chooses the shards that share what the next batch lacks. A shard that had events in the
// last batch keeps its share, so that its first event does not trigger the transport.
func (q *Queue) divide(next bool) {
	for _, sh := range q.shards {
		sh.inUse = sh.had
		if next {
			sh.had = false
		}
	}
}

// TimeOver must be called when the timer has fired.
func (q *Queue) TimeOver() {
	q.lock()
	defer q.unlock()
	q.alarm = q.schedule.timeOver()
}

// makeDue makes the waiting events a batch.
func (q *Queue) makeDue() {
	q.schedule.due, q.mustTrigger = true, true
}

func (q *Queue) wake() {
	select {
	case q.trigger <- struct{}{}:
	default: // the last trigger was not received yet
	}
}

// untilTriggerEach returns how many events each shard in use may add until one must trigger the
// transport; 0 means never.
func (q *Queue) untilTriggerEach() int {
	inUse := 0
	for _, sh := range q.shards {
		if sh.inUse {
			inUse++
		}
	}
	n := q.schedule.untilTrigger()
	if n == 0 || q.closed {
		return 0
	}
	return max(1, n/max(1, inUse))
}
