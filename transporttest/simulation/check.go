package simulation

import (
	"fmt"
	"runtime"
	"strings"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
)

// problem is a broken promise.
type problem struct {
	rule  string // short, and equal in all simulations
	event int    // none if it concerns all events
	at    time.Duration
	text  string
}

// problem records a broken promise. The caller holds the lock.
func (a *api) problem(rule string, event int, format string, args ...any) {
	p := problem{rule, event, a.now(), fmt.Sprintf(format, args...)}
	a.problems = append(a.problems, p)
	a.add(event, "BROKEN: %s: %s", p.rule, p.text)
}

// fault is like problem, without the lock.
func (a *api) fault(rule string, event int, format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.problem(rule, event, format, args...)
}

// checkReading checks a reading of Stats by itself and against an earlier one.
func (r *run) checkReading(before, now footfall.Stats) {
	if now.Tracked != now.Delivered+now.Rejected+now.Dropped+now.Stored+now.Queued {
		r.fault("stats", none, "Stats do not add up: %+v", now)
	}
	if now.Queued > uint64(r.config.MaxQueueEvents) || now.QueuedBytes > uint64(r.config.MaxQueueBytes) {
		r.fault("queue", none, "the queue is beyond its bounds: %+v", now)
	}
	if (now.Queued == 0) != (now.QueuedBytes == 0) {
		r.fault("queue", none, "events and bytes do not agree: %+v", now)
	}
	if now.Tracked < before.Tracked || now.Delivered < before.Delivered || now.Rejected < before.Rejected ||
		now.Dropped < before.Dropped || now.Invalid < before.Invalid || now.Refused < before.Refused {
		r.fault("stats", none, "a counter went back: %+v, then %+v", before, now)
	}
}

// account is what the API and the callers know about a tracker's events.
type account struct {
	tracked, delivered, rejected uint64
}

func (r *run) account() (a account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.events {
		switch {
		case h == nil || !h.accepted:
			continue
		case h.rejected:
			a.rejected++
		case h.settled:
			a.delivered++
		}
		a.tracked++
	}
	return a
}

// checkCounts checks Stats against what the API and the callers know. The tracker must be
// idle.
func (r *run) checkCounts() footfall.Stats {
	s, a := r.tracker.Stats(), r.account()
	r.checkReading(footfall.Stats{}, s)
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"Tracked", s.Tracked, a.tracked},
		{"Delivered", s.Delivered, a.delivered},
		{"Rejected", s.Rejected, a.rejected},
		{"Rejected, by OnRejected,", s.Rejected, r.rejections.Load()},
		{"Invalid", s.Invalid, r.invalid.Load()},
		{"Refused", s.Refused, r.refused.Load()},
	} {
		if c.got != c.want {
			r.fault("count", none, "%s is %d and should be %d: %+v", c.name, c.got, c.want, s)
		}
	}
	if s.Dropped > 0 && !r.config.DropOldest && !r.closed.Load() {
		r.fault("dropped", none, "events were dropped: %+v", s)
	}
	if s.Stored > 0 && !r.options.Store {
		r.fault("count", none, "events are stored nowhere: %+v", s)
	}
	return s
}

// allSettled reports whether every event that the API would settle is settled.
func (r *run) allSettled() bool {
	dropped := r.tracker.Stats().Dropped
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint64(len(r.left())) <= dropped
}

// left returns the accepted events that the API would settle and has not. The caller holds
// the lock.
func (r *run) left() (events []*history) {
	for _, h := range r.events {
		if h != nil && h.accepted && !h.settled && h.fate.settles() {
			events = append(events, h)
		}
	}
	return events
}

// checkDelivered checks that the API has received every event that it would settle.
func (r *run) checkDelivered(healthy time.Duration) {
	dropped := r.tracker.Stats().Dropped
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.left(); uint64(len(left)) > dropped {
		h := left[0]
		r.problem("in the end", h.n, "%d events are not delivered after the API worked for %v; #%d (%v) is the first, with %d attempts",
			len(left), healthy, h.n, h.fate, len(h.attempts))
	}
}

// checkEnd runs after Close, when the tracker is idle.
func (r *run) checkEnd() {
	r.checkOnce()
	r.checkOrder()
	r.checkRates()
	time.Sleep(time.Minute) // for a server that is about to close a connection
	if n := r.hangUp(); n > 0 {
		r.fault("connections", none, "%d connections are open after Close", n)
	}
	synctest.Wait()
	if n := goroutines(); n > 0 {
		r.fault("goroutines", none, "%d goroutines outlive Close", n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.peak > r.config.MaxInFlight && !r.options.Wire {
		r.problem("in flight", none, "%d requests were in flight at once, and MaxInFlight is %d", r.peak, r.config.MaxInFlight)
	}
}

// checkOnce checks that no event was delivered twice, except after a lost answer, and that
// only accepted events were delivered.
func (r *run) checkOnce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.events {
		switch {
		case h == nil:
		case h.takes-h.lost > 1:
			r.problem("once", h.n, "the API accepted the event %d times, and lost %d answers", h.takes, h.lost)
		case h.called && !h.accepted && len(h.attempts) > 0:
			r.problem("once", h.n, "the event was sent, and Track had refused it")
		}
	}
}

// checkOrder checks that events are sent in the order of their calls, if nothing prevents it.
// Concurrent calls have no order.
func (r *run) checkOrder() {
	if r.config.MaxInFlight > 1 || len(r.kinds) > 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.events[r.requests[0].event]
	for _, q := range r.requests {
		h := r.events[q.event]
		if h.tracked < last.tracked {
			r.problem("order", h.n, "was tracked before #%d, and sent after it", last.n)
		}
		last = h
	}
}

// checkGoroutines bounds the goroutines of the library while it works.
func (r *run) checkGoroutines() {
	bound := r.config.MaxInFlight + 12
	if r.options.Wire {
		bound += 3 * r.config.MaxInFlight // net/http has two for each connection, and one that dials
	}
	if n := goroutines(); n > bound {
		r.fault("goroutines", none, "%d goroutines, and MaxInFlight is %d", n, r.config.MaxInFlight)
	}
}

// checkIdle checks that an idle tracker keeps no goroutines.
func (r *run) checkIdle() {
	if r.tracker.Stats().Queued+r.tracker.Stats().Stored > 0 || r.options.Wire {
		return
	}
	if n := goroutines(); n > r.idle {
		r.fault("goroutines", none, "%d goroutines when idle, and %d at first", n, r.idle)
	}
}

// goroutines counts the goroutines of the bubble that the simulation has not started.
func goroutines() (n int) {
	own := make([]byte, 256)
	own = own[:runtime.Stack(own, false)]
	_, bubble, _ := strings.Cut(string(own), "synctest bubble ")
	bubble, _, _ = strings.Cut(bubble, "]")
	buf := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		header, _, _ := strings.Cut(stack, "\n")
		if strings.HasSuffix(header, "synctest bubble "+bubble+"]:") && !isOwn(stack) {
			n++
		}
	}
	return n
}

// isOwn reports whether a goroutine was started by this package or by synctest.
func isOwn(stack string) bool {
	first := ""
	for line := range strings.SplitSeq(stack, "\n") {
		switch {
		case strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "sync.(*WaitGroup).Go"):
		case strings.HasPrefix(line, "created by testing"), strings.HasPrefix(line, "created by internal/synctest"):
			return true
		case strings.HasPrefix(line, "created by "):
			return strings.HasPrefix(first, self)
		default:
			first = line
		}
	}
	return false
}

// self is the prefix of this package's functions in a stack.
const self = "github.com/footfall-dev/footfall/transporttest/simulation."
