package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Errors must name the last failure of the events that are not settled.

// cause holds the failures that an error may name.
type cause struct {
	at    time.Duration
	words []string // of the last failures before now; several if they happened at the same time
	also  []string // of failures at the time of the error
	none  bool     // an error may name none, because the failures may belong to dropped events
}

// words returns possible texts of an error about the attempt; none if it succeeded.
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

// cause returns the failures of h that an error may name at a time: the last ones.
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

// failures returns the words of all attempts that failed.
func (h *history) failures() (words []string) {
	for _, at := range h.attempts {
		words = append(words, at.words...)
	}
	return words
}

// or returns c if it has a failure before now, and other if not.
func (c cause) or(other cause) cause {
	if c.words == nil {
		other.also = append(other.also, c.also...)
		return other
	}
	return c
}

// durableCause returns the failures that an error of TrackDurable may name: the last of the
// event, or else of all events. On a wire an HTTP client may repeat a request by itself, so the
// API may know more failures than the library. The caller holds the lock.
func (r *run) durableCause(h *history) cause {
	own, all := r.unseen(h.cause(r.now())), r.lastCause()
	if r.options.Wire {
		own.also = append(own.also, all.words...)
		own.none = own.isOfConnections()
	}
	return own.or(all)
}

// isOfConnections reports whether all failures are broken connections, after which an HTTP
// client may have repeated the request by itself.
func (c cause) isOfConnections() bool {
	return !slices.ContainsFunc(c.words, func(w string) bool { return w != "reset" && w != "EOF" })
}

// lastCause returns the last failure of all events that are not settled, or have just been.
// If a queue dropped events, or on a wire, failures of settled events count, too, because the
// API cannot tell them apart. The caller holds the lock.
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
	c.none = c.none || r.options.Wire && c.isOfConnections()
	return r.unseen(c)
}

// unseen adds failures on a wire that the API cannot attribute: refused connections.
func (r *run) unseen(c cause) cause {
	if n := len(r.refusals); n > 0 && r.refusals[n-1] >= c.at {
		c.also = append(c.also, "refused")
	}
	for _, h := range r.events {
		if h == nil || len(h.attempts) == 0 {
			continue
		}
		last := h.attempts[len(h.attempts)-1]
		if last.result == underWay && r.now() >= last.from+min(r.config.AttemptTimeout, time.Second) { // the server is about to see the end
			c.also = append(c.also, "no answer in", "i/o timeout")
		}
	}
	return c
}

// isIn reports whether err names the cause, or no cause if there is none.
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
