// Package queue is the bounded queue between Track and a transport. It holds encoded events in
// reused blocks of memory, and accounts for each event until it is settled: bounds, counters,
// batches, and callers that wait for events to be settled. It does not send, and does not know
// why an attempt fails or when the next one is due.
package queue

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Queue is the bounded queue between Track and the transport. An accepted event counts until
// it is settled, whether it waits, is delayed or is in flight, so the bounds hold for all of
// them. The methods may be called from several goroutines at once.
type Queue struct {
	maxEvents  int
	maxBytes   int
	dropOldest bool
	batch      int
	interval   time.Duration
	clock      *clock
	dropped    func()
	delayed    Delayed

	trigger chan struct{} // of capacity 1
	timer   *time.Timer   // runs while armed
	shards  []*shard

	_ cacheLinePad // Put reads the fields above, which never change

	mu       sync.Mutex // locked before the locks of shards
	waiting  int        // accepted, not taken
	pending  int        // accepted, not settled
	bytes    int        // of pending
	counters Counters
	epochs   epochs
	spares   spares
	fresh    int // accepted since the last batch was due
	due      bool
	armed    bool          // the timer runs
	paced    bool          // armed for the pause after a full batch
	moved    bool          // events were taken since the last batch was due
	wait     time.Duration // from one batch to the next that is not full
	alarm    time.Duration // unlock sets the timer to it, unless it is zero
	ring     bool          // unlock triggers the transport
	closed   bool
	ended    bool  // every event is counted; later calls of Settle change nothing
	taken    int   // bytes of pending that are taken
	lastErr  error // why an event was last settled as Lost
	waiters  map[uuid.UUID]*Waiter
}

// maxShards bounds the memory of the shards, and the time to lock them all, on many cores.
const maxShards = 8

// New returns an empty queue.
func New(o Options) *Queue {
	q := &Queue{
		maxEvents:  o.MaxEvents,
		maxBytes:   o.MaxBytes,
		dropOldest: o.DropOldest,
		batch:      o.BatchSize,
		interval:   o.Interval,
		wait:       o.Interval,
		moved:      true,
		clock:      newClock(),
		dropped:    o.Dropped,
		delayed:    o.Delayed,
		trigger:    make(chan struct{}, 1),
		timer:      time.NewTimer(o.Interval),
		spares:     spares{size: slabSize, memory: o.Memory, mapped: len(o.Memory) >= slabSize, fault: o.Fault},
		epochs:     newEpochs(),
		waiters:    make(map[uuid.UUID]*Waiter),
	}
	for range min(runtime.GOMAXPROCS(0), maxShards) {
		q.shards = append(q.shards, &shard{clock: q.clock, spares: &q.spares})
	}
	q.timer.Stop()
	return q
}

// Trigger returns a channel of capacity 1. The queue sends on it when the transport should call
// [Queue.DueBatch].
func (q *Queue) Trigger() chan struct{} { return q.trigger }

// Timer returns the channel of the queue's timer. A receiver must call [Queue.TimeOver].
func (q *Queue) Timer() <-chan time.Time { return q.timer.C }

// Waiting returns how many events Take would return. When more is false the queue is closed,
// and no others will come.
func (q *Queue) Waiting() (n int, more bool) {
	q.lock()
	defer q.unlock()
	return q.waiting, !q.closed || q.waiting > 0
}

// Take takes up to most events, oldest first, and returns how many. It calls each, with the
// queue locked, for every event; the int counts up from 0.
func (q *Queue) Take(most int, each func(int, Ref)) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 {
		q.lockShards()
		q.unlockShards()
	}
	n := min(most, q.waiting)
	if n > 0 {
		q.noteMoved()
	}
	for i := range n {
		oldest := q.takeOldest()
		q.taken += oldest.size()
		each(i, oldest)
	}
	if q.closed && q.waiting == 0 {
		q.wake()
	}
	return n
}

// TakeAny takes a random event, and reports whether there was one.
func (q *Queue) TakeAny() (one Ref, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lockShards()
	q.unlockShards()
	if q.waiting == 0 {
		return one, false
	}
	n := rand.IntN(q.waiting)
	for _, sh := range q.shards {
		if n -= sh.waiting; n < 0 {
			one = sh.takeAny()
			break
		}
	}
	q.countTaken(one)
	return one, true
}

