package footfall

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/retry"
)

// The batcher holds every event that is not settled, in one of three places:
//
//   - waiting: never sent. The Store has it: for a Tracker its queue, in memory; for a
//     transport such as module spool, a file.
//   - delayed: its last attempt failed, and the next one is due later. The Source has it.
//   - in flight: a sender has it, and only while its request is under way. A sender that
//     fails gives the event back and takes another. It never sleeps with an event.
//
// So an event that cannot be delivered costs the others nothing but its own attempts.
//
// One goroutine, the one in [Transport.Deliver], sleeps in [Source.Wait] and starts
// senders. Whatever may give it work calls [Source.Wake]: the first event after a pause, a
// full batch, the end of the flush interval, a retry that is due, the circuit breaker, Flush
// and Close.
//
// Locks are taken in this order: those of a transport, the circuit breaker's, the queue's,
// the shards', and last that of the delayed events. The Source calls its Store with none of
// its own locks held, so that a Store may call [Source.Reclaim] with the Store's lock held.

// Store keeps the records that a [Source] hands out: those that wait for their first
// attempt, and the account of all that are not settled. Its methods are called from several
// goroutines at once. A Tracker has one in memory. A [Transport] that keeps records and
// hands them on to another one implements Store and gives that one a [NewSource].
//
// A Store may have three more methods. TakeAny(one []Record) bool takes a waiting record from
// anywhere, at random, and reports whether there was one. A circuit breaker that is open tries
// the API with it: of events in a row, all may fail for the same reason. TakeNewest(one
// []Record, since time.Time) bool takes the newest one, if it came after since. Moved(n int, o
// Outcome) is needed for a transport that settles records as Stored; see [Source.Moved].
//
// A Store whose records are those of another Source tells that one of failures, with
// [Source.Keep] or [Source.Failed], so that Flush can name them.
type Store interface {
	// Waiting returns how many records Take would return. When more is false the Store
	// is closed, and no others will come.
	Waiting() (n int, more bool)

	// Take moves up to len(dst) waiting records, oldest first, into dst and returns
	// how many. It never waits.
	Take(dst []Record) int

	// Retry is told that an attempt of r failed and that r is due again later. It
	// returns the record to keep until then, whose Body may be elsewhere, or false if
	// r has ended meanwhile.
	Retry(r Record, err error) (kept Record, ok bool)

	// Settle ends records that were taken. A record that has ended before is ignored.
	Settle(records []Record, o Outcome, err error)
}

// Source is what a [Transport] takes records from. Its methods may be called from several
// goroutines at once.
type Source struct {
	store   Store
	queue   *queue.Queue // of the Store, if it is a Tracker's
	trigger chan struct{}
	woken   atomic.Bool
	closing chan struct{}
	again   *time.Timer // to look once more at what nobody has taken
	delayed *retry.Delayed[Record]
	failure atomic.Pointer[failed] // see Failed

	once sync.Once // of Close
}

// NewSource returns a Source of the records of store, for a [Transport] that stands in
// front of another. Call [Source.Wake] when records are to be taken, and [Source.Close]
// when the tracker closes.
func NewSource(store Store) *Source {
	return newSource(store, make(chan struct{}, 1))
}

func newSource(store Store, trigger chan struct{}) *Source {
	s := &Source{store: store, trigger: trigger, closing: make(chan struct{})}
	if own, ok := store.(*memoryStore); ok {
		s.queue = own.queue
	}
	s.again = time.AfterFunc(queue.LookAgain, s.Wake)
	s.again.Stop()
	s.delayed = retry.NewDelayed[Record](s.Wake)
	return s
}

// Wait returns when records are to be taken: a record comes after a pause of at least
// Config.FlushInterval, Config.BatchSize of them are waiting, one has waited for
// FlushInterval, a retry is due, or Flush, Close or Wake was called. It
// returns the number of records to take, or false when ctx has ended, or the tracker is
// closed and no record is left to take.
func (s *Source) Wait(ctx context.Context) (waiting int, ok bool) {
	return s.wait(ctx, func() bool { return true })
}

