package footfall

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/footfall-dev/footfall/internal/envelope"
	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/wire"
)

// The batcher is a [Source], its [Store] and the senders of a [Transport]. It holds every event that is
// not settled, as a [Record], in one of three places:
//
//   - waiting: never sent. The Store holds it: in a Tracker's queue in memory, or in a
//     file of a transport such as module spool.
//   - held: its last attempt failed, and the next one is due later; or it was never sent, and a circuit
//     breaker is open. The Source holds it. It still counts in the bounds of the Store.
//   - in flight: a sender holds it while its request is under way. A sender that fails gives
//     the event back and takes another one. It never sleeps with an event.
//
// So an event that cannot be delivered costs the others nothing except its own attempts and its room.
// What follows from each answer is in internal/retry/DESIGN.md.
//
// The goroutine of [Transport.Deliver] sleeps in [Source.Wait] and starts senders. A sender is a goroutine
// that takes events until it finds none. A Tracker's queue wakes the goroutine of Deliver for the first
// event after a pause, a full batch, and the end of the flush interval. [Source.Wake] wakes it when a held
// event is due, and for Flush and Close.
//
// Locks are taken in this order: the transport, the Store, the queue, the shards of the queue, the held
// events. The Source calls its Store without holding its lock, so a Store may call
// [Source.Reclaim] while it holds one.

// Store keeps the records that a [Source] hands out. It counts each record until the record is
// settled. Its methods are called from several goroutines at once. A Tracker has a Store in
// memory. A [Transport] that keeps records and passes them to another Transport implements
// Store, and gives the other Transport a [NewSource].
//
// A Store also implements [MovedStore] if the other Transport may settle records as OutcomeStored and
// report another outcome later.
//
// A Store whose records come from another Source reports failures to that Source with
// [Source.Keep] or [Source.Failed], so that Flush can name them.
type Store interface {
	// Waiting returns how many records Take would return. When more is false, the Store is
	// closed and gets no other records.
	Waiting() (n int, more bool)

	// Take moves up to len(dst) waiting records, oldest first, into dst and returns
	// how many. It never waits.
	Take(dst []Record) int

	// Retry notes that an attempt of r failed because of err, and that r is due again later. If
	// err is nil, no attempt was made, because a circuit breaker is open. The Source holds r from
	// then on: Waiting does not count it, and Take does not return it again.
	// Retry returns the record to keep until then, which may have another Body. It returns false
	// if r is settled already.
	Retry(r Record, err error) (kept Record, ok bool)

	// Settle settles records that were taken. It ignores a record that is settled already.
	Settle(records []Record, o Outcome, err error)
}

// MovedStore is a [Store] with records whose outcome may change after they were settled as OutcomeStored.
type MovedStore interface {
	Store

	// Moved changes the outcome of n records. See [Source.Moved].
	Moved(n int, o Outcome)
}

// Source supplies a [Transport] with records. Its methods may be called from several goroutines
// at once.
type Source struct {
	store   Store
	queue   *queue.Queue // of a Tracker; nil if a Transport has the Store
	trigger chan struct{}
	woken   atomic.Bool
	closing chan struct{}
	again   *time.Timer // wakes Deliver if no sender takes the records that are due
	overdue atomic.Bool // again has fired
	held    *retry.Held[*Record]
	turns   atomic.Uint32          // counts the records that Take has looked for while some were held
	failure atomic.Pointer[failed] // set by Failed

	once sync.Once // of Close
}

// NewSource returns a Source of the records of store. A [Transport] that passes records to
// another Transport needs it. Call [Source.Wake] when records are due, and [Source.Close] when
// the tracker closes.
func NewSource(store Store) *Source {
	s := &Source{store: store, trigger: make(chan struct{}, 1), closing: make(chan struct{})}
	s.again = time.AfterFunc(queue.LookAgain, func() {
		s.overdue.Store(true)
		s.Wake()
	})
	s.again.Stop()
	s.held = retry.NewHeld[*Record](s.Wake)
	return s
}

// Wait blocks until records are due and returns their number. Records are due when
//
//   - a record arrives after a pause of at least Config.FlushInterval,
//   - Config.BatchSize records are waiting,
//   - a record has waited for FlushInterval,
//   - a retry is due, or
//   - Flush, Close or Wake was called.
//
// It returns false when ctx has ended, or when the tracker is closed and no record is left.
func (s *Source) Wait(ctx context.Context) (waiting int, ok bool) {
	for ok = true; ok && waiting == 0; {
		waiting, ok = s.wait(ctx, func() bool { return true })
	}
	return waiting, ok
}

// wait is Wait, except that it also returns at the time that lookLater has set, and that after the
// tracker closes it returns false only if idle returns true: a sender may give back the record that it
// has in flight.
func (s *Source) wait(ctx context.Context, idle func() bool) (waiting int, ok bool) {
	var batch <-chan time.Time
	if s.queue != nil {
		batch = s.queue.Timer()
	}
	for {
		still := idle() // before look, because a sender may give its record back and end
		n, more := s.look()
		if s.overdue.Swap(false) || n > 0 {
			return n, true
		}
		if !more && still {
			s.signal() // wakes other goroutines in Wait
			return 0, false
		}
		select {
		case <-s.trigger:
		case <-batch:
			s.queue.TimeOver()
		case <-ctx.Done():
			return 0, false
		}
	}
}

