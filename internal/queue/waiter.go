package queue

import (
	"cmp"

	"github.com/google/uuid"
)

// Waiter is a call that waits until its event is settled.
type Waiter struct {
	id      uuid.UUID
	done    chan struct{} // closed when outcome and err are known
	outcome Outcome
	err     error
	failure error // of the last attempt; guarded by the queue's lock
}

// NewWaiter returns a Waiter for one event.
func NewWaiter() *Waiter { return &Waiter{done: make(chan struct{})} }

// Done returns a channel that is closed when the event is settled.
func (w *Waiter) Done() <-chan struct{} { return w.done }

// Result returns how the event ended and why. It must be called after Done is closed.
func (w *Waiter) Result() (Outcome, error) { return w.outcome, w.err }

// endWaiter tells the waiter for an event, if there is one, how the event ended. It is called
// with the lock held.
func (q *Queue) endWaiter(id uuid.UUID, o Outcome, err error) {
	if w := q.waiters[id]; w != nil {
		delete(q.waiters, id)
		w.outcome, w.err = o, err
		close(w.done)
	}
}

// Forget removes w, which stops waiting, and returns why its event failed last.
func (q *Queue) Forget(w *Waiter) (failure error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiters, w.id)
	return w.failure
}

// GiveUp ends w as [Lost], unless it has ended, because the transport has stopped. The error is
// why an attempt of its event failed, else failure, else [ErrStopped].
func (q *Queue) GiveUp(w *Waiter, failure error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endWaiter(w.id, Lost, cmp.Or(w.failure, failure, ErrStopped))
}
