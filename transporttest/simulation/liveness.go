package simulation

import (
	"cmp"
	"slices"
	"time"
)

// bound is the promise "no event holds up another" as a formula: how long an event that the
// API would settle at once may wait, while the API accepts anything and no other event fails.
//
//	FlushInterval      until its batch is due; a second if other events wait without a sender,
//	                   because the queue is then looked at less often
//	+ BackoffMin       for a circuit breaker that one failure has opened
//	+ longest attempt  the request that is under way if all senders are busy
//	+ longest attempt  its own, twice if the first was interrupted
//	+ its turn         see turn
//
// An event that fails while this one waits may open the circuit breaker: see setback.
func (r *run) bound(l load) time.Duration {
	c := &r.config
	return l.batch + c.BackoffMin + l.attempt + l.own + l.turn + moment + r.options.Slack
}

// load is what an event meets when it is tracked, or when an outage ends.
type load struct {
	batch   time.Duration // until it is due
	ahead   int           // events not settled that were tracked by then
	attempt time.Duration // the longest attempt of these events
	own     time.Duration // the longest attempt of the event itself
	turn    time.Duration // until a sender is free
}

// loadAt returns what event h meets at a time. It needs the lock.
//
// Its turn is the time that the events before it need. MaxInFlight of them are sent at once.
// An event that is answered late occupies one of these senders, and the events that its
// sender was started for wait until another is started. This happens at the second check of the
// queue after that, because a sender that has just ended an attempt counts as about to take more.
// Retries have every second turn, so an event may count twice. A sender is started for up to
// eight events.
func (r *run) loadAt(h *history, at time.Duration) load {
	l := load{batch: r.config.FlushInterval, own: r.serves(h) + r.interrupted(h), attempt: r.maxLag()}
	quick, slow := 0, 0
	for _, o := range r.events {
		if o == nil || o == h || !o.accepted || o.tracked > at || o.settled && o.at < at {
			continue
		}
		l.ahead++
		if o.tracked < at-r.config.FlushInterval && (len(o.attempts) == 0 || o.attempts[0].from >= at) {
			l.batch = max(l.batch, time.Second)
		}
		if r.serves(o) > r.maxLag() {
			slow++
		} else {
			quick++
		}
	}
	free := r.config.MaxInFlight - slow
	if free <= 0 {
		l.attempt = r.config.AttemptTimeout
		free = r.config.MaxInFlight
		l.turn = time.Duration(2*slow/free) * r.config.AttemptTimeout
	}
	l.turn += time.Duration(2*quick/free+min(l.ahead, eventsPerSender)) * r.maxLag()
	look := r.config.FlushInterval
	if h.hasFailedBefore(at) {
		look = max(look, leastLook)
	}
	l.turn += time.Duration(2*slow) * look
	if r.config.MaxInFlight == 1 && (r.mayFail(h.kind) || h.hasFailedBefore(at)) { // such events get a tenth of the only sender's time
		l.turn += time.Duration(min(l.ahead, eventsPerSender)+2) * (10*r.maxLag() + leastLook)
		if slow > 0 || len(r.outages) > 0 {
			l.turn += 10 * r.config.AttemptTimeout
		}
	}
	return l
}

// leastLook is the maximum interval between checks for due retries.
const leastLook = 100 * time.Millisecond

// eventsPerSender is how many events a sender is started for at most.
const eventsPerSender = 8

// serves returns the maximum duration of an attempt of h.
func (r *run) serves(h *history) time.Duration {
	if h.fate.hangs() || h.fate.isSlow() {
		return r.config.AttemptTimeout
	}
	return r.maxLag()
}

// interrupted returns how much later h is settled because the library has ended an attempt early,
// to free the sender for other events. h then waits like an event that keeps failing.
func (r *run) interrupted(h *history) time.Duration {
	for _, at := range h.attempts {
		if took := at.to - at.from; h.fate.kind == Slow && at.result == givenUp && took < r.config.AttemptTimeout {
			return took + 2*r.config.BackoffMin + r.config.AttemptTimeout
		}
	}
	return 0
}

