package retry

import "time"

// breaker is the circuit breaker of a scope: a kind, a site or the API. It is a value, and a pure
// function of answers and times: the methods return the next value. It is in one of these states:
//
//   - closed: events are sent. Failures are counted until the scope accepts an event.
//   - open: too much has failed. Events wait, and a probe is sent now and then. If a site or the API
//     has just accepted an event, its breaker is partial: events of kinds that have not failed since
//     are sent.
//   - half open: a probe is in flight.
type breaker struct {
	streak
	probes
	since   time.Time // when it opened; zero while it is closed
	partial bool      // it holds only kinds that have failed since the scope accepted an event
	told    uint8     // a bit for each Class that the log names as the reason
}

// State is the state of a circuit breaker.
type State uint8

const (
	Closed State = iota
	Open
	HalfOpen
)

func (b breaker) state() State {
	switch {
	case b.since.IsZero():
		return Closed
	case b.inFlight == 0:
		return Open
	}
	return HalfOpen
}

func (b breaker) isOpen() bool { return !b.since.IsZero() }

// holdsKind reports whether b holds the events of a kind. fails says whether the kind has failed since it
// accepted an event.
func (b *breaker) holdsKind(fails bool) bool { return b.isOpen() && (fails || !b.partial) }

// opens returns b as it is after it opened because of f.
func (b breaker) opens(f *Failure, partial bool, now time.Time, w *Waits) breaker {
	b.since, b.partial, b.probes = now, partial, opened(f, now, w)
	return b
}

// opensAtOnce returns b open and with a probe that is due.
func (b breaker) opensAtOnce(now time.Time) breaker {
	b.since, b.probes = now, probes{next: now, last: now, newest: now, early: quickSteps}
	return b
}

// accepts returns b after an event was accepted. probe says that the event was a probe, and most
// bounds what b learns from the failures before it. An open breaker closes, unless the API has named
// a time that is not over: an event that was sent before may be accepted then.
func (b breaker) accepts(now time.Time, probe bool, most int) breaker {
	if b.isOpen() && !probe && b.asked.After(now) {
		b.accepted = now
		return b
	}
	next := b.end(now, most)
	next.reopens = b.isOpen()
	return breaker{streak: next}
}

// isIdle reports whether b is as if nothing had failed.
func (b breaker) isIdle() bool { return !b.isOpen() && b.longest+b.fresh+b.again == 0 }

// Failure is a failed attempt.
type Failure struct {
	First bool          // no attempt of the event has failed before
	Class Class         // of the answer
	NoAPI bool          // it is not about the event: there was no answer, or not the API's
	Asked time.Duration // by Retry-After
	Took  time.Duration // from the beginning of the attempt
	Err   error         // for people
}