// wait is Wait which, once the tracker is closed, returns false only if idle does too:
// whatever is in flight may be given back.
func (s *Source) wait(ctx context.Context, idle func() bool) (waiting int, ok bool) {
	var batch <-chan time.Time
	if s.queue != nil {
		batch = s.queue.Timer()
	}
	for {
		still := idle() // before look, for a sender may give back what it had and end
		n, more := s.look()
		if n > 0 {
			return n, true
		}
		if !more && still {
			s.signal() // other goroutines that wait
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
		due = waiting + s.delayed.Due(time.Now())
	}
	return due, more || s.delayed.Waits()
}

// waiting returns how many records wait if they are due.
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

// lookLater makes Wait tell again of retries that are due, after the given time: the sender that
// was to take them may wait for an answer that never comes.
func (s *Source) lookLater(after time.Duration) {
	if s.delayed.Due(time.Now()) > 0 {
		s.again.Reset(after)
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

// Waiting returns how many records Take would return, more or less. When more is false,
// the tracker is closed and no others will come, except those that are given back.
func (s *Source) Waiting() (n int, more bool) {
	n, more = s.store.Waiting()
	return n + s.delayed.Due(time.Now()), more || s.delayed.Waits()
}

// Take moves up to len(dst) records that are due into dst, oldest first, and returns how
// many. It never waits.
func (s *Source) Take(dst []Record) int {
	n := 0
	for n < len(dst) && s.delayed.Some() && s.next(dst[n:n+1], true, true) {
		n++
	}
	if n < len(dst) {
		fresh := s.store.Take(dst[n:])
		for i := range fresh {
			s.handOut(dst[n+i:], true)
		}
		n += fresh
	}
	return n
}

// next takes one record. While fresh ones are waiting, retries that are due have every other
// turn, and suspects, if they are wanted, one turn in ten unless it is not their turn.
func (s *Source) next(one []Record, suspects, turn bool) bool {
	return s.handOut(one, s.pick(one, suspects, turn))
}

// handOut notes whether a record is handed out while the tracker closes.
func (s *Source) handOut(one []Record, ok bool) bool {
	if ok && isClosed(s.closing) {
		one[0].attempts.HandOut()
	}
	return ok
}

func (s *Source) pick(one []Record, suspects, turn bool) bool {
	if !s.delayed.Some() {
		return s.store.Take(one) == 1
	}
	retry, suspect := s.delayed.Turn()
	return retry && s.delayed.Take(one, false) ||
		suspects && turn && suspect && s.delayed.Take(one, true) ||
		s.store.Take(one) == 1 ||
		s.delayed.Take(one, false) ||
		suspects && s.delayed.Take(one, true)
}

// untried takes one record that has had no attempt since the tracker closes.
func (s *Source) untried(one []Record) bool {
	return s.handOut(one, s.store.Take(one) == 1 || s.delayed.TakeUntried(one))
}

// news takes a record that was never sent and came after since, if that is not zero.
func (s *Source) news(one []Record, since time.Time) bool {
	if since.IsZero() {
		return s.handOut(one, s.fresh(one))
	}
	store, ok := s.store.(interface {
		TakeNewest(one []Record, since time.Time) bool
	})
	return ok && s.handOut(one, store.TakeNewest(one, since))
}

// fresh takes one record that was never sent, from anywhere.
func (s *Source) fresh(one []Record) bool {
	if store, ok := s.store.(interface{ TakeAny([]Record) bool }); ok {
		return store.TakeAny(one)
	}
	return s.store.Take(one) == 1
}

// probe takes one record to try an API with that did not accept the last one. A retry
// need not be due by itself, unless it is a suspect: it waits for the API.
func (s *Source) probe(one []Record, retryFirst bool) bool {
	if retryFirst {
		return s.handOut(one, s.delayed.TakeProbe(one) || s.fresh(one))
	}
	return s.handOut(one, s.fresh(one) || s.delayed.TakeProbe(one))
}

// Retry gives back a record whose attempt failed because of err. It is due again after
// wait, and at once when the tracker closes. A record that was taken when the tracker was
// closing is due again only if the API settles another.
func (s *Source) Retry(r Record, wait time.Duration, err error) {
	kept, ok := s.store.Retry(r, err)
	if !ok {
		s.delayed.Settled(r.ID)
		return
	}
	kept.attempts.Failures++
	s.delayed.Add(retry.Event[Record]{
		ID:      kept.ID,
		Size:    len(kept.Body),
		Suspect: kept.attempts.Suspect(),
		AtClose: kept.attempts.AtClose,
		Value:   kept,
		Wait:    wait,
		Err:     err,
	})
}

// Settle ends records that were taken, all of them in the same way; err says why they were
// not delivered. Their Body must not be used afterwards. The slice stays the caller's.
func (s *Source) Settle(records []Record, o Outcome, err error) {
	s.store.Settle(records, o, err)
	if len(records) == 0 {
		return
	}
	if (o == Delivered || o == Rejected) && isClosed(s.closing) {
		s.accept()
	}
	for i := range records {
		if records[i].attempts.Failures > 0 {
			s.delayed.Settled(records[i].ID)
		}
	}
	if o != Lost && s.failure.Load() != nil {
		s.failure.Store(nil)
	}
}

// accept makes what has failed since the tracker closes due again: the API has settled
// something.
func (s *Source) accept() {
	if s.delayed.Resume() {
		s.Wake()
	}
}

// Moved is told that n records that were settled as Stored have ended as o since, so that
// [Stats] counts them there. It is for records of this Source only, not for those that a
// store has from an earlier process.
func (s *Source) Moved(n int, o Outcome) {
	if store, ok := s.store.(interface{ Moved(n int, o Outcome) }); ok {
		store.Moved(n, o)
	}
}

// Reclaim takes back the oldest of the records that wait for another attempt, for a Store
// that needs its room. The Store may hold its own lock.
func (s *Source) Reclaim() (r Record, ok bool) { return s.delayed.Reclaim() }

// Keep moves a record that was taken to memory of its own, because it may stay in flight
// for long, and notes why it is not settled. It returns the record to settle in place of r, or
// false if that has ended. It is for a Store whose records are those of this Source.
func (s *Source) Keep(r Record, err error) (kept Record, ok bool) {
	s.Failed(err)
	return s.store.Retry(r, err)
}

// Failed notes why records are not settled yet, if that is not the failure of an attempt.
// [Tracker.Flush] and [Tracker.TrackDurable] name it when their time is over.
func (s *Source) Failed(err error) { s.failure.Store(&failed{time.Now(), err}) }

// failed is why records are not settled, and since when.
type failed struct {
	at  time.Time
	err error
}

// Failure returns why the last attempt failed of the events that are not settled, or nil.
func (s *Source) Failure() error {
	at, err := s.delayed.LastError()
	if last := s.failure.Load(); last != nil && !last.at.Before(at) {
		return last.err
	}
	return err
}

// Closing returns a channel that is closed when the tracker closes.
func (s *Source) Closing() <-chan struct{} { return s.closing }

// Close is called by the Store's owner when the tracker closes. Every record is due then.
// Calling it again does nothing.
func (s *Source) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.delayed.Close()
		s.Wake()
	})
}