// setback returns how long an attempt that fails while h waits may delay h: a step of the
// circuit breaker, at most BackoffMin, and the attempt itself if it is a probe, but no more
// than BackoffMin if few have failed. The attempt itself counts, too, if its event was tracked
// after h and no sender is free. Waits are longer only if more than quickSteps events in a row
// failed at their first attempt, as in an outage, or if h itself fails in an outage.
func (r *run) setback(h *history, e ending, all []ending) time.Duration {
	scopes := r.shared(h.kind, e.kind)
	retry := h.failsFrom(e.at) || r.mayHaveFailed(h, e.at)
	wait := r.config.BackoffMin
	if e.settles {
		wait = 0
	} else if e.firstFailures(scopes) > quickSteps || retry {
		wait = e.step
	}
	if e.failed(scopes) >= quickSteps { // a circuit breaker may be open
		wait = max(wait, r.retryAfter(e.history))
	}
	took := e.at - e.from()
	switch {
	case e.probe:
		if max(e.firstFailures(scopes), e.firstFailuresBefore(scopes)) <= quickSteps && !retry && r.hasSenderBeside(e, all) {
			took = min(took, r.config.BackoffMin) // then another probe is sent as well
		}
		wait += took
	case e.tracked > h.tracked && !r.hasSenderBeside(e, all): // loadAt does not count it
		wait += took
	}
	return wait
}

// retryAfter returns how long the answers to h ask to wait.
func (r *run) retryAfter(h *history) time.Duration {
	return min(time.Duration(h.fate.retryAfter)*time.Second, r.config.MaxRetryAfter)
}

// hasSenderBeside reports whether a sender is free for another event once an attempt has taken
// BackoffMin.
func (r *run) hasSenderBeside(e ending, all []ending) bool {
	free, at := r.config.MaxInFlight, e.from()+r.config.BackoffMin
	for _, o := range all {
		if o.from() <= at && o.at > at {
			free--
		}
	}
	return free > 0
}

// mayHaveFailed reports whether an attempt of h may have failed without the API's knowledge: a
// refused connection. That happens only on a wire.
func (r *run) mayHaveFailed(h *history, by time.Duration) bool {
	i, _ := slices.BinarySearch(r.refusals, h.tracked)
	return i < len(r.refusals) && r.refusals[i] <= by
}

// quickSteps is how many probes the circuit breaker sends before its waits grow.
const quickSteps = 5

// hasFailedBefore reports whether an attempt of the event had failed at a time.
func (h *history) hasFailedBefore(at time.Duration) bool {
	return len(h.attempts) > 0 && h.attempts[0].result != underWay && h.attempts[0].to < at
}

// failsFrom reports whether the first attempt of the event has begun by a time and fails, then or
// later.
func (h *history) failsFrom(at time.Duration) bool {
	return len(h.attempts) > 0 && h.attempts[0].from <= at && !(h.settled && len(h.attempts) == 1)
}

// recovery returns how long after an outage the circuit breaker, or a retry's own wait, may
// still delay events: one step, and the probe in flight.
func (r *run) recovery(o *spell, all []ending) time.Duration {
	wait := doubt + 2*r.config.BackoffMin + r.stepAt(o.to, all)
	switch {
	case o.kind == RateLimit:
		wait += min(o.retryAfter, r.config.MaxRetryAfter)
	case o.how == silent:
		wait += r.config.AttemptTimeout
	}
	return wait + r.maxLag()
}

// waitOf returns how long an event waits at most after an attempt that failed through no fault of its own.
func (r *run) waitOf(n int) time.Duration {
	return max(doubt, min(r.config.BackoffMin<<n, longestWait*r.config.BackoffMax)) + r.config.BackoffMin
}

// longestWait is the longest wait of an event that keeps failing, in units of BackoffMax.
const longestWait = 20

