// Package senders decides how many senders of a transport run, and how many of them may have events
// that are likely to fail. It starts no goroutines. Its types are not safe for concurrent use.
package senders

import (
	"time"

	"golang.org/x/sync/semaphore"
)

// perSender is the largest number of waiting events for which one sender is started.
const perSender = 8

// Crew counts the senders of a transport. A sender is moving if it has ended an attempt since
// Deliver last asked how many to start: it will take some of the waiting events. Other senders may
// wait for an answer that never arrives.
type Crew struct {
	interval time.Duration // in which waiting events should be taken
	slots    *semaphore.Weighted

	running int
	moving  int
	looks   uint64        // calls of Wanted
	usual   time.Duration // that an attempt takes
}

// NewCrew returns the count of no senders, of which at most most may run.
func NewCrew(most int, interval time.Duration) Crew {
	return Crew{interval: interval, slots: semaphore.NewWeighted(int64(most))}
}

// Member is a running sender.
type Member struct {
	look     uint64 // when it was last counted as moving
	attempts int
}

// Running returns how many senders run.
func (c *Crew) Running() int { return c.running }

// Wanted returns how many senders to start for the given number of waiting events.
func (c *Crew) Wanted(waiting int) int {
	moving, each := c.moving, c.each()
	c.moving = 0
	c.looks++
	return max(0, (waiting+each-1)/each-moving)
}

// each returns about how many events a sender delivers within the interval.
func (c *Crew) each() int {
	return int(min(perSender, max(1, c.interval/max(1, c.usual))))
}

// Start counts a new sender and reports whether one may start.
func (c *Crew) Start() bool {
	if !c.slots.TryAcquire(1) {
		return false
	}
	c.running++
	return true
}

// Begin counts an attempt of m.
func (c *Crew) Begin(m *Member) {
	if m.attempts++; m.attempts > 1 && m.look != c.looks {
		m.look = c.looks
		c.moving++
	}
}

// Learn notes how long an attempt took that the API has answered.
func (c *Crew) Learn(took time.Duration) {
	if took > 0 {
		c.usual += (took - c.usual) / 8
	}
}

// End stops counting a sender.
func (c *Crew) End(m *Member) {
	if m.look == c.looks && m.attempts > 1 {
		c.moving--
	}
	c.running--
	c.slots.Release(1)
}

// Share bounds the senders that have doubtful events, which are likely to fail: probes of a site
// or kind, and events that keep failing. While other events wait, they get a tenth of the senders,
// and of the time of all senders.
type Share struct {
	Most int // senders

	inFlight int
	next     time.Time // when a doubtful event may be sent in place of another one
}

// Free reports whether a sender may have a doubtful event.
func (s *Share) Free() bool { return s.inFlight < max(1, s.Most/10) }

// FreeForNew reports whether a sender may have a doubtful event that has just arrived. It may differ
// from those that have failed, so it does not wait for them.
func (s *Share) FreeForNew() bool { return s.inFlight < max(2, s.Most-1) }

// Turn reports whether a doubtful event may be sent in place of another one.
func (s *Share) Turn(now time.Time) bool { return !now.Before(s.next) }

// Begin counts a doubtful event that is sent.
func (s *Share) Begin() { s.inFlight++ }

// End notes the end of its attempt.
func (s *Share) End(began, now time.Time) {
	s.inFlight--
	if s.next.Before(began) {
		s.next = began
	}
	s.next = s.next.Add(10 * now.Sub(began) / time.Duration(s.Most))
}
