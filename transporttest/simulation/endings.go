package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// ending is the end of an attempt.
type ending struct {
	*history
	n       int // of the attempt
	at      time.Duration
	settles bool
	row     int           // first attempts that have failed since an event was settled; see weight
	met     int           // row before this attempt ended
	step    time.Duration // the longest wait of the circuit breaker after them
	probe   bool          // it may have been a probe: others had failed before it began
	failed  int           // attempts that have failed in one of its scopes since the scope accepted an event; see weight
}

// from returns when the attempt began.
func (e *ending) from() time.Duration { return e.attempts[e.n].from }

// weight returns how often the attempt counts: once more for each second that it took.
func (e *ending) weight() int { return 1 + int((e.at-e.from())/time.Second) }

// instant reports whether the attempt took no time.
func (e *ending) instant() bool { return e.from() == e.at }

// endings returns all attempts ordered by their end. Attempts in flight count as failing now.
// The caller holds the lock.
func (r *run) endings() (all []ending) {
	now := r.now()
	for _, h := range r.events {
		if h == nil {
			continue
		}
		for n, at := range h.attempts {
			e := ending{history: h, n: n, at: at.to, settles: h.settled && n == len(h.attempts)-1}
			if at.result == underWay {
				e.at = now
			}
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b ending) int {
		return cmp.Or(cmp.Compare(a.at, b.at), compareBool(a.instant(), b.instant()), compareBool(b.settles, a.settles)) // the library may see them so
	})
	row, step := 0, r.config.BackoffMax
	failed := make(map[string]failures)
	for i := range all {
		all[i].failed = r.countFailures(failed, &all[i])
		all[i].met = row
		switch {
		case all[i].settles:
			row, step = 0, r.config.BackoffMax
		case all[i].n == 0:
			row += all[i].weight()
		}
		if all[i].holds() {
			step = max(step, r.config.ProbeMax)
		}
		all[i].row, all[i].step = row, step
		all[i].probe = mayBeProbe(all[:i], all[i].from())
	}
	for i := len(all) - 2; i >= 0; i-- { // the library may see attempts that end at once in another order
		if all[i].at == all[i+1].at && all[i].failed > 0 {
			all[i].failed = max(all[i].failed, all[i+1].failed)
		}
	}
	return all
}

// failures are the attempts that have failed in a scope since the scope accepted an event.
type failures struct {
	n     int           // see weight
	until time.Duration // an answer asked to wait until then
}

// countFailures adds an attempt to the failures of its kind, its site and the API, or ends them if it
// succeeded and no circuit breaker may wait because of an answer. It returns the largest number.
func (r *run) countFailures(failed map[string]failures, e *ending) (most int) {
	for _, scope := range []string{fmt.Sprint("kind ", e.kind), fmt.Sprint("site ", e.kind%r.sites), "API"} {
		f := failed[scope]
		switch {
		case !e.settles:
			f.n += e.weight()
			if most = max(most, f.n); f.n >= quickSteps {
				f.until = max(f.until, e.at+r.asks(e.history))
			}
		case f.until <= e.at:
			f.n = 0
		}
		failed[scope] = f
	}
	return most
}

// mayBeProbe reports whether an attempt had failed by a time and none succeeded since.
func mayBeProbe(before []ending, at time.Duration) bool {
	settled := time.Duration(math.MaxInt64)
	for i := len(before) - 1; i >= 0; i-- {
		switch e := &before[i]; {
		case e.at > at:
		case settled != math.MaxInt64 && e.at < settled:
			return false
		case !e.settles:
			return true
		case e.at < at:
			settled = e.at
		}
	}
	return false
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// holds reports whether the answer stops all senders, such as 401 or 403.
func (e *ending) holds() bool {
	status := e.attempts[e.n].status
	return !e.settles && status != 0 && status < 500 && !slices.Contains([]int{408, 425, 429}, status)
}

// attempts are all attempts of a simulation.
type attempts struct {
	ended []ending // ordered by their end
	begun []ending // ordered by their begin
}

// attempts returns all attempts. The caller holds the lock.
func (r *run) attempts() attempts {
	ended := r.endings()
	begun := slices.SortedStableFunc(slices.Values(ended), func(a, b ending) int { return cmp.Compare(a.from(), b.from()) })
	return attempts{ended, begun}
}