// doubt is how long an event waits at least that has failed in a row of others.
const doubt = 2 * time.Second

// stepAt returns the longest step of the circuit breaker at a time.
func (r *run) stepAt(at time.Duration, all []ending) time.Duration {
	n, _ := slices.BinarySearchFunc(all, at+1, func(e ending, t time.Duration) int { return cmp.Compare(e.at, t) })
	if n == 0 {
		return r.config.BackoffMax
	}
	return all[n-1].step
}

// due returns when h must be settled: the bound after it was tracked, or after the API has
// worked long enough, and a setback for each other event that fails meanwhile. Such an event
// counts at its first attempt and once as a retry, because retries take turns, or as often as
// others fail at their first attempt. The caller holds the lock.
func (r *run) due(h *history, all attempts) (at time.Duration, l load) {
	from, healthy := h.tracked, h.tracked
	for {
		l = r.loadAt(h, from)
		at = r.setBack(h, healthy, from, from+r.bound(l), all)
		moved := false
		for i := range r.outages {
			o := &r.outages[i]
			if works := o.to + r.recovery(o, all.ended); o.from <= at && works > from {
				from, healthy, moved = works, max(o.to, h.tracked), true
			}
		}
		for n, a := range h.attempts {
			if works := a.to + r.waitOf(n); a.misread && a.from <= at && works > from {
				from, healthy, moved = works, a.to, true
			}
		}
		if !moved {
			return at, l
		}
	}
}

// setBack adds the setbacks of attempts that begin before at to at. Attempts of h itself fail in
// an outage, or because of one that has just ended. An attempt that is slow and succeeds counts,
// too. An attempt that begins before works does not take the event's turn.
func (r *run) setBack(h *history, from, works, at time.Duration, all attempts) time.Duration {
	type once struct {
		*history
		retry  bool
		before bool // works
	}
	counted := make(map[once]bool)
	firsts, retries := 0, 0
	first, _ := slices.BinarySearchFunc(all.ended, from, func(e ending, t time.Duration) int { return cmp.Compare(e.at, t) })
	at += max(r.step(h, from, all.ended[:first]), r.retryAfterLeft(h, from, all.ended[:first]))
	for _, e := range all.begun {
		if e.from() > at {
			break
		}
		kind := once{e.history, e.n > 0, e.from() < works}
		switch {
		case e.at < from:
			continue
		case e.history == h && e.settles:
			continue
		case e.settles && !e.fate.isSlow():
			continue
		}
		if !counted[kind] || e.n > 0 && retries <= firsts { // a retry may come after each fresh one
			counted[kind] = true
			if e.n > 0 {
				retries++
			} else {
				firsts++
			}
			at += r.setback(h, e, all.ended)
			if e.failed(r.shared(h.kind, e.kind)) >= quickSteps && r.retryAfter(e.history) > 0 {
				clear(counted) // after that wait, others may be due again
			}
		}
	}
	return at
}

// step returns how long the circuit breaker may still wait at a time because more than
// quickSteps events in a row have failed. A new event in such a wait is tried at once, unless
// the last one failed.
func (r *run) step(h *history, at time.Duration, before []ending) (left time.Duration) {
	accepts := 0 // the first scopes of h, which have accepted an event since
	for _, e := range slices.Backward(before) {
		shared := r.shared(h.kind, e.kind)
		switch {
		case e.at+max(r.config.BackoffMax, r.config.ProbeMax) < at:
			return left
		case e.settles:
			accepts = max(accepts, shared)
		case e.n > 0:
		default:
			for _, f := range e.after[min(accepts, shared):shared] {
				if f.first > quickSteps {
					left = max(left, e.at+e.step-at)
				}
			}
		}
	}
	return left
}

// retryAfterLeft returns how long a circuit breaker may still wait at a time because an answer asked for it.
func (r *run) retryAfterLeft(h *history, at time.Duration, before []ending) (left time.Duration) {
	for _, e := range slices.Backward(before) {
		if e.at+r.config.MaxRetryAfter < at {
			break
		}
		if e.failed(r.shared(h.kind, e.kind)) >= quickSteps {
			left = max(left, e.at+r.retryAfter(e.history)-at)
		}
	}
	return left
}

