package queue

import (
	"iter"
	"math/rand/v2"
	"sync"
)

// lane is where Track adds events. There are several, so that goroutines on different
// cores do not wait for each other: what they share costs more than all the rest of Track.
// A lane has a licence of the queue for so many events and bytes; who needs more asks
// (queue.ask).
type lane struct {
	clock  *clock
	spares *spares

	mu       sync.Mutex
	left     int   // events that may be added without asking
	room     int   // bytes of them
	quiet    int   // with how many more Wait must be told; 0 if it need not be
	last     *slab // where they are added
	used     int   // bytes of last
	n        int   // entries of last
	redacted int   // values of the events that are not counted

	_ apart // what follows is the queue's, once there is an event that it knows of

	first    *slab // where they are taken
	counting *slab // the first that has, or may get, events that are not counted
	waiting  int   // counted and not taken
	had      bool  // had events since a batch was due
	inUse    bool  // has a share of what the next batch lacks

	_ apart
}

// apart keeps what different cores change, or read and change, in different lines of their
// caches, which are 64 bytes, or two of them.
type apart [128]byte

// lock looks for a while before it sleeps, for a lane is locked for moments only. A
// sync.Mutex does not when other goroutines are ready to run, and who holds a lane and
// sleeps for another has all callers wait.
func (l *lane) lock() {
	for range 200 {
		if l.mu.TryLock() {
			return
		}
	}
	l.mu.Lock()
}

// licensed reports whether an event of n bytes may be added without asking.
func (l *lane) licensed(n int) bool { return l.left > 0 && n <= l.room }

// spend reports whether Wait must be told of the event that is added.
func (l *lane) spend(n int) (tell bool) {
	l.left--
	l.room -= n
	l.quiet--
	return l.quiet == 0
}

func (l *lane) add(body []byte, redacted int) {
	if l.last == nil || !l.last.fits(l.n, l.used, len(body)) {
		l.push(l.spares.get(len(body)))
	}
	if l.n == 0 {
		l.last.begin(l.clock)
	}
	l.used += copy(l.last.mem[l.used:], body)
	l.last.entries[l.n] = entry{at: l.clock.now(), end: l.used}
	l.n++
	l.redacted += redacted
}

// push goes on in s, which is empty.
func (l *lane) push(s *slab) {
	s.lane = l
	if l.last == nil {
		l.first, l.counting = s, s
	} else {
		l.last.filled, l.last.after = l.n, s
	}
	l.last, l.used, l.n = s, 0, 0
}

// count takes note of what was added, and returns how much. It needs the queue's lock, too,
// as all below.
func (l *lane) count(e *epoch) (events, bytes, redacted int) {
	for s := l.counting; s != nil; s = l.counting {
		n := l.n
		if s != l.last {
			n = s.filled
		}
		events += n - s.counted
		bytes += s.count(n, e)
		if s == l.last {
			break
		}
		l.counting = s.after
		l.recycle(s)
	}
	l.waiting += events
	if events > 0 {
		l.had, l.inUse = true, true
	}
	redacted, l.redacted = l.redacted, 0
	return events, bytes, redacted
}

// rewind uses the last slab from its beginning again if all in the lane is counted and
// taken, and all in the slab has ended.
func (l *lane) rewind() {
	if l.n > 0 && l.waiting == 0 && l.last.drained() {
		for l.first != l.last {
			l.pass()
		}
		l.last.reset()
		l.used, l.n = 0, 0
	}
}

// oldest is the entry to be taken next. There must be one. Only the queue's lock is needed
// for this and what follows.
func (l *lane) oldest() *entry {
	for l.first.next == l.first.counted {
		l.pass()
	}
	return &l.first.entries[l.first.next]
}

// pass leaves the first slab, which is taken as a whole.
func (l *lane) pass() {
	s := l.first
	l.first = s.after
	s.passed = true
	l.recycle(s)
}

// take returns the oldest record, which oldest has found.
func (l *lane) take() Item {
	l.waiting--
	return l.first.take(l.first.next)
}

// takeAny returns a record from anywhere. There must be one.
func (l *lane) takeAny() Item {
	l.waiting--
	var from *slab
	slabs := 0
	for s := range l.known() {
		if s.next < s.counted {
			if slabs++; rand.IntN(slabs) == 0 {
				from = s
			}
		}
	}
	return from.take(from.any())
}

// known yields the slabs from the first to the last that has counted entries. Track may be
// adding others.
func (l *lane) known() iter.Seq[*slab] {
	return func(yield func(*slab) bool) {
		for s := l.first; yield(s) && s != l.counting; {
			s = s.after
		}
	}
}

// newest returns the slab with the newest entry that waits, and when that was added. There
// must be one.
func (l *lane) newest() (from *slab, at int64) {
	for s := range l.known() {
		if s.next < s.counted {
			from = s
		}
	}
	return from, from.entries[from.newest()].at
}

// takeNewest returns the newest record of a slab that newest has found.
func (l *lane) takeNewest(from *slab) Item {
	l.waiting--
	return from.take(from.newest())
}

// release is told that a record of s has ended.
func (l *lane) release(s *slab) {
	s.live--
	if s != l.counting {
		l.recycle(s)
	}
}

// recycle gives a slab back in which nothing is needed and that gets nothing more. One that
// is taken before those in front of it waits for them.
func (l *lane) recycle(s *slab) {
	if !s.drained() {
		return
	}
	if s == l.first {
		l.first = s.after
	} else if !s.passed {
		return
	}
	l.spares.put(s)
}
