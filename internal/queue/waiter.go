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

// Done is closed when the event is settled.
func (w *Waiter) Done() <-chan struct{} { return w.done }

// Result returns how the event ended and why, once Done is closed.
func (w *Waiter) Result() (Outcome, error) { return w.outcome, w.err }

// tell is called with the lock held.
func (q *queue) tell(id uuid.UUID, o Outcome, err error) {
	if w := q.waiters[id]; w != nil {
		delete(q.waiters, id)
		w.outcome, w.err = o, err
		close(w.done)
	}
}

// Forget is told that w waits no more, and returns why its event failed last.
func (q *queue) Forget(w *Waiter) (failure error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiters, w.id)
	return w.failure
}

// Last ends w when nobody settles any more: its event is Lost, because of failure if no
// attempt of its own has failed.
func (q *queue) Last(w *Waiter, failure error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tell(w.id, Lost, cmp.Or(w.failure, failure, ErrStopped))
}