// look returns the number of records that are due, and whether there may be others.
func (s *Source) look() (due int, more bool) {
	woken := s.woken.Swap(false)
	waiting, more := 0, true
	if s.queue != nil {
		waiting, more = s.queue.DueBatch(woken)
	} else {
		waiting, more = s.waiting(woken)
	}
	if waiting > 0 || woken {
		held, _ := s.held.Due(time.Now())
		due = waiting + held
	}
	return due, more || s.held.Waits()
}

// waiting returns the number of records in the store, or 0 if due is false.
func (s *Source) waiting(due bool) (n int, more bool) {
	n, more = s.store.Waiting()
	if n > 0 {
		s.again.Reset(queue.LookAgain)
	}
	if !due {
		n = 0
	}
	return n, more
}

// lookLater wakes Wait after the given time if retries are due, because the sender that should take
// them may be stuck with a request that gets no answer, or may have left them for later. If again is not
// zero, it wakes Wait after that time at the latest.
func (s *Source) lookLater(after, again time.Duration) {
	if due, _ := s.held.Due(time.Now()); due > 0 && (again == 0 || after < again) {
		again = after
	}
	if again > 0 {
		s.again.Reset(again)
	}
}

// Wake makes Wait return if there is a record to take.
func (s *Source) Wake() {
	s.woken.Store(true)
	s.signal()
}

func (s *Source) signal() {
	select {
	case s.trigger <- struct{}{}:
	default: // Wait has not looked since the last one
	}
}

// Waiting returns about how many records Take would return. When more is false, the tracker is
// closed and no other records follow, except records that are given back.
func (s *Source) Waiting() (n int, more bool) {
	n, more = s.store.Waiting()
	due, doubtful := s.held.Due(time.Now())
	return n + due - doubtful, more || s.held.Waits()
}

// Take moves up to len(dst) records that are due into dst and returns how many: records that were never
// sent, oldest first, and records that failed before, alternately while there are both. It never blocks.
func (s *Source) Take(dst []Record) int {
	n := 0
	for ; n < len(dst) && s.held.Some(); n++ {
		again := s.turns.Add(1)%2 == 0
		if !(again && s.takeHeld(dst[n:], retry.Retry) || s.takeWaiting(dst[n:n+1]) || s.takeHeld(dst[n:], retry.Retry)) {
			break
		}
	}
	n += s.store.Take(dst[n:])
	if s.isClosing() {
		for i := range dst[:n] {
			dst[i].attempts.AtClose = true
		}
	}
	return n
}

// takeWaiting takes a record that was never sent.
func (s *Source) takeWaiting(one []Record) bool { return s.store.Take(one) == 1 }

// takeHeld takes a held record.
func (s *Source) takeHeld(one []Record, p retry.Pick) bool {
	e, ok := s.held.Take(p, time.Now())
	if ok {
		one[0] = *e.Value
	}
	return ok
}

// Retry gives back a record whose attempt failed because of err. The record is due again after
// wait, or at once when the tracker closes. A record that was taken while the tracker was
// closing is due again only if a record of this Source is settled after that, other than as
// OutcomeLost. The transports of this package, which do not call Retry, also send such a record
// again if the API has settled an event at any time in the life of the process, or if they store events.
func (s *Source) Retry(r Record, wait time.Duration, err error) {
	r.attempts.Failures++
	s.hold(r, retry.Event[*Record]{Wait: wait, Err: err}, retry.Block{}, time.Now())
}

// hold holds a record whose attempt failed, or that was taken and not sent. e has what the record
// does not tell.
func (s *Source) hold(r Record, e retry.Event[*Record], b retry.Block, now time.Time) {
	kept, ok := s.store.Retry(r, e.Err)
	if !ok {
		s.held.Settled(uuid.UUID(r.ID))
		return
	}
	e.ID, e.Size, e.AtClose, e.Value = uuid.UUID(kept.ID), len(kept.Body), kept.attempts.AtClose, &kept
	s.held.Add(e, b, now)
}

// Settle settles records that were taken, all with the same outcome. err is the reason why they
// were not delivered. The caller must not use their Body afterwards. Settle does not keep the
// slice.
func (s *Source) Settle(records []Record, o Outcome, err error) {
	s.store.Settle(records, o, err)
	if len(records) == 0 {
		return
	}
	if o != OutcomeLost && s.isClosing() {
		s.accept()
	}
	for i := range records {
		if records[i].attempts.Failures > 0 {
			s.held.Settled(uuid.UUID(records[i].ID))
		}
	}
	if o != OutcomeLost && s.failure.Load() != nil {
		s.failure.Store(nil)
	}
}

// accept makes records that failed since the tracker began to close due again, because the API
// has settled one.
func (s *Source) accept() {
	if s.held.Resume() {
		s.Wake()
	}
}

