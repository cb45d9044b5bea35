// Package senders decides how many senders of a transport run, and how many of them may have events
// that are likely to fail. It starts no goroutines. Its types are not safe for concurrent use.
package senders

import (
	"cmp"
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

	running  int
	moving   int
	looks    uint64        // calls of Wanted
	usual    time.Duration // that an attempt takes
	busy     []*Member     // that have an attempt in flight
	whole    int           // of those, the ones that get all their time
	most     int           // of whole
	answered time.Time     // when the API last answered an attempt
}

// NewCrew returns the count of no senders, of which at most most may run.
func NewCrew(most int, interval time.Duration) Crew {
	return Crew{interval: interval, slots: semaphore.NewWeighted(int64(most)), most: max(1, most/2)}
}

// Member is a running sender.
type Member struct {
	Early *Interruption // of its attempts

	look      uint64 // when it was last counted as moving
	attempts  int
	began     time.Time // of the attempt in flight
	whole     bool      // which gets all its time
	ends      bool      // which was interrupted
	protected bool      // it gets all its time even if the API answers others meanwhile
	waived    bool      // it was, although it was to get all its time
	index     int       // in Crew.busy
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

// Waived reports whether the last attempt of m was interrupted although it was to get all its time.
func (m *Member) Waived() bool { return m.waived }

// Begin counts an attempt of m that begins at now. If whole is true, it gets all its time, unless half of
// the senders have such attempts. If waived is true, that holds even if the API answers others meanwhile.
func (c *Crew) Begin(m *Member, whole, waived bool, now time.Time) {
	if m.attempts++; m.attempts > 1 && m.look != c.looks {
		m.look = c.looks
		c.moving++
	}
	m.began, m.whole, m.index = now, whole && c.whole < c.most, len(c.busy)
	m.ends, m.waived, m.protected = false, false, waived
	if m.whole {
		c.whole++
	}
	c.busy = append(c.busy, m)
}

// Rest notes that the attempt of m has ended. If the API has answered it, Rest learns how long one
// takes.
func (c *Crew) Rest(m *Member, answered bool, now time.Time) {
	last := len(c.busy) - 1
	c.busy[m.index] = c.busy[last]
	c.busy[m.index].index = m.index
	c.busy[last] = nil
	c.busy = c.busy[:last]
	if m.whole {
		c.whole--
	}
	took := now.Sub(m.began)
	if answered {
		c.answered = now
	}
	switch {
	case !answered || took <= 0:
	case c.usual == 0:
		c.usual = took
	default:
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

const (
	// leastPatience is how long an attempt may take in any case.
	leastPatience = time.Second

	// timesUsual is how long it may take, in units of the usual time.
	timesUsual = 4
)

// Patience is which attempts are interrupted.
type Patience uint8

const (
	Usual   Patience = iota // up to n, if no other sender may start
	Outage                  // all that take long
	Closing                 // as Usual, and those that began before the API answered another one
)

// Stuck returns functions that interrupt attempts that take long. It returns one for each attempt only
// once. It also returns how long it takes until there may be others, or 0.
func (c *Crew) Stuck(n int, p Patience, now time.Time) (stuck []func(), next time.Duration) {
	if n > 0 && c.slots.TryAcquire(1) {
		c.slots.Release(1)
		n = 0
	}
	if p != Usual && c.running > 0 {
		next = leastPatience // of an attempt that has not begun
	}
	if p == Outage {
		n = len(c.busy)
	}
	patience := max(leastPatience, timesUsual*c.usual)
	for _, m := range c.busy {
		dead := p == Closing && !m.protected && m.began.Before(c.answered) // its answer may never arrive
		if m.ends || !dead && (m.whole || n == 0) {
			continue
		}
		if left := patience - now.Sub(m.began); left > 0 {
			next = min(cmp.Or(next, left), left)
			continue
		}
		m.ends, m.waived = true, m.whole
		stuck = append(stuck, m.Early.Interrupter())
		if !dead {
			n--
		}
	}
	return stuck, next
}

// Share bounds the senders that have doubtful events, which are likely to fail: probes of a site
// or kind, and events that keep failing. While other events wait, they get a tenth of the senders,
// and of the time of all senders. They get more senders while they are accepted.
type Share struct {
	Most int // senders

	inFlight int
	earned   int       // senders above a tenth
	next     time.Time // when a doubtful event may be sent in place of another one
}

// Free reports whether a sender may have a doubtful event.
func (s *Share) Free() bool { return s.inFlight < max(1, s.Most/10)+s.earned }

// FreeForNew reports whether a sender may have a doubtful event that has just arrived. It may differ
// from those that have failed, so it does not wait for them.
func (s *Share) FreeForNew() bool { return s.inFlight < max(2, s.Most-1) }

// Turn reports whether a doubtful event may be sent in place of another one.
func (s *Share) Turn(now time.Time) bool { return !now.Before(s.next) }

// Begin counts a doubtful event that is sent.
func (s *Share) Begin() { s.inFlight++ }

// End notes the end of its attempt, and whether the API has settled it.
func (s *Share) End(began time.Time, settled bool, now time.Time) {
	s.inFlight--
	if settled {
		s.earned = min(s.earned+1, s.Most/2)
		return
	}
	s.earned /= 2
	if s.next.Before(began) {
		s.next = began
	}
	s.next = s.next.Add(10 * now.Sub(began) / time.Duration(s.Most))
}
