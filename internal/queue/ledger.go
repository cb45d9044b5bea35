package queue

// ledger counts the events that were accepted, and the room that is left for others.
type ledger struct {
	maxEvents, maxBytes int

	waiting  int // accepted, not taken
	pending  int // accepted, not settled
	bytes    int // of pending
	taken    int // bytes of pending that are taken
	counters Counters
}

// add counts events that were accepted.
func (l *ledger) add(events, bytes, redacted int) {
	l.waiting += events
	l.pending += events
	l.bytes += bytes
	l.counters.Tracked += uint64(events)
	l.counters.Redacted += uint64(redacted)
}

// take counts an event of size bytes that was taken.
func (l *ledger) take(size int) {
	l.waiting--
	l.taken += size
}

// settle counts an event of size bytes that was taken and has ended.
func (l *ledger) settle(size int, o Outcome) {
	l.pending--
	l.bytes -= size
	l.taken -= size
	l.counters.count(o, 1)
}

// end counts every event that is not settled as dropped.
func (l *ledger) end() {
	l.counters.Dropped += uint64(l.pending)
	l.pending, l.waiting, l.bytes, l.taken = 0, 0, 0, 0
}

func (l *ledger) snapshot() Counters {
	c := l.counters
	c.Queued = uint64(l.pending)
	c.QueuedBytes = uint64(l.bytes)
	return c
}

// full reports whether an event of n bytes exceeds the bounds beside some events.
func (l *ledger) full(events, bytes, n int) bool {
	return events >= l.maxEvents || bytes+n > l.maxBytes
}

// isLow reports whether an event of n bytes needs the last quarter of the room.
func (l *ledger) isLow(n int) bool {
	return l.pending >= l.maxEvents-l.maxEvents/4 || l.bytes+n > l.maxBytes-l.maxBytes/4
}
