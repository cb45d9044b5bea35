package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What an error must name: the last failure of the events that are not settled.

// cause is what an error may name.
type cause struct {
	at    time.Duration
	words []string // of the last failures before now, which are one if they have not the same time
	also  []string // of failures that are of the same time as the error
	none  bool     // an error may name none, because the failures may be those of dropped events
}

// words says how an error begins that tells of an attempt. An attempt that succeeded has none.
func (x *exchange) words(how result) []string {
	switch {
	case how == givenUp:
		return []string{"no answer in", "i/o timeout"} // by the default and by lean
	case how == answered && (x.accept || x.reject):
		return nil
	case how == answered:
		return []string{fmt.Sprintf("answered %d", x.status)}
	case x.act == refuse:
		return []string{"refused", "reset", "EOF"}
	case x.act == cutHeader:
		return []string{"reset", "EOF", "malformed"}
	}
	return []string{"reset", "EOF"}
}

// cause returns what an error about h may name at a time. Its last failure counts.
func (h *history) cause(now time.Duration) (c cause) {
	c.at = -1
	for _, at := range h.attempts {
		switch {
		case at.words == nil:
		case at.to == now:
			c.also = append(c.also, at.words...)
		default:
			c.at, c.words = at.to, at.words
		}
	}
	return c
}

// or returns c if it has a failure before now. If not, other counts.
func (c cause) or(other cause) cause {
	if c.words == nil {
		other.also = append(other.also, c.also...)
		return other
	}
	return c
}

// durableCause returns what an error of TrackDurable may name: the last failure of the event
// itself, else of all. On a wire a transport repeats by itself what a kept connection has not
// carried, so that the API may know of a failure that the library does not. It needs the lock.
func (r *run) durableCause(h *history) cause {
	own, all := r.unseen(h.cause(r.now())), r.lastCause()
	if r.options.Wire {
		own.also = append(own.also, all.words...)
		own.none = own.none || slices.Contains(own.words, "reset")
	}
	return own.or(all)
}

// lastCause returns the last failure of all events that are not settled, or have just been. It
// needs the lock. Which events a full queue has dropped the API does not know, nor on a wire
// which attempts a transport repeats by itself: the last failure of any event counts then.
func (r *run) lastCause() (c cause) {
	now, dropped := r.now(), r.tracker.Stats().Dropped > 0
	c.at, c.none = -1, dropped
	anyOf := dropped || r.options.Wire
	for _, h := range r.events {
		if h == nil || !h.accepted || h.settled && h.at < now {
			continue
		}
		one := h.cause(now)
		c.also = append(c.also, one.also...)
		switch {
		case one.words == nil || one.at < c.at && !anyOf:
		case one.at > c.at && !anyOf:
			c.at, c.words = one.at, slices.Clone(one.words)
		default:
			c.words = append(c.words, one.words...)
		}
	}
	return r.unseen(c)
}

// unseen adds failures on a wire that the API does not know of, or not of which event: refused
// connections, and 408 on one that the API is about to close, which a client takes for the next
// answer, or waits on.
func (r *run) unseen(c cause) cause {
	if n := len(r.refusals); n > 0 && r.refusals[n-1] >= c.at {
		c.also = append(c.also, "refused")
	}
	if slices.Contains(r.kinds, Unsolicited) {
		c.also = append(c.also, "answered 408", "no answer in")
	}
	for _, h := range r.events {
		if h == nil || len(h.attempts) == 0 {
			continue
		}
		last := h.attempts[len(h.attempts)-1]
		if last.result == underWay && r.now() >= last.from+r.config.AttemptTimeout { // the server is about to see the end
			c.also = append(c.also, "no answer in", "i/o timeout")
		}
	}
	return c
}

// isIn reports whether err names the cause, or none if there is none.
func (c cause) isIn(err error) bool {
	text := err.Error()
	has := func(w string) bool { return strings.Contains(text, w) }
	if (len(c.words) == 0 || c.none) && !strings.Contains(text, "the last attempt failed") {
		return true
	}
	return slices.ContainsFunc(c.words, has) || slices.ContainsFunc(c.also, has)
}

// String lists the words.
func (c cause) String() string {
	return fmt.Sprintf("%q, or of this moment %q", c.words, c.also)
}
