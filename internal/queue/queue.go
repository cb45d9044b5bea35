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

// queue is the bounded queue between Track and the transport: the [Store] of a tracker's
// Source. Whatever is accepted stays counted here until it is settled, whether it waits, is
// delayed or in flight, so the bounds hold for all of it.
type queue struct {
	maxEvents  int
	maxBytes   int
	dropOldest bool
	batch      int
	interval   time.Duration
	clock      *clock
	dropped    func() // told, under the lock, that an accepted event was dropped
	delayed    Delayed

	kick  chan struct{} // see Trigger
	timer *time.Timer   // runs while armed; Wait reads it
	lanes []*lane

	_ apart // Track reads what is above, and nothing changes it

	mu      sync.Mutex // locked before those of lanes
	waiting int        // accepted, not taken
	pending int        // accepted, not settled
	bytes   int        // of pending
	stats   Counters
	epochs  epochs
	spares  spares
	fresh   int // accepted since the last batch was due
	due     bool
	armed   bool          // the timer runs
	paced   bool          // armed for the pause after a full batch
	moved   bool          // events were taken since the last batch was due
	wait    time.Duration // after a batch was due, until the next that is not full
	alarm   time.Duration // what unlock sets the timer to, unless zero
	ring    bool          // unlock wakes Wait
	closed  bool
	ended   bool  // given up: what is settled from here on was counted already
	taken   int   // bytes of pending that are taken
	lastErr error // why a record was last settled as Lost
	waiters map[uuid.UUID]*Waiter
}

// maxLanes bounds what the memory of lanes and locking all of them cost on many cores.
const maxLanes = 8

// New returns an empty queue.
func New(o Options) *queue {
	q := &queue{
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
		kick:       make(chan struct{}, 1),
		timer:      time.NewTimer(o.Interval),
		spares:     spares{size: 64 << 10},
		epochs:     newEpochs(),
		waiters:    make(map[uuid.UUID]*Waiter),
	}
	for range min(runtime.GOMAXPROCS(0), maxLanes) {
		q.lanes = append(q.lanes, &lane{clock: q.clock, spares: &q.spares})
	}
	q.timer.Stop()
	return q
}

// Waiting returns how many events Take would return. When more is false the queue is closed,
// and no others will come.
func (q *queue) Waiting() (n int, more bool) {
	q.lock()
	defer q.unlock()
	return q.waiting, !q.closed || q.waiting > 0
}

// Take takes up to most events, oldest first, calls each with every one and its number from 0
// on, and returns how many there were.
func (q *queue) Take(most int, each func(int, Item)) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 {
		q.look()
		q.letGo()
	}
	n := min(most, q.waiting)
	if n > 0 {
		q.move()
	}
	for i := range n {
		oldest := q.take()
		q.taken += len(oldest.Body)
		each(i, oldest)
	}
	if q.closed && q.waiting == 0 {
		q.wake()
	}
	return n
}

// TakeAny takes an event from anywhere, at random, and reports whether there was one.
func (q *queue) TakeAny() (one Item, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.look()
	q.letGo()
	if q.waiting == 0 {
		return one, false
	}
	n := rand.IntN(q.waiting)
	for _, l := range q.lanes {
		if n -= l.waiting; n < 0 {
			one = l.takeAny()
			break
		}
	}
	q.took(one)
	return one, true
}

// TakeNewest takes the newest event, if it came after since.
func (q *queue) TakeNewest(since time.Time) (one Item, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.look()
	q.letGo()
	var lane *lane
	var from *slab
	newest := int64(since.Sub(q.clock.start))
	for _, l := range q.lanes {
		if l.waiting == 0 {
			continue
		}
		if s, at := l.newest(); at >= newest {
			lane, from, newest = l, s, at
		}
	}
	if from == nil {
		return one, false
	}
	one = lane.takeNewest(from)
	q.took(one)
	return one, true
}

// took counts a record that was taken out of turn.
func (q *queue) took(r Item) {
	q.move()
	q.waiting--
	q.taken += len(r.Body)
	if q.closed && q.waiting == 0 {
		q.wake()
	}
}

