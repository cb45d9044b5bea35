package footfall

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
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
	misused    func(error)

	source *Source
	kick   chan struct{} // the source's trigger: something changed that Wait should look at
	timer  *time.Timer   // runs while armed; Wait reads it
	lanes  []*lane

	_ apart // Track reads what is above, and nothing changes it

	invalid   atomic.Uint64 // of Stats
	sanitized atomic.Uint64 // of Stats

	mu      sync.Mutex // locked before those of lanes
	waiting int        // accepted, not taken
	pending int        // accepted, not settled
	bytes   int        // of pending
	stats   Stats
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
	waiters map[uuid.UUID]*waiter
}

// maxLanes bounds what the memory of lanes and locking all of them cost on many cores.
const maxLanes = 8

func newQueue(cfg *Config, dropped func()) *queue {
	q := &queue{
		maxEvents:  cfg.MaxQueueEvents,
		maxBytes:   cfg.MaxQueueBytes,
		dropOldest: cfg.DropOldest,
		batch:      cfg.BatchSize,
		interval:   cfg.FlushInterval,
		wait:       cfg.FlushInterval,
		moved:      true,
		clock:      newClock(),
		dropped:    dropped,
		misused:    func(error) {},
		kick:       make(chan struct{}, 1),
		timer:      time.NewTimer(cfg.FlushInterval),
		spares:     spares{size: 64 << 10},
		epochs:     newEpochs(),
		waiters:    make(map[uuid.UUID]*waiter),
	}
	for range min(runtime.GOMAXPROCS(0), maxLanes) {
		q.lanes = append(q.lanes, &lane{clock: q.clock, spares: &q.spares})
	}
	q.timer.Stop()
	q.source = newSource(q, q.kick)
	return q
}

// Waiting implements Store.
func (q *queue) Waiting() (n int, more bool) {
	q.lock()
	defer q.unlock()
	return q.waiting, !q.closed || q.waiting > 0
}

// Take implements Store.
func (q *queue) Take(dst []Record) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 {
		q.look()
		q.letGo()
	}
	n := min(len(dst), q.waiting)
	if n > 0 {
		q.move()
	}
	for i := range n {
		dst[i] = q.take()
		q.taken += len(dst[i].Body)
	}
	if q.closed && q.waiting == 0 {
		q.wake()
	}
	return n
}

// TakeAny implements an optional method of Store.
func (q *queue) TakeAny(one []Record) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.look()
	q.letGo()
	if q.waiting == 0 {
		return false
	}
	n := rand.IntN(q.waiting)
	for _, l := range q.lanes {
		if n -= l.waiting; n < 0 {
			one[0] = l.takeAny()
			break
		}
	}
	q.took(one[0])
	return true
}

// TakeNewest implements an optional method of Store.
func (q *queue) TakeNewest(one []Record, since time.Time) bool {
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
		return false
	}
	one[0] = lane.takeNewest(from)
	q.took(one[0])
	return true
}

// took counts a record that was taken out of turn.
func (q *queue) took(r Record) {
	q.move()
	q.waiting--
	q.taken += len(r.Body)
	if q.closed && q.waiting == 0 {
		q.wake()
	}
}

// take returns the oldest record of all lanes. There must be one.
func (q *queue) take() Record {
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

// Retry implements Store. The record gets memory of its own: it may be kept for long, and
// must not keep a slab from being used again.
func (q *queue) Retry(r Record, err error) (kept Record, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || !r.home.holds(&r, &q.spares) {
		return r, false
	}
	if w := q.waiters[r.ID]; w != nil {
		w.failure = err
	}
	if r.home.lane == nil { // it has
		r.home.turn++ // other copies of the record are void
		r.turn = r.home.turn
		return r, true
	}
	kept = r.home.split(r.slot)
	kept.attempts = r.attempts
	r.home.states[r.slot] = settled
	r.home.lane.release(r.home)
	return kept, true
}

// Settle implements Store.
func (q *queue) Settle(records []Record, o Outcome, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range records {
		r := &records[i]
		if q.ended || !r.home.holds(r, &q.spares) {
			continue
		}
		if o == Lost && (q.lastErr == nil || err != context.Canceled) {
			q.lastErr = err
		}
		q.settle(r, o, err)
	}
}

func (q *queue) settle(r *Record, o Outcome, err error) {
	r.home.states[r.slot] = settled
	q.pending--
	size := r.home.size(r.slot) // not that of r.Body, which a Transport may have changed
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

// Moved implements an optional method of Store.
func (q *queue) Moved(n int, o Outcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	moved := min(uint64(max(n, 0)), q.stats.Stored)
	if n < 0 || moved < uint64(n) {
		q.misused(fmt.Errorf("footfall: Config.Transport called Moved(%d) with %d events stored", n, q.stats.Stored))
	}
	if moved > 0 && o == Lost {
		q.lastErr = errGivenUp
	}
	q.stats.Stored -= moved
	q.stats.count(o, moved)
}

func (s *Stats) count(o Outcome, n uint64) {
	switch o {
	case Delivered:
		s.Delivered += n
	case Rejected:
		s.Rejected += n
	case Stored:
		s.Stored += n
	default:
		s.Dropped += n
	}
}

// flush makes everything due and waits until what was accepted before is settled,
// or the transport has stopped, after which nothing is.
func (q *queue) flush(ctx context.Context, stopped <-chan struct{}) error {
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
		return q.unflushed(ctx.Err())
	}
}

// flushStopped tells a transport that settled everything from one that stopped
// before its time.
func (q *queue) flushStopped(e *epoch) error {
	if isClosed(e.done) {
		return nil
	}
	q.leave(e)
	return q.unflushed(errStopped)
}

func (q *queue) unflushed(err error) error {
	return &FlushError{Unsettled: q.read().Queued, Err: err, Cause: q.source.Failure()}
}

func (q *queue) leave(e *epoch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.epochs.leave(e)
	}
}

// close refuses new events and makes what is left due. It returns the counts at
// that moment, from which the account of Close starts.
func (q *queue) close() Stats {
	s := q.refuse()
	q.source.Close()
	return s
}

func (q *queue) refuse() Stats {
	q.lock()
	defer q.unlock()
	q.closed = true
	q.makeDue()
	return q.snapshot()
}

// end counts everything not settled as dropped, and returns the final counts and
// why the last attempt failed, or the last record was lost.
func (q *queue) end() (Stats, error) {
	q.lock()
	defer q.unlock()
	q.ended = true
	q.timer.Stop()
	q.source.delayed.Stop()
	q.stats.Dropped += uint64(q.pending)
	q.pending, q.waiting, q.bytes, q.taken = 0, 0, 0, 0
	for e := q.epochs.first; e != nil; e = e.after {
		close(e.done)
	}
	q.epochs = newEpochs()
	cause := cmp.Or(q.lastErr, q.source.Failure())
	for id, w := range q.waiters {
		q.tell(id, Lost, cmp.Or(w.failure, cause, errStopped))
	}
	return q.snapshot(), cause
}

func (q *queue) read() Stats {
	q.lock()
	defer q.unlock()
	return q.snapshot()
}

func (q *queue) snapshot() Stats {
	s := q.stats
	s.Invalid = q.invalid.Load()
	s.Sanitized = q.sanitized.Load()
	s.Queued = uint64(q.pending)
	s.QueuedBytes = uint64(q.bytes)
	return s
}
