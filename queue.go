package footfall

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// queue is the bounded queue between Track and the transport: the tracker's
// Source. Whatever is accepted stays counted here, waiting or taken, until it is
// settled, so the bounds hold for all of it.
type queue struct {
	maxEvents  int
	maxBytes   int
	dropOldest bool
	batch      int
	interval   time.Duration
	dropped    func() // told, under the lock, that an accepted event was dropped

	kick    chan struct{} // one slot: something changed that Wait should look at
	timer   *time.Timer   // runs while armed; Wait reads it
	closing chan struct{}

	// The fields that Track changes come first: they share few cache lines.
	mu      sync.Mutex
	waiting int // accepted, not taken
	pending int // accepted, not settled
	bytes   int // of pending
	stats   Stats
	epochs  epochs
	slabs   slabs
	fresh   int   // accepted since the last batch was due
	woken   int64 // when that was because of its size, in ns
	due     bool
	armed   bool
	closed  bool
	ended   bool  // given up: what is settled from here on was counted already
	taken   int   // bytes of pending that are taken
	lastErr error // why a record was last settled as Lost
	waiters map[uuid.UUID]*waiter
}

func newQueue(cfg *Config, dropped func()) *queue {
	q := &queue{
		maxEvents:  cfg.MaxQueueEvents,
		maxBytes:   cfg.MaxQueueBytes,
		dropOldest: cfg.DropOldest,
		batch:      cfg.BatchSize,
		interval:   cfg.FlushInterval,
		dropped:    dropped,
		kick:       make(chan struct{}, 1),
		timer:      time.NewTimer(cfg.FlushInterval),
		closing:    make(chan struct{}),
		slabs:      slabs{size: 64 << 10},
		epochs:     newEpochs(),
		waiters:    make(map[uuid.UUID]*waiter),
	}
	q.timer.Stop()
	return q
}

const pace = time.Millisecond

// put accepts an event, copying body, or says why not.
func (q *queue) put(now int64, body []byte, redacted int, w *waiter) error {
	id := newID(now)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.stats.Refused++
		return ErrClosed
	}
	if !q.makeRoom(len(body)) {
		q.stats.Refused++
		return ErrQueueFull
	}
	q.slabs.add(id, body, q.epochs.last)
	q.epochs.last.pending++
	q.waiting++
	q.pending++
	q.bytes += len(body)
	q.stats.Tracked++
	q.stats.Redacted += uint64(redacted)
	if w != nil {
		w.id = id.uuid()
		q.waiters[w.id] = w
		q.makeDue()
		return nil
	}
	q.schedule(now)
	return nil
}

// makeRoom drops nothing unless that makes enough room.
func (q *queue) makeRoom(n int) bool {
	full := func(events, bytes int) bool { return events >= q.maxEvents || bytes+n > q.maxBytes }
	if !q.dropOldest || full(q.pending-q.waiting, q.taken) {
		return !full(q.pending, q.bytes)
	}
	for full(q.pending, q.bytes) {
		q.drop()
	}
	return true
}

// drop gives up the oldest event that is not on its way yet.
func (q *queue) drop() {
	r := q.slabs.take()
	q.waiting--
	q.taken += len(r.Body)
	q.settle(&r, Lost, ErrQueueFull)
	q.dropped()
}

// schedule makes a batch due when enough events came, else at the end of the
// interval. It acts on the event that fills the batch; what comes after that, until
// the batch is taken, rides along.
func (q *queue) schedule(now int64) {
	q.fresh++
	switch {
	case q.fresh < q.batch:
		q.arm()
	case q.fresh == q.batch && now < q.woken+int64(pace):
		q.armed = true
		q.timer.Reset(pace)
	case q.fresh == q.batch:
		q.woken = now
		q.makeDue()
	}
}

func (q *queue) arm() {
	if !q.armed {
		q.armed = true
		q.timer.Reset(q.interval)
	}
}

func (q *queue) makeDue() {
	q.fresh = 0
	q.due = true
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.kick <- struct{}{}:
	default: // Wait has not looked since the last one
	}
}

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
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 {
		if q.closed {
			q.wake() // whoever else is in Wait
		}
		return 0, q.closed
	}
	if !q.due {
		return 0, false
	}
	q.due = false
	q.arm() // to look again, should nobody take them
	return q.waiting, true
}

func (q *queue) intervalOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed = false
	q.fresh = 0
	q.due = q.waiting > 0
}

// Take implements Source.
func (q *queue) Take(dst []Record) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(dst), q.waiting)
	for i := range n {
		dst[i] = q.slabs.take()
		q.taken += len(dst[i].Body)
	}
	q.waiting -= n
	if q.closed && q.waiting == 0 {
		q.wake()
	}
	return n
}

// Settle implements Source.
func (q *queue) Settle(records []Record, o Outcome, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range records {
		r := &records[i]
		if q.ended || !r.home.holds(r) {
			continue
		}
		if o == Lost {
			q.lastErr = err
		}
		q.settle(r, o, err)
	}
}

func (q *queue) settle(r *Record, o Outcome, err error) {
	e := &r.home.entries[r.slot]
	e.settled = true
	q.pending--
	size := r.home.size(r.slot) // not that of r.Body, which a Transport may have changed
	q.bytes -= size
	q.taken -= size
	q.stats.count(o, 1)
	q.epochs.settled(e.epoch)
	q.slabs.settled(r.home)
	if len(q.waiters) > 0 {
		q.tell(r.ID, o, err)
	}
}

// Moved implements Source.
func (q *queue) Moved(n int, o Outcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Stored -= uint64(n)
	q.stats.count(o, uint64(n))
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

// Closing implements Source.
func (q *queue) Closing() <-chan struct{} { return q.closing }

// flush makes everything due and waits until what was accepted before is settled,
// or the transport has stopped, after which nothing is.
func (q *queue) flush(ctx context.Context, stopped <-chan struct{}) error {
	q.mu.Lock()
	e, settled := q.epochs.seal()
	if !settled {
		q.makeDue()
	}
	q.mu.Unlock()
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
		return fmt.Errorf("footfall: flush: %d events not settled yet: %w", q.read().Queued, ctx.Err())
	}
}

// flushStopped tells a transport that settled everything from one that stopped
// before its time.
func (q *queue) flushStopped(e *epoch) error {
	if isClosed(e.done) {
		return nil
	}
	q.leave(e)
	return fmt.Errorf("footfall: flush: %d events not settled: %w", q.read().Queued, errStopped)
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
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.closing)
	q.makeDue()
	return q.snapshot()
}

// end counts everything not settled as dropped, and returns the final counts and
// the reason that the transport last gave for losing a record.
func (q *queue) end() (Stats, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.timer.Stop()
	q.stats.Dropped += uint64(q.pending)
	q.pending, q.waiting, q.bytes, q.taken = 0, 0, 0, 0
	for e := q.epochs.first; e != nil; e = e.after {
		close(e.done)
	}
	q.epochs = newEpochs()
	for id := range q.waiters {
		q.tell(id, Lost, errStopped)
	}
	return q.snapshot(), q.lastErr
}

func (q *queue) invalid() {
	q.mu.Lock()
	q.stats.Invalid++
	q.mu.Unlock()
}

func (q *queue) read() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.snapshot()
}

func (q *queue) snapshot() Stats {
	s := q.stats
	s.Queued = uint64(q.pending)
	s.QueuedBytes = uint64(q.bytes)
	return s
}