// TakeNewest takes the newest event, if it was accepted after since.
func (q *Queue) TakeNewest(since time.Time) (one Ref, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lockShards()
	q.unlockShards()
	var shard *shard
	var from *slab
	newest := int64(since.Sub(q.clock.start))
	for _, sh := range q.shards {
		if sh.waiting == 0 {
			continue
		}
		if s, at := sh.newest(); at >= newest {
			shard, from, newest = sh, s, at
		}
	}
	if from == nil {
		return one, false
	}
	one = shard.takeNewest(from)
	q.countTaken(one)
	return one, true
}

// countTaken counts an event that was not the oldest.
func (q *Queue) countTaken(r Ref) {
	q.noteMoved()
	q.waiting--
	q.taken += r.size()
	if q.closed && q.waiting == 0 {
		q.wake()
	}
}

// takeOldest takes the oldest event of all shards. There must be one.
func (q *Queue) takeOldest() Ref {
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
	q.waiting--
	return from.takeOldest()
}

// Retry notes that an attempt failed because of err, or that none was made if err is nil, and that
// another one follows. It returns the event in separate memory, because a delayed event must not keep a
// slab from being used again. It returns false if the event is settled already, or is lost because
// its memory has a fault.
func (q *Queue) Retry(r Ref, err error) (kept Ref, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || !r.home.holds(r, &q.spares) {
		return kept, false
	}
	if err != nil && len(q.waiters) > 0 {
		if w := q.waiters[r.ID()]; w != nil {
			w.failure = err
		}
	}
	if r.home.shard == nil { // has separate memory already
		r.home.turn++ // older Refs of the event are void
		return r.home.ref(r.slot), true
	}
	if kept, ok = r.home.split(r.slot); !ok {
		q.settle(r, Lost, errFault)
		q.lastErr = errFault
		return kept, false
	}
	r.home.mark(r.slot)
	r.home.states[r.slot] = settled
	r.home.shard.release(r.home)
	return kept, true
}

// Settle settles n events that were taken, which ref returns. It ignores an event that is
// settled already.
func (q *Queue) Settle(n int, ref func(int) Ref, o Outcome, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range n {
		r := ref(i)
		if q.ended || !r.home.holds(r, &q.spares) {
			continue
		}
		if o == Lost && (q.lastErr == nil || err != context.Canceled) {
			q.lastErr = err
		}
		q.settle(r, o, err)
	}
}

func (q *Queue) settle(r Ref, o Outcome, err error) {
	r.home.mark(r.slot)
	r.home.states[r.slot] = settled
	q.pending--
	size := r.size()
	q.bytes -= size
	q.taken -= size
	q.counters.count(o, 1)
	q.epochs.settled(r.home.epoch(r.slot))
	if len(q.waiters) > 0 {
		q.endWaiter(r.ID(), o, err)
	}
	if sh := r.home.shard; sh != nil {
		sh.release(r.home) // last, because another shard may use the slab from now on
	}
}

// Moved notes that n events that were Stored have ended as o since. It returns an error, and
// counts fewer, if there are fewer.
func (q *Queue) Moved(n int, o Outcome) (err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	moved := min(uint64(max(n, 0)), q.counters.Stored)
	if n < 0 || moved < uint64(n) {
		err = fmt.Errorf("footfall: Config.Transport called Moved(%d) with %d events stored", n, q.counters.Stored)
	}
	if moved > 0 && o == Lost {
		q.lastErr = errGivenUp
	}
	q.counters.Stored -= moved
	q.counters.count(o, moved)
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
	return q.snapshot()
}

// End counts every event that is not settled as dropped. It returns the final counters and
// why the last event was lost, or failure if none was.
func (q *Queue) End(failure error) (Counters, error) {
	q.lock()
	defer q.unlock()
	q.ended = true
	q.timer.Stop()
	q.counters.Dropped += uint64(q.pending)
	q.pending, q.waiting, q.bytes, q.taken = 0, 0, 0, 0
	for e := q.epochs.first; e != nil; e = e.after {
		close(e.done)
	}
	q.epochs = newEpochs()
	cause := cmp.Or(q.lastErr, failure)
	for id, w := range q.waiters {
		q.endWaiter(id, Lost, cmp.Or(w.failure, cause, ErrStopped))
	}
	return q.snapshot(), cause
}

// Counters returns the counts so far.
func (q *Queue) Counters() Counters {
	q.lock()
	defer q.unlock()
	return q.snapshot()
}

func (q *Queue) snapshot() Counters {
	c := q.counters
	c.Queued = uint64(q.pending)
	c.QueuedBytes = uint64(q.bytes)
	return c
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
