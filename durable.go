package footfall

import (
	"cmp"
	"context"
	"fmt"

	"github.com/footfall-dev/footfall/internal/queue"
)

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
	w := queue.NewWaiter()
	d := e.draft(ctx)
	if err := t.accept(&d, w); err != nil {
		return err
	}
	select {
	case <-w.Done():
	case <-ctx.Done():
		failure := t.queue.Forget(w)
		return notSafe(ctx.Err(), cmp.Or(failure, t.source.Failure()))
	case <-t.done: // the transport has stopped; if it settled the event, it did so before
		t.queue.Last(w, t.source.Failure())
	}
	return durable(w)
}

// notSafe is the error of a call whose time is over.
func notSafe(ended, failure error) error {
	return fmt.Errorf("footfall: the event is queued and not safe yet: %w", because(ended, failure))
}

// durable says how the event of w ended, once it has.
func durable(w *queue.Waiter) error {
	o, err := w.Result()
	switch o {
	case queue.Delivered, queue.Stored:
		return nil
	case queue.Rejected:
		return fmt.Errorf("footfall: the event was refused: %w", err)
	}
	return fmt.Errorf("footfall: the event was given up: %w", err)
}
