// Package queue is the bounded queue between Track and a transport. It holds encoded events in
// reused blocks of memory, and accounts for each event until it is settled: bounds, counters,
// batches, and callers that wait for events to be settled. It does not send, and does not know
// why an attempt fails or when the next one is due.
package queue

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Queue is the bounded queue between Track and the transport. An accepted event counts until
// it is settled, whether it waits, is delayed or is in flight, so the bounds hold for all of
// them. The methods may be called from several goroutines at once.
type Queue struct {
	dropOldest bool
	clock      *clock
	dropped    func()
	delayed    Delayed

	trigger chan struct{} // of capacity 1
	timer   *time.Timer   // runs while armed
	shards  []*shard

	_ cacheLinePad // Put reads the fields above, which never change

	mu          sync.Mutex // locked before the locks of shards
	ledger      ledger
	schedule    schedule
	epochs      epochs
	waiters     map[uuid.UUID]*Waiter
	spares      spares
	closed      bool
	ended       bool          // every event is counted; later calls of Settle change nothing
	lastErr     error         // why an event was last settled as Lost
	alarm       time.Duration // unlock sets the timer to it, unless it is zero
	mustTrigger bool          // unlock triggers the transport
}

// maxShards bounds the memory of the shards, and the time to lock them all, on many cores.
const maxShards = 8

// New returns an empty queue.
func New(o Options) *Queue {
	q := &Queue{
		dropOldest: o.DropOldest,
		clock:      newClock(),
		dropped:    o.Dropped,
		delayed:    o.Delayed,
		trigger:    make(chan struct{}, 1),
		timer:      time.NewTimer(o.Interval),
		ledger:     ledger{maxEvents: o.MaxEvents, maxBytes: o.MaxBytes},
		schedule:   newSchedule(o.BatchSize, o.Interval),
		epochs:     newEpochs(),
		waiters:    make(map[uuid.UUID]*Waiter),
		spares:     spares{size: slabSize, memory: o.Memory, mapped: len(o.Memory) >= slabSize, fault: o.Fault},
	}
	for range min(runtime.GOMAXPROCS(0), maxShards) {
		q.shards = append(q.shards, &shard{clock: q.clock, spares: &q.spares})
	}
	q.timer.Stop()
	return q
}

// Waiting returns how many events Take would return. When more is false the queue is closed,
// and no others will come.
func (q *Queue) Waiting() (n int, more bool) {
	q.lock()
	defer q.unlock()
	return q.ledger.waiting, !q.closed || q.ledger.waiting > 0
}

// Take takes up to most events, oldest first, and returns how many. It calls each, with the
// queue locked, for every event; the int counts up from 0.
func (q *Queue) Take(most int, each func(int, Ref)) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ledger.waiting == 0 {
		q.lockShards()
		q.unlockShards()
	}
	n := min(most, q.ledger.waiting)
	for i := range n {
		oldest := q.oldestShard().takeOldest()
		q.took(oldest)
		each(i, oldest)
	}
	return n
}

// took counts an event that was taken.
func (q *Queue) took(r Ref) {
	q.ledger.take(r.size())
	if alarm := q.schedule.took(); alarm > 0 {
		q.timer.Reset(alarm)
	}
	if q.closed && q.ledger.waiting == 0 {
		q.wake()
	}
}

// oldestShard returns the shard that has the oldest event. There must be one.
func (q *Queue) oldestShard() *shard {
	var from *shard
	var oldest int64
	for _, sh := range q.shards {
		if sh.waiting == 0 {
			continue
		}
		if at := sh.oldest().at; from == nil || at < oldest {
			from, oldest = sh, at
		}
	}
	return from
}