// Moved changes the outcome of n records from OutcomeStored to o, and [Stats] counts them there. It
// applies only to records of this Source, not to records that a store has from an earlier
// process.
func (s *Source) Moved(n int, o Outcome) {
	if store, ok := s.store.(MovedStore); ok {
		store.Moved(n, o)
	}
}

// Reclaim takes back the oldest record that waits for another attempt. A Store calls it when it
// needs the memory of the record. due is when the record would have been sent again at the earliest, also
// because of a Retry-After: a Store that gives it to another process says so. The caller may hold the Store's lock.
func (s *Source) Reclaim() (r Record, due time.Time, ok bool) {
	kept, due, ok := s.held.Reclaim()
	if !ok {
		return r, due, false
	}
	return *kept, due, true
}

// Keep copies a record that was taken to separate memory, because it may stay in flight for
// long, and notes err as the reason why it is not settled. It returns the record to settle in
// place of r, or false if r is settled already. It is for a Store whose records come from this
// Source.
func (s *Source) Keep(r Record, err error) (kept Record, ok bool) {
	if err != nil {
		s.Failed(err)
	}
	return s.store.Retry(r, err)
}

// Failed notes why records are not settled yet, if the reason is not a failed attempt.
// [Tracker.Flush] and [Tracker.TrackDurable] report it when their context ends.
func (s *Source) Failed(err error) { s.failure.Store(&failed{time.Now(), err}) }

// failed is an error that keeps records from being settled, and its time.
type failed struct {
	at  time.Time
	err error
}

// Failure returns why the last attempt failed, among events that are not settled, or nil.
func (s *Source) Failure() error {
	at, err := s.held.LastError()
	if last := s.failure.Load(); last != nil && !last.at.Before(at) {
		return last.err
	}
	return err
}

// Closing returns a channel that is closed when the tracker closes.
func (s *Source) Closing() <-chan struct{} { return s.closing }

func (s *Source) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Close makes every record due. The owner of the Store calls it when the tracker closes. Calls
// after the first do nothing.
func (s *Source) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.held.Close()
		s.Wake()
	})
}

// newMemorySource returns the Source of a Tracker, whose records are in a queue in memory. misused
// reports a Transport that breaks its contract.
func newMemorySource(cfg *Config, dropped func(), misused func(error)) *Source {
	s := NewSource(nil)
	memory, fault := memoryOf(cfg)
	s.queue = queue.New(queue.Options{
		MaxEvents:  cfg.MaxQueueEvents,
		MaxBytes:   cfg.MaxQueueBytes,
		DropOldest: cfg.DropOldest,
		BatchSize:  cfg.BatchSize,
		Interval:   cfg.FlushInterval,
		Delayed:    delayed{s.held},
		Dropped:    dropped,
		Memory:     memory,
		Fault:      fault,
	})
	s.trigger = s.queue.Trigger()
	s.store = &memoryStore{s.queue, misused}
	return s
}

// memoryStore is the Store of a Tracker: a queue in memory.
type memoryStore struct {
	queue   *queue.Queue
	misused func(error)
}

var (
	_ Store         = (*memoryStore)(nil)
	_ MovedStore    = (*memoryStore)(nil)
	_ queue.Delayed = delayed{}
)

// newRecord returns the Record of an event. If the memory of the event has a fault, its Body cannot be read either.
func newRecord(ref queue.Ref) Record {
	r := Record{ID: EventID(ref.ID()), Body: ref.Body(), ref: ref}
	ref.Read(func(packed []byte) { r.Key, r.Body = envelope.Split(packed) })
	return r
}

// Waiting implements Store.
func (s *memoryStore) Waiting() (n int, more bool) { return s.queue.Waiting() }

// Take implements Store.
func (s *memoryStore) Take(dst []Record) int {
	return s.queue.Take(len(dst), func(i int, ref queue.Ref) {
		dst[i] = newRecord(ref)
	})
}

// Retry implements Store.
func (s *memoryStore) Retry(r Record, err error) (kept Record, ok bool) {
	ref, ok := s.queue.Retry(r.ref, err)
	if ok {
		attempts := r.attempts
		r = newRecord(ref)
		r.attempts = attempts
	}
	return r, ok
}

// Settle implements Store.
func (s *memoryStore) Settle(records []Record, o Outcome, err error) {
	s.queue.Settle(len(records), func(i int) queue.Ref { return records[i].ref }, queue.Outcome(o), err)
}

// Moved implements MovedStore.
func (s *memoryStore) Moved(n int, o Outcome) {
	if err := s.queue.Moved(n, queue.Outcome(o)); err != nil {
		s.misused(err)
	}
}

// delayed is the held events of a Tracker, as the queue sees them.
type delayed struct{ *retry.Held[*Record] }

// Reclaim implements queue.Delayed.
func (d delayed) Reclaim() (ref queue.Ref, ok bool) {
	r, _, ok := d.Held.Reclaim()
	if !ok {
		return ref, false
	}
	return r.ref, true
}

// IsBlocked implements queue.Delayed.
func (d delayed) IsBlocked(packed []byte) bool {
	_, body := envelope.Split(packed)
	return d.Held.IsBlocked(retry.NewKind(wire.SiteAndName(body)))
}
