package simulation

import (
	"math"
	"time"
)

// checkRates bounds how often the API is asked.
func (r *run) checkRates() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.outages {
		r.checkOutage(o)
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

// firstProbes is how many probes come before the wait of the circuit breaker grows.
const firstProbes = 5

// checkOutage bounds the requests during an outage: those under way when it begins, and
// for each step of the circuit breaker a probe, and an event that came after it. Where the
// steps are long, as behind a refused key, that may be five events.
func (r *run) checkOutage(o spell) {
	to := min(o.to, r.closeBegan)
	if to <= o.from {
		return
	}
	n := 0
	for _, q := range r.requests {
		if q.at > o.from && q.at < to {
			n++
		}
	}
	each := 2
	if o.kind == KeyRefused || o.kind == NotAPI {
		each = 1 + firstProbes
	}
	bound := r.config.MaxInFlight + firstProbes + each*r.backoffs(to-o.from, o.kind)
	if r.options.Wire {
		bound += 2 * r.config.MaxInFlight // requests go over each kept connection before one is dialed
	}
	if n > bound {
		r.problem("outage", none, "%d requests while %v (at %v), at most %d are due", n, o.outage, o.from, bound)
	}
}

// backoffs bounds the steps of a backoff during d. A wait is drawn between nothing and its
// bound, which doubles up to a maximum B: 2 d/B are usual. That there are more than
// 10 + 6 d/B is less probable than 1 in 10^8, whatever d.
func (r *run) backoffs(d time.Duration, kind Kind) int {
	least, most := r.config.BackoffMin, r.config.BackoffMax
	if kind == KeyRefused || kind == NotAPI {
		least, most = r.config.ProbeMin, r.config.ProbeMax
	}
	doublings := math.Log2(float64(most) / float64(least))
	return 10 + int(6*float64(d)/float64(most)+2*doublings)
}

// checkPause holds that no request begins before the time that the API has named. Those
// that are on the way may arrive.
func (r *run) checkPause(p pause) {
	to := min(p.from+min(p.lasts, r.config.MaxRetryAfter), r.closeBegan)
	onTheWay := r.config.MaxInFlight - 1
	for _, q := range r.requests {
		if q.at <= p.from || q.at >= to {
			continue
		}
		if onTheWay--; onTheWay < 0 || q.at > p.from+r.longest() {
			r.problem("retry after", q.event, "a request at %v, after Retry-After %v at %v", q.at, p.lasts, p.from)
			return
		}
	}
}

// checkAttempts bounds the attempts of one event by its own backoff.
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
	bound := 2 * max(r.backoffs(lived, Outage), r.backoffs(lived, KeyRefused)) // as a probe, too
	if r.options.Wire {
		bound += r.config.MaxInFlight
	}
	if len(before) > bound {
		r.problem("attempts", h.n, "%d attempts within %v, at most %d are due", len(before), lived, bound)
	}
}