// boundsOneKind reports whether the API bounds the rate of one kind.
func (r *run) boundsOneKind() bool {
	return len(r.limits) == 1 && r.limits[0].kind != none && r.limits[0].rate > 0
}

// checkLiveness checks that every event that the API would settle at once was settled within
// its bound, if the bound ends before a time. Dropped events are only counted, because their
// numbers are unknown.
func (r *run) checkLiveness(until time.Duration) {
	dropped := r.tracker.Stats().Dropped
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.attempts()
	for _, h := range r.events {
		if h == nil || !h.accepted || !h.fate.settlesAtOnce() || len(r.limitsOf(h.kind)) > 0 || r.boundsOneKind() && slices.Contains(r.kinds, Limited) {
			continue // checkLimits checks those that have limits
		}
		at, l := r.due(h, all)
		if load := r.loadAt(h, h.tracked); r.isApart(h, h.tracked+r.bound(load)) {
			l = load
			at = h.tracked + r.bound(l) + r.serves(h)
		}
		switch {
		case at >= until || h.settled && h.at <= at:
		case !h.settled && dropped > 0:
			dropped--
		default:
			r.late(h, at, l)
			return // later events are late for the same reason
		}
	}
}

// isApart reports whether nothing but an event's turn, and one event of its kind that is sent to find out,
// may delay it until a time: only events of other kinds fail, whether the API accepts any of them or not,
// and no attempt of its kind has failed since one of its kind was settled.
func (r *run) isApart(h *history, until time.Duration) bool {
	if r.mayFail(h.kind) || len(r.refusals) > 0 {
		return false
	}
	if i := len(r.outages) - 1; i >= 0 && r.outages[i].to >= h.tracked {
		return false
	}
	settled := time.Duration(-1)
	for _, o := range r.events {
		if o != nil && o.kind == h.kind && o.settled && o.at <= h.tracked {
			settled = max(settled, o.at)
		}
	}
	for _, o := range r.events {
		if o == nil || o.kind != h.kind {
			continue
		}
		for _, a := range o.attempts {
			if a.words != nil && a.to > settled && a.from < until {
				return false
			}
		}
	}
	return true
}

func (r *run) late(h *history, due time.Duration, l load) {
	when := "never, in all the time that the simulation waited"
	if h.settled {
		when = "at " + h.at.String()
	}
	r.problem("liveness", h.n, "#%d (%v), tracked at %v with %d events before it, was due at %v and was delivered %s",
		h.n, h.fate, h.tracked, l.ahead, due, when)
}

// patience is enough time for everything that the API would settle.
func (r *run) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait, attempt := r.config.BackoffMax, r.maxLag()
	unsettled, bad := 0, 0
	for _, h := range r.events {
		if h == nil || !h.accepted || h.settled {
			continue
		}
		unsettled++
		if !h.fate.settlesAtOnce() {
			bad++
		}
		if h.fate.hangs() || h.fate.isSlow() {
			attempt = r.config.AttemptTimeout
		}
		if h.fate.kind == Forbidden {
			wait = max(wait, r.config.ProbeMax)
		}
		wait = max(wait, r.retryAfter(h))
		for _, l := range r.limitsOf(h.kind) {
			wait = max(wait, min(l.retryAfter, r.config.MaxRetryAfter), l.to-r.now())
		}
	}
	const retries = 5 + 2 // for the events that fail most often, and some more
	turn := time.Duration(unsettled/r.config.MaxInFlight+min(unsettled, 8)+1) * (attempt + r.config.BackoffMin)
	patience := r.config.FlushInterval + r.config.ProbeMax + time.Minute + retries*(wait*time.Duration(bad+1)+turn)
	return patience + r.options.Slack
}