// memoryStore is the Store of a Tracker: a queue in memory.
type memoryStore struct {
	queue   *queue.Queue
	source  *Source
	misused func(error) // told of a Transport that does not keep to its contract
}

var (
	_ Store         = (*memoryStore)(nil)
	_ queue.Delayed = (*memoryStore)(nil)
)

func newMemoryStore(cfg *Config, dropped func(), misused func(error)) *memoryStore {
	s := &memoryStore{misused: misused}
	s.queue = queue.New(queue.Options{
		MaxEvents:  cfg.MaxQueueEvents,
		MaxBytes:   cfg.MaxQueueBytes,
		DropOldest: cfg.DropOldest,
		BatchSize:  cfg.BatchSize,
		Interval:   cfg.FlushInterval,
		Delayed:    s,
		Dropped:    dropped,
	})
	s.source = newSource(s, s.queue.Trigger())
	return s
}

func newRecord(ref queue.Ref) Record {
	return Record{ID: ref.ID(), Body: ref.Body(), ref: ref}
}

// Waiting implements Store.
func (s *memoryStore) Waiting() (n int, more bool) { return s.queue.Waiting() }

// Take implements Store.
func (s *memoryStore) Take(dst []Record) int {
	return s.queue.Take(len(dst), func(i int, ref queue.Ref) {
		dst[i] = newRecord(ref)
	})
}

// TakeAny implements an optional method of Store.
func (s *memoryStore) TakeAny(one []Record) bool {
	ref, ok := s.queue.TakeAny()
	if ok {
		one[0] = newRecord(ref)
	}
	return ok
}

// TakeNewest implements an optional method of Store.
func (s *memoryStore) TakeNewest(one []Record, since time.Time) bool {
	ref, ok := s.queue.TakeNewest(since)
	if ok {
		one[0] = newRecord(ref)
	}
	return ok
}

// Retry implements Store.
func (s *memoryStore) Retry(r Record, err error) (kept Record, ok bool) {
	ref, ok := s.queue.Retry(r.ref, err)
	if ok {
		r.ID, r.Body, r.ref = ref.ID(), ref.Body(), ref // what is known of its attempts stays
	}
	return r, ok
}

// Settle implements Store.
func (s *memoryStore) Settle(records []Record, o Outcome, err error) {
	s.queue.Settle(len(records), func(i int) queue.Ref { return records[i].ref }, queue.Outcome(o), err)
}

// Moved implements an optional method of Store.
func (s *memoryStore) Moved(n int, o Outcome) {
	if err := s.queue.Moved(n, queue.Outcome(o)); err != nil {
		s.misused(err)
	}
}

// Size implements queue.Delayed.
func (s *memoryStore) Size() (events, bytes int) { return s.source.delayed.Size() }

// Oldest implements queue.Delayed.
func (s *memoryStore) Oldest() (id uuid.UUID, ok bool) { return s.source.delayed.Oldest() }

// Reclaim implements queue.Delayed.
func (s *memoryStore) Reclaim() (queue.Ref, bool) {
	r, ok := s.source.Reclaim()
	return r.ref, ok
}
