package simulation

import (
	"math"
	"slices"
	"time"
)

// checkRates bounds the rate of requests to the API.
func (r *run) checkRates() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.outages {
		for _, part := range r.parts(o) {
			r.checkOutage(part)
		}
	}
	for _, p := range r.pauses {
		r.checkPause(p)
	}
	for _, h := range r.events {
		if h != nil {
			r.checkAttempts(h)
		}
	}
}

// parts splits an outage at each event that is settled during it, because the late answer to
// an earlier request closes the circuit breaker.
func (r *run) parts(o spell) (parts []spell) {
	var settled []time.Duration
	for _, h := range r.events {
		if h != nil && h.settled && h.at > o.from && h.at < o.to {
			settled = append(settled, h.at)
		}
	}
	slices.Sort(settled)
	for _, at := range append(slices.Compact(settled), o.to) {
		part := o
		part.to, o.from = at, at
		parts = append(parts, part)
	}
	return parts
}

// checkOutage bounds the requests during an outage: one of each sender when it begins, the attempts
// until the circuit breaker opens, and a probe per step. Between two probes one new event may be
// tried, or five if the steps are long, as with a refused key, or if few events have failed.
func (r *run) checkOutage(o spell) {
	to := min(o.to, r.closeBegan)
	if to <= o.from {
		return
	}
	n, retries := 0, 0
	tried := make(map[int]bool)
	for _, q := range r.requests {
		if q.at > o.from && q.at < to {
			n++
			if tried[q.event] {
				retries++
			}
		}
		tried[q.event] = true
	}
	steps := r.probes(to-o.from, o.kind) * r.names * r.sites // each kind may have been refused before
	if o.kind == KeyRefused || o.kind == NotAPI {
		steps += r.probes(min(to-o.from, lately), Outage) // as long as the answer may be about the event
	}
	waiting := r.unsettledIn(o.from, o.from+lately)
	bound := r.config.MaxInFlight + steps + patienceOfRetries*(1+min(waiting, quickSteps)) + attemptsLately*waiting
	if r.options.Wire {
		bound += 2 * r.config.MaxInFlight // requests go over each kept connection before one is dialed
	} else if retries > bound {
		r.problem("outage", none, "%d retries while %v (at %v), at most %d are due", retries, o.outage, o.from, bound)
	}
	each := 1
	if o.kind == KeyRefused || o.kind == NotAPI {
		each = quickSteps
	}
	bound += quickSteps + min(each*steps, r.trackedBetween(o.from, to))
	if n > bound {
		r.problem("outage", none, "%d requests while %v (at %v), at most %d are due", n, o.outage, o.from, bound)
	}
}

// lately is how long after an event was accepted the circuit breaker may be closed although others
// fail.
const lately = 10 * time.Second

// unsettledIn counts the events that wait, or are tracked, in a span.
func (r *run) unsettledIn(from, to time.Duration) (n int) {
	for _, h := range r.events {
		if h != nil && h.accepted && h.tracked < to && (!h.settled || h.at > from) {
			n++
		}
	}
	return n
}

// patienceOfRetries is how many retries of an event may fail before the circuit breaker opens, if few
// events fail.
const patienceOfRetries = 40

// attemptsLately is how many attempts of an event may fail before it opens, if many events fail: one
// for each doubt while it may be closed, and the first.
const attemptsLately = int(lately/doubt) + 1

// trackedBetween counts the events that are tracked in a span.
func (r *run) trackedBetween(from, to time.Duration) (n int) {
	for _, h := range r.events {
		if h != nil && h.accepted && h.tracked >= from && h.tracked < to {
			n++
		}
	}
	return n
}

// probes bounds the steps of the circuit breaker during d. The first quickSteps wait for at
// most BackoffMin. After that the bound of a wait doubles. With a refused key a wait is at
// least half its bound, so the number is exact. Other waits are random; see draws.
func (r *run) probes(d time.Duration, kind Kind) int {
	if kind == KeyRefused || kind == NotAPI {
		n, wait := 1+quickSteps, r.config.ProbeMin
		for d -= wait / 2; d > 0; d -= wait / 2 {
			n++
			wait = min(2*wait, r.config.ProbeMax)
		}
		return n
	}
	doublings := math.Log2(float64(r.config.BackoffMax) / float64(r.config.BackoffMin))
	return 1 + quickSteps + int(math.Ceil(doublings)) + draws(float64(d)/float64(r.config.BackoffMax))
}

// draws returns how many draws between 0 and 1 have a sum of at most x, except with a
// probability of 1 in 10^9. The probability for n draws is at most exp(t*x) * ((1-exp(-t))/t)^n
// for every t (Chernoff's bound). On average it is 2x.
func draws(x float64) int {
	n := int(2 * x)
	for ; ; n++ {
		least := math.Inf(1)
		for t := 0.01; t < 1000; t *= 1.2 {
			least = min(least, t*x+float64(n)*math.Log(-math.Expm1(-t)/t))
		}
		if least < math.Log(1e-9) {
			return n
		}
	}
}

// checkPause checks that an event with a Retry-After is not sent again before its end. Others may
// be, as long as the API accepts any; see checkOutage. On a wire, an HTTP client may repeat requests
// by itself.
func (r *run) checkPause(p pause) {
	to := min(p.from+min(p.lasts, r.config.MaxRetryAfter), r.closeBegan)
	for _, q := range r.requests {
		if q.event == p.event && q.at > p.from && q.at < to && !r.options.Wire {
			r.problem("retry after", q.event, "a request at %v, after Retry-After %v at %v", q.at, p.lasts, p.from)
			return
		}
	}
}

// checkAttempts bounds the attempts of one event by the steps of the circuit breaker. The quick
// steps count three times: a settled event ends each row, and after its second failure an event
// waits longer by itself.
func (r *run) checkAttempts(h *history) {
	var before []time.Duration
	for _, at := range h.attempts {
		if at.from < r.closeBegan {
			before = append(before, at.from)
		}
	}
	if len(before) == 0 || r.options.Wire && h.fate.kind == Resets {
		return
	}
	lived := before[len(before)-1] - before[0]
	bound := max(r.probes(lived, Outage), r.probes(lived, KeyRefused)) + 2*quickSteps + patienceOfRetries
	if r.options.Wire {
		bound += r.config.MaxInFlight
	}
	if len(before) > bound {
		r.problem("attempts", h.n, "%d attempts within %v, at most %d are due", len(before), lived, bound)
	}
}
