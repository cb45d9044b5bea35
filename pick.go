package footfall

import (
	"time"

	"github.com/footfall-dev/footfall/internal/retry"
)

// pick takes an event that the circuit breakers admit. While the tracker closes, every event gets
// an attempt even if they are open. It is called with the lock held.
func (t *httpTransport) pick(src *Source, w *worker) (ok bool) {
	now := time.Now()
	w.known, w.doubtful, w.admission = false, false, retry.Admission{Began: now}
	w.closing = src.isClosing()
	if w.closing && !t.closing {
		t.beginClose(src, now)
	}
	switch {
	case w.closing:
		ok = t.pickClosing(src, w, now)
	case !src.held.Some() && !t.scopes.AnyOpen():
		ok = src.takeWaiting(w.one[:])
	default:
		ok = t.pickTurn(src, w, now)
	}
	if w.closing {
		w.one[0].attempts.AtClose = true
	}
	if !ok {
		return false
	}
	t.picks++
	if w.doubtful {
		t.share.Begin()
	}
	return true
}

// pickClosing takes an event while the tracker closes: those that have had no attempt since it began come
// before others, but leave every second turn to probes and retries.
func (t *httpTransport) pickClosing(src *Source, w *worker, now time.Time) bool {
	from := func(p retry.Pick) bool { return t.pickHeld(src, w, p, now) }
	switch {
	case t.picks%2 == 0 && (from(retry.Turn) || t.share.Free() && from(retry.Probe) || from(retry.Retry)),
		t.pickUnsent(src, w, now),
		t.pickUntried(src, w, now):
		return true
	}
	return (src.held.Some() || t.scopes.AnyOpen()) && t.pickTurn(src, w, now)
}

// pickTurn takes an event while some are held. They take turns with those that were never sent.
func (t *httpTransport) pickTurn(src *Source, w *worker, now time.Time) bool {
	free := t.share.Free()
	hasTime := free && t.share.HasTime(now)
	from := func(p retry.Pick) bool { return t.pickHeld(src, w, p, now) }
	switch {
	case t.picks%2 == 0 && (from(retry.Turn) || from(retry.Retry)),
		t.picks%10 == 3 && hasTime && t.pickDoubtful(src, w, now),
		from(retry.Ready), // they are older than those that were never taken
		t.pickWaiting(src, w, t.share.FreeForNew(true) && (hasTime || t.share.Senders > 1), now),
		from(retry.Turn),
		from(retry.Retry):
		return true
	}
	if t.share.Senders == 1 && !hasTime && t.scopes.AcceptsEvents(now) {
		return false // the only sender is for events that may come
	}
	return free && t.pickDoubtful(src, w, now) || t.share.FreeForNew(false) && from(retry.Early)
}

// pickDoubtful takes a probe or a suspect. They take turns.
func (t *httpTransport) pickDoubtful(src *Source, w *worker, now time.Time) bool {
	turns := [...]retry.Pick{retry.Probe, retry.Suspect}
	if t.probed {
		turns = [...]retry.Pick{retry.Suspect, retry.Probe}
	}
	for _, p := range turns {
		if t.pickHeld(src, w, p, now) {
			t.probed = p == retry.Probe
			return true
		}
	}
	return false
}

// pickWaiting takes an event that was never sent. It holds those whose breaker does not admit them.
// If probe is true, one of these may be sent as a probe before the next one is due. Those of a paced kind have their
// turn after older ones.
func (t *httpTransport) pickWaiting(src *Source, w *worker, probe bool, now time.Time) bool {
	for src.takeWaiting(w.one[:]) {
		if !t.scopes.AnyOpen() {
			return true
		}
		w.known = false
		b := t.scopes.BlockOf(w.kindOf())
		if (!b.IsSet() || probe && !b.IsPaced()) && t.admit(src, w, retry.New, now) {
			return true
		}
		t.hold(src, w, now)
	}
	return false
}

