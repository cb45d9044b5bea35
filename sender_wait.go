package footfall

import (
	"time"

	"github.com/footfall-dev/footfall/internal/retry"
)

// longestWait is the longest wait of an event that keeps failing, in units of the longest wait
// of other events.
const longestWait = 20

// leastWait returns how long an event that has failed because of f waits at least, because the API has asked for
// it or for the sake of others. random says that the API fails at random. since is when the event has failed
// before, or when its first attempt began.
func (t *httpTransport) leastWait(w *worker, f *retry.Failure, random bool, since time.Time) time.Duration {
	least := f.RetryAfter
	if t.share.Senders == 1 && t.acceptedSince(w, since) {
		least = max(least, onlyShare*f.Took+t.backoff.Delay(0))
	}
	if wait, doubts := t.scopes.Doubts(w.kindOf()); doubts && !w.closing && !random {
		least = max(least, wait+t.backoff.Delay(0))
	}
	return least
}

// onlyShare bounds the time that an event which fails again and again takes of the only sender, while others are
// accepted: it waits for this many times what its attempt took.
const onlyShare = 4

// acceptedSince reports whether the API has settled an event after a time.
func (t *httpTransport) acceptedSince(w *worker, since time.Time) bool {
	if w.closing {
		return t.settled.After(since)
	}
	return t.scopes.Accepted().After(since)
}

// wait returns how long an event that has failed waits. random says that the API fails at random.
func (t *httpTransport) wait(a *retry.Attempts, w *worker, suspect, random bool) time.Duration {
	step := max(int(a.Strikes)-1, min(int(a.Failures)-1, 3))
	own := retry.Backoff{Base: t.backoff.Base, Max: longestWait * t.backoff.Max}
	switch {
	case w.closing || random:
		return t.backoff.Delay(min(step, 1))
	case suspect:
		own.Low = 0.5
	case w.admission.IsProbe():
		return 0 // it waits for the breaker
	}
	return own.Delay(step)
}
