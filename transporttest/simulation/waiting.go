package simulation

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/footfall-dev/footfall"
)

// Checks of the methods that wait.

// moment is how much later than its reason a method may return.
const moment = 5 * time.Millisecond

// callDurable calls TrackDurable.
func callDurable(ctx context.Context, t *footfall.Tracker, e footfall.Event) error {
	return t.TrackDurable(ctx, e)
}

func (r *run) trackDurable(e event, within time.Duration) {
	h := r.expect(e)
	r.mu.Lock()
	h.called, h.accepted = true, true // unless it returns at once with another result
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := callDurable(ctx, r.tracker, r.footfall(e))
	took := r.now() - h.tracked
	r.add(e.n, "TrackDurable #%d (%v) after %v: %v", e.n, e.fate, took, err)
	if isRefusal(err) {
		r.mu.Lock()
		h.accepted = false
		r.mu.Unlock()
		r.refused.Add(1)
		return
	}
	r.checkDurable(h, err, took, within)
}

// checkDurable checks the result of TrackDurable against the API.
func (r *run) checkDurable(h *history, err error, took, within time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delivered := h.settled && !h.rejected
	ended := errors.Is(err, context.DeadlineExceeded)
	switch {
	case took > within+moment:
		r.problem("durable", h.n, "TrackDurable took %v, and its context ended after %v", took, within)
	case err == nil && !delivered && !r.options.Store:
		r.problem("durable", h.n, "TrackDurable returned nil, and the API has not accepted the event")
	case err != nil && delivered && h.at < r.now():
		r.problem("durable", h.n, "TrackDurable returned %v, and the API had accepted the event", err)
	case ended && took < within:
		r.problem("durable", h.n, "TrackDurable returned %v before its context ended", err)
	case ended && !r.durableCause(h).isIn(err):
		r.problem("durable cause", h.n, "TrackDurable returned %q, which does not name the last failure: %v", err, r.durableCause(h))
	case err != nil && !ended && !h.rejected && !r.closed.Load() && !r.config.DropOldest:
		r.problem("durable", h.n, "TrackDurable returned %v, and the event was not rejected", err)
	}
}

func (r *run) flush(within time.Duration) {
	before := r.acceptedNow()
	began := r.now()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := r.tracker.Flush(ctx)
	took := r.now() - began
	r.note("Flush after %v: %v", took, err)
	r.checkFlush(before, err, began, within)
}

// acceptedNow returns the events that Track has accepted and the API has not settled.
func (r *run) acceptedNow() (events []*history) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.events {
		if h != nil && h.accepted && !h.settled && h.tracked < r.now() {
			events = append(events, h)
		}
	}
	return events
}

// checkFlush checks the result of Flush for the events accepted before it.
func (r *run) checkFlush(before []*history, err error, began, within time.Duration) {
	dropped := r.tracker.Stats().Dropped
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	left, last := 0, began
	for _, h := range before {
		if h.accepted && !h.settled {
			left++
		}
	}
	open := false // Flush may include events of the same time
	for _, h := range r.events {
		if h != nil && h.accepted && h.tracked <= began {
			last = max(last, h.at)
			open = open || !h.settled
		}
	}
	slack := moment + r.options.Slack
	switch {
	case now > began+within+moment:
		r.problem("flush", none, "Flush took %v, and its context ended after %v", now-began, within)
	case err == nil && uint64(left) > dropped:
		r.problem("flush", none, "Flush returned nil, and %d events are not settled", left)
	case r.closed.Load() || dropped > 0:
	case err == nil && now > last+slack:
		r.problem("flush", none, "Flush returned after %v, and the last event was settled after %v", now-began, last-began)
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		r.problem("flush", none, "Flush returned %v, which is not the error of its context", err)
	case err != nil && !open && now > last+slack:
		r.problem("flush", none, "Flush returned %v, and all events are settled since %v", err, last-began)
	case err != nil && left > 0 && !r.lastCause().isIn(err):
		r.problem("flush cause", none, "Flush returned %q, which does not name the last failure: %v", err, r.lastCause())
	}
	if u, ok := unsettled(err); ok && u+dropped < uint64(left) {
		r.problem("flush", none, "Flush says that %d events are not settled, and %d of those accepted before are not", u, left)
	}
}

// unsettled returns the number of unsettled events in an error of Flush.
func unsettled(err error) (n uint64, ok bool) {
	late, ok := errors.AsType[*footfall.FlushError](err)
	if !ok {
		return 0, false
	}
	return late.Unsettled, true
}

// isRefusal reports whether err says that the event was not accepted. An event that a full
// queue dropped later has another error.
func isRefusal(err error) bool {
	return err != nil && (strings.HasPrefix(err.Error(), footfall.ErrQueueFull.Error()) || err.Error() == footfall.ErrClosed.Error())
}