// Retry notes that an attempt failed because of err, or that none was made if err is nil, and that
// another one follows. It returns the event in separate memory, because a delayed event must not keep a
// slab from being used again. It returns false if the event is settled already, or is lost because
// its memory has a fault.
func (q *Queue) Retry(r Ref, err error) (kept Ref, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || !r.slab.has(r, &q.spares) {
		return kept, false
	}
	if err != nil && len(q.waiters) > 0 {
		if w := q.waiters[r.ID()]; w != nil {
			w.failure = err
		}
	}
	if r.slab.shard == nil { // has separate memory already
		r.slab.returns++ // older Refs of the event are void
		return r.slab.ref(r.slot), true
	}
	if kept, ok = r.slab.split(r.slot); !ok {
		q.settle(r, Lost, errFault)
		q.lastErr = errFault
		return kept, false
	}
	r.slab.mark(r.slot)
	r.slab.states[r.slot] = settled
	r.slab.shard.release(r.slab)
	return kept, true
}

// Settle settles n events that were taken, which ref returns. It ignores an event that is
// settled already.
func (q *Queue) Settle(n int, ref func(int) Ref, o Outcome, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range n {
		r := ref(i)
		if q.ended || !r.slab.has(r, &q.spares) {
			continue
		}
		if o == Lost && (q.lastErr == nil || err != context.Canceled) {
			q.lastErr = err
		}
		q.settle(r, o, err)
	}
}

func (q *Queue) settle(r Ref, o Outcome, err error) {
	r.slab.mark(r.slot)
	r.slab.states[r.slot] = settled
	q.ledger.settle(r.size(), o)
	q.epochs.settled(r.slab.epoch(r.slot))
	if len(q.waiters) > 0 {
		q.endWaiter(r.ID(), o, err)
	}
	if sh := r.slab.shard; sh != nil {
		sh.release(r.slab) // last, because another shard may use the slab from now on
	}
}

// Moved notes that n events that were Stored have ended as o since. It returns an error, and
// counts fewer, if there are fewer.
func (q *Queue) Moved(n int, o Outcome) (err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	moved := min(uint64(max(n, 0)), q.ledger.counters.Stored)
	if n < 0 || moved < uint64(n) {
		err = fmt.Errorf("footfall: Config.Transport called Moved(%d) with %d events stored", n, q.ledger.counters.Stored)
	}
	if moved > 0 && o == Lost {
		q.lastErr = errGivenUp
	}
	q.ledger.counters.Stored -= moved
	q.ledger.counters.count(o, moved)
	return err
}

// Flush makes every event due and waits until all events accepted before the call are settled.
// It returns the error of ctx if ctx ends first, and [ErrStopped] if stopped is closed first.
func (q *Queue) Flush(ctx context.Context, stopped <-chan struct{}) error {
	q.lock()
	e, settled := q.epochs.seal()
	if !settled {
		q.makeDue()
	}
	q.unlock()
	if settled {
		return nil
	}
	select {
	case <-e.done:
		return nil
	case <-stopped:
		return q.flushStopped(e)
	case <-ctx.Done():
		q.leave(e)
		return ctx.Err()
	}
}

// flushStopped returns nil if the transport settled every event of e before it stopped.
func (q *Queue) flushStopped(e *epoch) error {
	if isClosed(e.done) {
		return nil
	}
	q.leave(e)
	return ErrStopped
}

func (q *Queue) leave(e *epoch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.epochs.leave(e)
	}
}

// Close refuses new events and returns the counters at that moment.
func (q *Queue) Close() Counters {
	q.lock()
	defer q.unlock()
	q.closed = true
	return q.ledger.snapshot()
}

// End counts every event that is not settled as dropped. It returns the final counters and
// why the last event was lost, or failure if none was.
func (q *Queue) End(failure error) (Counters, error) {
	q.lock()
	defer q.unlock()
	q.ended = true
	q.timer.Stop()
	q.ledger.end()
	for e := q.epochs.first; e != nil; e = e.after {
		close(e.done)
	}
	q.epochs = newEpochs()
	cause := cmp.Or(q.lastErr, failure)
	for id, w := range q.waiters {
		q.endWaiter(id, Lost, cmp.Or(w.failure, cause, ErrStopped))
	}
	return q.ledger.snapshot(), cause
}

// Counters returns the counts so far.
func (q *Queue) Counters() Counters {
	q.lock()
	defer q.unlock()
	return q.ledger.snapshot()
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
