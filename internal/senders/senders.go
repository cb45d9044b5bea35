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

// Pool counts the senders of a transport. A sender is moving if it has ended an attempt since
// Deliver last asked how many to start: it will take some of the waiting events. Other senders may
// wait for an answer that never arrives.
type Pool struct {
	interval time.Duration // in which waiting events should be taken
	slots    *semaphore.Weighted

	running     int
	moving      int
	round       uint64        // calls of Wanted
	meanAttempt time.Duration // that an attempt takes
	busy        []*Sender     // that have an attempt in flight
	whole       int           // of those, the ones that get all their time
	maxWhole    int           // of whole
	answered    time.Time     // when the API last answered an attempt
}

// NewPool returns a Pool in which at most limit senders may run.
func NewPool(limit int, interval time.Duration) Pool {
	return Pool{interval: interval, slots: semaphore.NewWeighted(int64(limit)), maxWhole: max(1, limit/2)}
}

// Sender is a running sender.
type Sender struct {
	Interruption *Interruption // of its attempts

	round     uint64 // when it was last counted as moving
	attempts  int
	began     time.Time // of the attempt in flight
	whole     bool      // which gets all its time
	ends      bool      // which was interrupted
	protected bool      // it gets all its time even if the API answers others meanwhile
	waived    bool      // it was, although it was to get all its time
	index     int       // in Pool.busy
}

// Close leaves a sender of those that may have doubtful events to attempts that end early. See [Share.Close]. If the
// API has never accepted an event, each gets one attempt, and all senders except one may give it all its time.
func (p *Pool) Close(accepted bool) {
	if !accepted {
		p.maxWhole *= 2
	}
	p.maxWhole = max(1, p.maxWhole-1)
}

// Running returns how many senders run.
func (p *Pool) Running() int { return p.running }

// Wanted returns how many senders to start for the given number of waiting events.
func (p *Pool) Wanted(waiting int) int {
	moving, each := p.moving, p.each()
	p.moving = 0
	p.round++
	return max(0, (waiting+each-1)/each-moving)
}

// each returns about how many events a sender delivers within the interval.
func (p *Pool) each() int {
	return int(min(perSender, max(1, p.interval/max(1, p.meanAttempt))))
}

// Start counts a new sender and reports whether one may start.
func (p *Pool) Start() bool {
	if !p.slots.TryAcquire(1) {
		return false
	}
	p.running++
	return true
}

// Waived reports whether the last attempt of m was interrupted although it was to get all its time.
func (m *Sender) Waived() bool { return m.waived }

// BeginAttempt counts an attempt of m that begins at now. If whole is true, it gets all its time, unless half of
// the senders have such attempts. If waived is true, that holds even if the API answers others meanwhile.
func (p *Pool) BeginAttempt(m *Sender, whole, waived bool, now time.Time) {
	if m.attempts++; m.attempts > 1 && m.round != p.round {
		m.round = p.round
		p.moving++
	}
	m.began, m.whole, m.index = now, whole && p.whole < p.maxWhole, len(p.busy)
	m.ends, m.waived, m.protected = false, false, waived
	if m.whole {
		p.whole++
	}
	p.busy = append(p.busy, m)
}

// EndAttempt notes that the attempt of m has ended. If the API has answered it, EndAttempt learns how long one
// takes.
func (p *Pool) EndAttempt(m *Sender, answered bool, now time.Time) {
	last := len(p.busy) - 1
	p.busy[m.index] = p.busy[last]
	p.busy[m.index].index = m.index
	p.busy[last] = nil
	p.busy = p.busy[:last]
	if m.whole {
		p.whole--
	}
	took := now.Sub(m.began)
	if answered {
		p.answered = now
	}
	switch {
	case !answered || took <= 0:
	case p.meanAttempt == 0:
		p.meanAttempt = took
	default:
		p.meanAttempt += (took - p.meanAttempt) / 8
	}
}

// End stops counting a sender.
func (p *Pool) End(m *Sender) {
	if m.round == p.round && m.attempts > 1 {
		p.moving--
	}
	p.running--
	p.slots.Release(1)
}

const (
	// leastPatience is how long an attempt may take in any case.
	leastPatience = time.Second

	// timesMean is how long it may take, in units of the mean time.
	timesMean = 4
)

// Patience says which attempts are interrupted besides those that other events need.
type Patience struct {
	All     bool // all that take long
	Closing bool // those that began before the API answered another one, also if they were to get all their time
}

// Stuck returns functions that interrupt attempts that take long, up to n if no other sender may start, and
// more as patience says. It returns one for each attempt only once. It also returns how long it takes until
// there may be others, or 0.
func (p *Pool) Stuck(n int, patience Patience, now time.Time) (stuck []func(), next time.Duration) {
	if n > 0 && p.slots.TryAcquire(1) {
		p.slots.Release(1)
		n = 0
	}
	if (patience.All || patience.Closing) && p.running > 0 {
		next = leastPatience // of an attempt that has not begun
	}
	if patience.All {
		n = len(p.busy)
	}
	limit := max(leastPatience, timesMean*p.meanAttempt)
	for _, m := range p.busy {
		dead := patience.Closing && !m.protected && m.began.Before(p.answered) // its answer may never arrive
		if m.ends || !dead && (m.whole || n == 0) {
			continue
		}
		if left := limit - now.Sub(m.began); left > 0 {
			next = min(cmp.Or(next, left), left)
			continue
		}
		m.ends, m.waived = true, m.whole
		stuck = append(stuck, m.Interruption.Interrupter())
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
	Senders int

	closing  bool
	inFlight int
	earned   int       // senders above a tenth
	next     time.Time // when a doubtful event may be sent in place of another one
}

// Free reports whether a sender may have a doubtful event.
func (s *Share) Free() bool {
	if s.closing {
		return s.inFlight < max(1, s.Senders/2)
	}
	return s.inFlight < max(1, s.Senders/10)+s.earned
}

// Close makes half of the senders free for doubtful events: there is no time for turns.
func (s *Share) Close() { s.closing = true }

// FreeForNew reports whether a sender may have a doubtful event that has just arrived. It may differ
// from those that have failed, so it does not wait for them. One sender is for other events if some wait.
func (s *Share) FreeForNew(othersWait bool) bool {
	if !othersWait {
		return s.inFlight < max(2, s.Senders-1)
	}
	return s.inFlight < max(1, s.Senders-1)
}

// HasTime reports whether a doubtful event may be sent in place of another one.
func (s *Share) HasTime(now time.Time) bool { return !now.Before(s.next) }

// Begin counts a doubtful event that is sent.
func (s *Share) Begin() { s.inFlight++ }

// End notes the end of its attempt, and whether the API has settled it.
func (s *Share) End(began time.Time, settled bool, now time.Time) {
	s.inFlight--
	if settled {
		s.earned = min(s.earned+1, s.Senders/2)
		s.next = s.next.Add(-max(0, s.next.Sub(now)) / 2)
		return
	}
	s.earned /= 2
	if s.next.Before(began) {
		s.next = began
	}
	took := 10 * now.Sub(began)
	s.next = s.next.Add(took / time.Duration(s.Senders))
	if latest := now.Add(took); s.next.After(latest) {
		s.next = latest // while no others waited, it took nothing from them
	}
}
