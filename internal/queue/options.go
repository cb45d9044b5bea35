// Package queue is the bounded queue between Track and a transport. It holds encoded events in
// blocks of memory that are used again, and accounts for each of them until it is settled:
// bounds, counters, batches, and the callers that wait for events to be settled. It does not
// send, and does not know why an attempt fails or when the next one is due.
package queue

import (
	"time"

	"github.com/google/uuid"
)

// Options configures a Queue.
type Options struct {
	MaxEvents  int
	MaxBytes   int
	DropOldest bool // drop the oldest event, rather than refuse a new one
	BatchSize  int
	Interval   time.Duration // after which a batch is due that is not full
	Delayed    Delayed
	Dropped    func() // told, under the lock, that an accepted event was dropped
}

// Delayed holds the events that wait for another attempt. The queue calls it with its lock
// held.
type Delayed interface {
	// Size returns how many events there are, and their bytes.
	Size() (events, bytes int)

	// Oldest returns the id of the oldest event.
	Oldest() (id uuid.UUID, ok bool)

	// Reclaim takes the oldest event out.
	Reclaim() (r Ref, ok bool)
}

// Trigger returns a channel of capacity 1. The queue sends on it if something has changed that
// DueBatch should be called for.
func (q *queue) Trigger() chan struct{} { return q.kick }

// Timer returns a channel on which the queue's timer sends. TimeOver is to be called then.
func (q *queue) Timer() <-chan time.Time { return q.timer.C }

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