// take returns the oldest record of all lanes. There must be one.
func (q *queue) take() Item {
	var from *lane
	var oldest int64
	for _, l := range q.lanes {
		if l.waiting == 0 {
			continue
		}
		if at := l.oldest().at; from == nil || at < oldest {
			from, oldest = l, at
		}
	}
	q.waiting--
	return from.take()
}

// Retry is told that an attempt failed because of err and that there will be another. The
// event gets memory of its own: it may be kept for long, and must not keep a slab from being
// used again. It returns false if the event has ended meanwhile.
func (q *queue) Retry(r Ref, err error) (kept Item, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || !r.home.holds(r, &q.spares) {
		return kept, false
	}
	if len(q.waiters) > 0 {
		if w := q.waiters[r.home.id(r.slot)]; w != nil {
			w.failure = err
		}
	}
	if r.home.lane == nil { // it has
		r.home.turn++ // other copies of the Ref are void
		return r.home.item(r.slot), true
	}
	kept = r.home.split(r.slot)
	r.home.states[r.slot] = settled
	r.home.lane.release(r.home)
	return kept, true
}

// Settle ends n events that were taken; ref returns each of them. One that has ended before is
// ignored.
func (q *queue) Settle(n int, ref func(int) Ref, o Outcome, err error) {
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

func (q *queue) settle(r Ref, o Outcome, err error) {
	r.home.states[r.slot] = settled
	q.pending--
	size := r.home.size(r.slot) // not of the Body, which a Transport may have changed
	q.bytes -= size
	q.taken -= size
	q.stats.count(o, 1)
	q.epochs.settled(r.home.epoch(r.slot))
	if len(q.waiters) > 0 {
		q.tell(r.home.id(r.slot), o, err)
	}
	if l := r.home.lane; l != nil {
		l.release(r.home) // the last: another lane may have the slab now
	}
}

// Moved counts n events that were Stored as ended in another way since. It returns an error,
// and counts fewer, if there are not so many.
func (q *queue) Moved(n int, o Outcome) (err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	moved := min(uint64(max(n, 0)), q.stats.Stored)
	if n < 0 || moved < uint64(n) {
		err = fmt.Errorf("footfall: Config.Transport called Moved(%d) with %d events stored", n, q.stats.Stored)
	}
	if moved > 0 && o == Lost {
		q.lastErr = errGivenUp
	}
	q.stats.Stored -= moved
	q.stats.count(o, moved)
	return err
}

// Flush makes everything due and waits until what was accepted before is settled,
// or the transport has stopped, after which nothing is.
func (q *queue) Flush(ctx context.Context, stopped <-chan struct{}) error {
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

// flushStopped tells a transport that settled everything from one that stopped
// before its time.
func (q *queue) flushStopped(e *epoch) error {
	if isClosed(e.done) {
		return nil
	}
	q.leave(e)
	return ErrStopped
}

func (q *queue) leave(e *epoch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.epochs.leave(e)
	}
}

// Close refuses new events and makes what is left due. It returns the counters at that
// moment.
func (q *queue) Close() Counters {
	q.lock()
	defer q.unlock()
	q.closed = true
	q.makeDue()
	return q.snapshot()
}

// End counts everything not settled as dropped, and returns the final counters and why the
// last event was lost, or else failure.
func (q *queue) End(failure error) (Counters, error) {
	q.lock()
	defer q.unlock()
	q.ended = true
	q.timer.Stop()
	q.stats.Dropped += uint64(q.pending)
	q.pending, q.waiting, q.bytes, q.taken = 0, 0, 0, 0
	for e := q.epochs.first; e != nil; e = e.after {
		close(e.done)
	}
	q.epochs = newEpochs()
	cause := cmp.Or(q.lastErr, failure)
	for id, w := range q.waiters {
		q.tell(id, Lost, cmp.Or(w.failure, cause, ErrStopped))
	}
	return q.snapshot(), cause
}

// Counters returns the counts so far.
func (q *queue) Counters() Counters {
	q.lock()
	defer q.unlock()
	return q.snapshot()
}

func (q *queue) snapshot() Counters {
	c := q.stats
	c.Queued = uint64(q.pending)
	c.QueuedBytes = uint64(q.bytes)
	return c
}