// hold holds the event of w, which was never sent.
func (t *httpTransport) hold(src *Source, w *worker, now time.Time) {
	src.hold(w.one[0], retry.Event[*Record]{Kind: w.kind, Fresh: true}, t.scopes.BlockOf(w.kind), now)
}

// pickUnsent takes an event that was never sent while the tracker closes. Events that wait for a breaker
// come after all others, because they may take long.
func (t *httpTransport) pickUnsent(src *Source, w *worker, now time.Time) bool {
	for src.takeWaiting(w.one[:]) {
		if !t.scopes.AnyOpen() {
			return true
		}
		w.known = false
		if !t.scopes.BlockOf(w.kindOf()).IsSet() {
			return true
		}
		t.hold(src, w, now)
	}
	return false
}

// pickUntried takes an event that has had no attempt since the tracker began to close. Those of open breakers leave
// senders to events of paced kinds.
func (t *httpTransport) pickUntried(src *Source, w *worker, now time.Time) bool {
	if !t.share.Free() && src.held.HasTurns() || !t.pickHeld(src, w, retry.Untried, now) {
		return false
	}
	w.doubtful = t.scopes.BlockOf(w.kind).IsSet()
	return true
}

// mostTaken bounds the events that pickHeld takes and returns, because it has the lock.
const mostTaken = 64

// pickHeld takes a held event that its breaker admits. Others are returned: an event of another kind has taken their
// turn, and they are due later.
func (t *httpTransport) pickHeld(src *Source, w *worker, p retry.Pick, now time.Time) bool {
	for range mostTaken {
		e, ok := src.held.Take(p, now)
		if !ok {
			return false
		}
		w.one[0], w.kind, w.known = *e.Value, e.Kind, true
		if p == retry.Untried {
			return true
		}
		if t.admit(src, w, retry.Sent, now) || e.Fresh && (t.admit(src, w, retry.Unsent, now) || t.admit(src, w, retry.New, now)) {
			w.doubtful = w.doubtful || p == retry.Suspect
			return true
		}
		block := t.scopes.BlockOf(e.Kind)
		src.held.Return(e, block, now)
		src.held.SetDue(block, now)
	}
	return false
}

// admit reports whether the breakers admit the event of w.
func (t *httpTransport) admit(src *Source, w *worker, age retry.Age, now time.Time) bool {
	kind := w.kindOf()
	a, ok := t.scopes.Admit(kind, age, now)
	if !ok {
		return false
	}
	w.admission = a
	w.doubtful = a.IsProbe()
	if b := t.scopes.BlockOf(kind); b.IsSet() {
		src.held.SetDue(b, now)
	}
	return true
}

const (
	// closePatience is how long Close continues while the API settles no event. It is for
	// contexts without a deadline.
	closePatience = 5 * time.Minute

	// storePatience is how long Close continues while a store keeps no event. Elections of a
	// leader take less.
	storePatience = 30 * time.Second

	// closeWait is the longest wait of a circuit breaker while the tracker closes, also if the API asks
	// for a longer one: an event that is not sent in time is lost.
	closeWait = time.Second
)

// beginClose determines whether events that fail from now on are sent again: if the API has ever
// accepted an event, or if it is a store, which may be back soon, such as a cluster that elects a
// leader.
func (t *httpTransport) beginClose(src *Source, now time.Time) {
	t.closing = true
	again := t.accepted == OutcomeStored || !t.scopes.Accepted().IsZero()
	t.share.Close()
	t.pool.Close(again)
	t.scopes.Hurry(closeWait, now)
	src.held.Regroup(t.scopes.BlockOf, now)
	if again {
		t.settled = now
		src.accept()
	}
}

// giveUp settles as OutcomeLost the events that failed while the tracker closed and were not retried.
func (t *httpTransport) giveUp(src *Source) {
	for _, e := range src.held.GiveUp() {
		src.Settle([]Record{*e.Value}, OutcomeLost, e.Err)
	}
}
