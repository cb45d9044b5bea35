package queue

import "sync"

// shard is one of the parts of the queue that Track adds events to. There are several, so that
// goroutines on different cores do not wait for each other: a shared lock would cost more than
// the rest of Track. The queue gives each shard credit for some events and bytes. A caller
// that needs more calls Queue.ask.
type shard struct {
	clock  *clock
	spares *spares

	mu           sync.Mutex
	left         int   // credit: events that may be added without asking
	room         int   // credit: bytes of them
	untilTrigger int   // events until the queue must be triggered; 0 for never
	last         *slab // where events are added
	used         int   // bytes of last
	n            int   // entries of last
	redacted     int   // of events that are not counted

	_ cacheLinePad // the queue's lock guards what follows, once an event is counted

	first    *slab // where events are taken
	counting *slab // the first slab that has, or may get, events that are not counted
	waiting  int   // counted and not taken
	had      bool  // had events since a batch was due
	inUse    bool  // has a share of what the next batch lacks

	_ cacheLinePad
}

// cacheLinePad keeps fields that different cores use in different cache lines. Some processors
// fetch two lines of 64 bytes at once.
type cacheLinePad [128]byte

// lock spins before it blocks, because a shard is locked for moments only. A sync.Mutex does
// not spin when other goroutines are ready to run, and a goroutine that blocks while it holds
// another shard's lock blocks every caller.
func (sh *shard) lock() {
	for range 200 {
		if sh.mu.TryLock() {
			return
		}
	}
	sh.mu.Lock()
}

// hasCredit reports whether an event of n bytes may be added without asking.
func (sh *shard) hasCredit(n int) bool { return sh.left > 0 && n <= sh.room }

// spend takes an event of n bytes from the credit and reports whether the queue must be
// triggered.
func (sh *shard) spend(n int) (trigger bool) {
	sh.left--
	sh.room -= n
	sh.untilTrigger--
	return sh.untilTrigger == 0
}

func (sh *shard) add(body []byte, redacted int) {
	if sh.last == nil || !sh.last.fits(sh.n, sh.used, len(body)) {
		sh.push(sh.spares.get(len(body)))
	}
	if sh.n == 0 {
		sh.last.begin(sh.clock)
	}
	at := sh.clock.now()
	end, ok := sh.last.put(sh.n, sh.used, at, body)
	if !ok {
		sh.push(sh.spares.leaveMemory(len(body)))
		sh.last.begin(sh.clock)
		end, _ = sh.last.put(0, 0, at, body)
	}
	sh.last.entries[sh.n] = entry{at: at, end: end}
	sh.used = end
	sh.n++
	sh.redacted += redacted
}

// push makes s, which is empty, the slab that events are added to.
func (sh *shard) push(s *slab) {
	s.shard = sh
	if sh.last == nil {
		sh.first, sh.counting = s, s
	} else {
		sh.last.filled, sh.last.after = sh.n, s
	}
	sh.last, sh.used, sh.n = s, s.end(-1), 0
}

// countAdded counts the events that were added since the last call. It and the methods below
// need the queue's lock, too.
func (sh *shard) countAdded(e *epoch) (events, bytes, redacted int) {
	for s := sh.counting; s != nil; s = sh.counting {
		n := sh.n
		if s != sh.last {
			n = s.filled
		}
		events += n - s.counted
		bytes += s.countAdded(n, e)
		if s == sh.last {
			break
		}
		sh.counting = s.after
		sh.recycle(s)
	}
	sh.waiting += events
	if events > 0 {
		sh.had, sh.inUse = true, true
	}
	redacted, sh.redacted = sh.redacted, 0
	return events, bytes, redacted
}

// rewind starts the last slab from its beginning if every event of the shard is counted and
// taken, and every event of the slab is settled.
func (sh *shard) rewind() {
	if sh.n > 0 && sh.waiting == 0 && sh.last.drained() {
		for sh.first != sh.last {
			sh.pass()
		}
		sh.last.reset()
		sh.used, sh.n = sh.last.end(-1), 0
	}
}

// oldest returns the entry to take next. There must be one. This method and those below need
// the queue's lock only.
func (sh *shard) oldest() *entry {
	for sh.first.next == sh.first.counted {
		sh.pass()
	}
	return &sh.first.entries[sh.first.next]
}

// pass leaves the first slab, whose events are all taken.
func (sh *shard) pass() {
	s := sh.first
	sh.first = s.after
	s.passed = true
	sh.recycle(s)
}

// takeOldest takes the event that oldest has found.
func (sh *shard) takeOldest() Ref {
	sh.waiting--
	return sh.first.take()
}

// release notes that an event of s is settled.
func (sh *shard) release(s *slab) {
	s.live--
	if s != sh.counting {
		sh.recycle(s)
	}
}

// recycle gives back a slab whose events are all settled. A slab stays while there are waiting
// events in front of it.
func (sh *shard) recycle(s *slab) {
	if !s.drained() {
		return
	}
	if s == sh.first {
		sh.first = s.after
	} else if !s.passed {
		return
	}
	sh.spares.put(s)
}
