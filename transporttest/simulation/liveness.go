package simulation

import (
	"math"
	"slices"
	"time"
)

// bound is the promise "no event holds up another" as a formula: how long an event that
// the API would settle at once may wait, while the API accepts anything.
//
//	FlushInterval                              until its batch is due
//	+ longest attempt                          its own
//	+ BackoffMin                               for a circuit breaker that has opened and closes
//	+ (2 × ahead/MaxInFlight + 1) × (longest attempt + BackoffMin)
//	                                           its turn: each round of requests serves MaxInFlight
//	                                           events, and those that fail come a second time
//	+ min(ahead, 8) × longest answer           one request in flight per 8 events that wait
//	+ backoff                                  of a circuit breaker that had reason to open for
//	                                           longer (loadAt): BackoffMax, or ProbeMax after a
//	                                           403, and an attempt, for each event around it
//	                                           that fails as a probe
//
// The longest attempt is AttemptTimeout if an event hangs that was tracked before. It is
// to be tightened where the library does better.
func (r *run) bound(l load) time.Duration {
	c := &r.config
	rounds := time.Duration(2*l.ahead/c.MaxInFlight + 1)
	turn := rounds*(l.attempt+c.BackoffMin) + time.Duration(min(l.ahead, 8))*l.answer
	if slices.Contains(r.kinds, Unsolicited) {
		turn += c.BackoffMax // an attempt on a connection that the API is about to close fails
	}
	return c.FlushInterval + l.attempt + c.BackoffMin + turn + l.backoff + moment + r.options.Slack
}

// load is what an event meets when it is tracked, or when the API works again.
type load struct {
	ahead   int           // events not settled that were tracked by then
	attempt time.Duration // the longest attempt of these events and of the event itself
	answer  time.Duration // the longest time of an answer to them
	backoff time.Duration // of a circuit breaker that bad events have opened
}

// loadAt returns what event h meets at a time. It needs the lock.
func (r *run) loadAt(h *history, at time.Duration) load {
	l := load{attempt: r.longest(), answer: r.longest()}
	probes, bad, forbidden := 0, false, false
	for _, o := range r.events {
		if o == nil || !o.accepted || o.tracked > at || o.settled && o.at < at {
			continue
		}
		switch {
		case o.fate.hangs():
			l.attempt = r.config.AttemptTimeout
		case o.fate.kind == Slow:
			l.answer = r.config.AttemptTimeout
			l.attempt = r.config.AttemptTimeout
		}
		if o == h {
			continue
		}
		l.ahead++
		if !o.fate.settlesAtOnce() && (at > h.tracked || !o.hasFailedBefore(at)) {
			probes++
		}
		bad = bad || !o.fate.settlesAtOnce()
		forbidden = forbidden || o.fate.kind == Forbidden
	}
	longest := r.config.BackoffMax
	if forbidden {
		longest = max(longest, r.config.ProbeMax)
	}
	l.backoff = max(0, r.opened(at)+longest-at)
	if bad {
		l.attempt = r.config.AttemptTimeout // its answer may be late
		each := longest + l.attempt
		probes += r.badBetween(at, at+time.Duration(probes+2)*each)
		l.backoff = time.Duration(probes+2) * each
	}
	return l
}

// badBetween counts the events tracked in a span that fail at first: a probe may be one of
// them, because what came last is tried first.
func (r *run) badBetween(from, to time.Duration) (n int) {
	for _, h := range r.events {
		if h != nil && h.accepted && h.tracked > from && h.tracked <= to && !h.fate.settlesAtOnce() {
			n++
		}
	}
	return n
}

// opened returns when a circuit breaker had reason to open for the last time before at:
// one event after the other had failed at its first attempt, and none was settled in
// between. Events that fail again are no reason, because their failure is known; so an
// event that arrives when only those are left finds a circuit breaker that lets it through.
func (r *run) opened(at time.Duration) time.Duration {
	settled := time.Duration(0)
	for _, h := range r.events {
		if h != nil && h.settled && h.at <= at {
			settled = max(settled, h.at)
		}
	}
	n, last := 0, time.Duration(math.MinInt64/2)
	for _, h := range r.events {
		if h != nil && h.hasFailedBefore(at) && h.attempts[0].to >= settled {
			n++
			last = max(last, h.attempts[0].to)
		}
	}
	if n < 2 {
		return math.MinInt64 / 2
	}
	return last
}

// hasFailedBefore reports whether an attempt of the event had failed at a time.
func (h *history) hasFailedBefore(at time.Duration) bool {
	return len(h.attempts) > 0 && h.attempts[0].result != underWay && h.attempts[0].to < at
}

// recovery is how long after an outage the circuit breaker, or the wait of an event that
// failed in it, may still hold events.
func (r *run) recovery(o *spell) time.Duration {
	wait := r.config.BackoffMax + r.config.BackoffMin
	switch {
	case o.kind == KeyRefused || o.kind == NotAPI:
		wait += r.config.ProbeMax
	case o.kind == RateLimit:
		wait += min(o.retryAfter, r.config.MaxRetryAfter)
	case o.how == silent:
		wait += r.config.AttemptTimeout
	}
	return wait + r.longest()
}

// due returns when event h must be settled: the bound after it was tracked, or after the
// API worked again for long enough. It needs the lock.
func (r *run) due(h *history) (at time.Duration, l load) {
	from := h.tracked
	for {
		l = r.loadAt(h, from)
		at = from + r.bound(l)
		moved := false
		for i := range r.outages {
			o := &r.outages[i]
			if works := o.to + r.recovery(o); o.from <= at && works > from {
				from, moved = works, true
			}
		}
		if !moved {
			return at, l
		}
	}
}

// checkLiveness holds every event that the API would have settled at once to its bound,
// if that is before a time. Dropped events are counted, because their numbers are not
// known.
func (r *run) checkLiveness(until time.Duration) {
	dropped := r.tracker.Stats().Dropped
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.events {
		if h == nil || !h.accepted || !h.fate.settlesAtOnce() {
			continue
		}
		at, l := r.due(h)
		switch {
		case at >= until || h.settled && h.at <= at:
		case !h.settled && dropped > 0:
			dropped--
		default:
			r.late(h, at, l)
			return // those behind it are late for the same reason
		}
	}
}

func (r *run) late(h *history, due time.Duration, l load) {
	when := "never, in all the time that the simulation waited"
	if h.settled {
		when = "at " + h.at.String()
	}
	r.problem("liveness", h.n, "#%d (%v), tracked at %v with %d events before it, was due at %v and was delivered %s",
		h.n, h.fate, h.tracked, l.ahead, due, when)
}

// patience is more than enough time for everything that the API would settle.
func (r *run) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait, attempt := r.config.BackoffMax, r.longest()
	unsettled, bad := 0, 0
	for _, h := range r.events {
		if h == nil || !h.accepted || h.settled {
			continue
		}
		unsettled++
		if !h.fate.settlesAtOnce() {
			bad++
		}
		if h.fate.hangs() || h.fate.kind == Slow {
			attempt = r.config.AttemptTimeout
		}
		if h.fate.kind == Forbidden {
			wait = max(wait, r.config.ProbeMax)
		}
	}
	const retries = 5 + 2 // of the events that fail most often, and some
	turn := time.Duration(unsettled/r.config.MaxInFlight+min(unsettled, 8)+1) * (attempt + r.config.BackoffMin)
	patience := r.config.FlushInterval + r.config.ProbeMax + time.Minute + retries*(wait*time.Duration(bad+1)+turn)
	return patience + r.options.Slack
}
