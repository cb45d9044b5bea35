package retry

import "time"

// breaker is the circuit breaker of a scope: a kind, a site or the API. It is a value, and a pure
// function of answers and times: the methods return the next value. It is in one of these states:
//
//   - closed: events are sent. Failures are counted until the scope accepts an event.
//   - open: too much has failed. Events of kinds that have failed since wait, and a probe is sent now and
//     then. Other kinds may differ, so one event of each is sent to find out.
//   - half open: a probe is in flight.
//   - paced: the API bounds the rate. Events are sent at the rate that it accepts, several at once.
type breaker struct {
	streak
	probes
	since   time.Time // when it opened; zero while it is closed
	trial   bool      // of a kind: an event was sent since a wider breaker opened, and none was accepted since
	asked   time.Time // of a kind: until when the last answer asked to wait
	limited time.Time // of a kind: an event that had a Retry-After was last accepted
	refused time.Time // of a kind: when the first attempt of an event last got an answer that shows the bound
	over    int       // of a kind: more answers that show the bound, few of each event, than events that were accepted
	events  int       // of a kind: more events that got such an answer than events that were accepted
	paced   bool      // of a kind: it is open because the API bounds its rate, and events are sent at the pace of the site
	pace    pace      // of a site
	logged  uint8     // a bit for each Class that the log names as the reason
}

// State is the state of a circuit breaker.
type State uint8

const (
	Closed State = iota
	Open
	HalfOpen
	Paced
)

func (b breaker) state() State {
	switch {
	case b.since.IsZero():
		return Closed
	case b.paced:
		return Paced
	case b.inFlight == 0:
		return Open
	}
	return HalfOpen
}

func (b breaker) isOpen() bool { return !b.since.IsZero() }

// fails reports whether events of a kind wait for a wider breaker that is open.
func (b *breaker) fails() bool { return b.isOpen() || b.trial || b.fresh+b.again > 0 }

// opens returns b as it is after it opened because of f.
func (b breaker) opens(f *Failure, now time.Time, w *Waits) breaker {
	b.since, b.probes, b.paced = now, opened(f, now, w), false
	return b
}

// inherits returns b open and with a probe that is due, or as late as the API asked of the wider breaker.
func (b breaker) inherits(notBefore, now time.Time) breaker {
	b.since, b.probes = now, probes{next: now, notBefore: notBefore, last: now, newest: now, earlyLeft: quickSteps}
	return b
}

// accepts returns b after an event was accepted whose attempt began at a time. limit bounds what b learns
// from the failures before it. An open breaker closes, unless the API has named a time that is not over
// and the attempt began before b opened.
func (b breaker) accepts(began, now time.Time, limit int) breaker {
	b.trial, b.over, b.events = false, max(0, b.over-1), max(0, b.events-1)
	if b.paced {
		b.streak = b.end(now, limit)
		return b
	}
	if b.isOpen() && began.Before(b.since) && b.notBefore.After(now) {
		b.accepted = now
		return b
	}
	next := b.end(now, limit)
	next.reopens = b.isOpen()
	return breaker{streak: next, limited: b.limited, refused: b.refused, over: b.over, events: b.events, pace: b.pace}
}

// isIdle reports whether nothing has failed for a while.
func (b *breaker) isIdle() bool { return !b.fails() && b.longest == 0 }

// Failure is a failed attempt.
type Failure struct {
	First      bool          // no attempt of the event has failed before
	Counted    int           // answers to the event that have shown before that the API bounds the rate of the kind
	Class      Class         // of the answer
	NoAPI      bool          // it is not about the event: there was no answer, or not the API's
	Limits     bool          // the answer shows that the API bounds the rate
	RetryAfter time.Duration // by Retry-After, of a scope that may heed it
	Took       time.Duration // from the beginning of the attempt
	Err        error         // for people
}
