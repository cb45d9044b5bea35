package footfall

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
)

// waiter is a call that waits until its event is settled.
type waiter struct {
	id      uuid.UUID
	done    chan struct{} // closed when outcome and err are known
	outcome Outcome
	err     error
	failure error // of the last attempt; guarded by the queue's lock
}

// tell is called with the lock held.
func (q *queue) tell(id uuid.UUID, o Outcome, err error) {
	if w := q.waiters[id]; w != nil {
		delete(q.waiters, id)
		w.outcome, w.err = o, err
		close(w.done)
	}
}

// forget is told that w waits no more, and returns why its event failed last.
func (q *queue) forget(w *waiter) (failure error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiters, w.id)
	return w.failure
}

// TrackDurable is [Tracker.TrackEvent] for the moments that must not be lost: it returns
// nil once the event is safe, even if the process is killed right after. With a Transport
// that stores events, such as that of module spool, that is when the event is on disk, some
// milliseconds; with the default one it is when the API has accepted it.
//
// Unlike Track it waits, for as long as ctx allows. If ctx ends first, the error is
// that of ctx; the event stays queued as any other and is most likely delivered later.
// Other errors are those of Track, or say that the API refused the event or that it
// was given up.
func (t *Tracker) TrackDurable(ctx context.Context, e Event) error {
	if t.inactive() {
		return nil
	}
	if ctx == nil {
		ctx = context.Background() // as TrackEvent does
	}
	w := &waiter{done: make(chan struct{})}
	d := e.draft(ctx)
	if err := t.accept(&d, w); err != nil {
		return err
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		failure := t.queue.forget(w)
		return notSafe(ctx.Err(), cmp.Or(failure, t.source.Failure()))
	case <-t.done: // the transport has stopped; if it settled the event, it did so before
		return t.queue.last(w)
	}
	return w.verdict()
}

// notSafe is the error of a call whose time is over.
func notSafe(ended, failure error) error {
	return fmt.Errorf("footfall: the event is queued and not safe yet: %w", because(ended, failure))
}

// last is the verdict when nobody settles any more.
func (q *queue) last(w *waiter) error {
	q.mu.Lock()
	q.tell(w.id, Lost, cmp.Or(w.failure, q.source.Failure(), errStopped))
	q.mu.Unlock()
	return w.verdict()
}

// verdict is read after done is closed.
func (w *waiter) verdict() error {
	switch w.outcome {
	case Delivered, Stored:
		return nil
	case Rejected:
		return fmt.Errorf("footfall: the event was refused: %w", w.err)
	}
	return fmt.Errorf("footfall: the event was given up: %w", w.err)
}
