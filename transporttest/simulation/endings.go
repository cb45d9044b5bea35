package simulation

import (
	"cmp"
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
	before  [3]failures   // in the API, its site and its kind
	after   [3]failures   // with this attempt
	step    time.Duration // the longest wait of the circuit breaker after them
	probe   bool          // it may have been a probe: others had failed before it began
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
	step, failed, refusals := r.config.BackoffMax, make(map[[2]int]failures), r.refusals
	for i := range all {
		e := &all[i]
		for len(refusals) > 0 && refusals[0] <= e.at { // of attempts that the API cannot attribute to events
			f := failed[[2]int{0, 0}]
			f.failed++
			failed[[2]int{0, 0}], refusals = f, refusals[1:]
		}
		r.countFailures(failed, e)
		switch {
		case e.settles:
			step = r.config.BackoffMax
		case e.stopsAll():
			step = max(step, r.config.ProbeMax)
		}
		e.step = step
		e.probe = e.failed(len(e.after)) > quickSteps || mayBeProbe(all[:i], e.from())
	}
	for i := len(all) - 2; i >= 0; i-- { // the library may see attempts that end at once in another order
		for s := range r.shared(all[i].kind, all[i+1].kind) {
			if n := &all[i].after[s]; all[i].at == all[i+1].at && n.failed > 0 {
				n.failed = max(n.failed, all[i+1].after[s].failed)
			}
		}
	}
	return all
}

// failures are the attempts that have failed in a scope since the scope accepted an event; see weight.
type failures struct {
	failed int
	first  int           // of those, first attempts of events
	until  time.Duration // an answer asked to wait until then
}

// countFailures adds an attempt to the failures of the API, its site and its kind, or ends them if it
// succeeded and no circuit breaker may wait because of an answer.
func (r *run) countFailures(failed map[[2]int]failures, e *ending) {
	for s, scope := range [][2]int{{0, 0}, {1, e.kind % r.sites}, {2, e.kind}} {
		f := failed[scope]
		e.before[s] = f
		switch {
		case !e.settles:
			f.failed += e.weight()
			if e.n == 0 {
				f.first += e.weight()
			}
			if f.failed >= quickSteps {
				f.until = max(f.until, e.at+r.retryAfter(e.history))
			}
		case f.until <= e.at:
			f = failures{}
		}
		e.after[s], failed[scope] = f, f
	}
}

// shared returns how many scopes two kinds share: the API, perhaps their site, and perhaps the kind.
func (r *run) shared(a, b int) int {
	switch {
	case a == b:
		return 3
	case a%r.sites == b%r.sites:
		return 2
	}
	return 1
}

// failed returns how many attempts have failed in one of the first scopes of e.
func (e *ending) failed(scopes int) (highest int) {
	for _, f := range e.after[:scopes] {
		highest = max(highest, f.failed)
	}
	return highest
}

// firstFailures returns how many first attempts have failed in one of the first scopes of e.
func (e *ending) firstFailures(scopes int) (highest int) {
	for _, f := range e.after[:scopes] {
		highest = max(highest, f.first)
	}
	return highest
}

// firstFailuresBefore is firstFailures before the attempt ended.
func (e *ending) firstFailuresBefore(scopes int) (highest int) {
	for _, f := range e.before[:scopes] {
		highest = max(highest, f.first)
	}
	return highest
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

// stopsAll reports whether the answer stops all senders, such as 401 or 403.
func (e *ending) stopsAll() bool {
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
