package footfall

import "slices"

// slab is a block of memory that holds encoded events one after another, so that
// queueing one costs a copy and no allocation. It is handed out from the front
// and used again once everything in it is settled.
type slab struct {
	buf     []byte
	entries []entry
	next    int // index of the first entry not taken
	live    int // entries not settled
	after   *slab
}

// entry is one event of a slab.
type entry struct {
	id      eventID
	end     int // offset in buf behind the body; it begins where the one before ends
	settled bool
	epoch   *epoch
}

func (s *slab) fits(n int) bool { return len(s.buf)+n <= cap(s.buf) }

func (s *slab) add(id eventID, body []byte, e *epoch) {
	s.buf = append(s.buf, body...)
	n := len(s.entries)
	s.entries = slices.Grow(s.entries, 1)[:n+1] // what is there is zero
	last := &s.entries[n]
	last.id, last.end, last.epoch = id, len(s.buf), e
	s.live++
}

func (s *slab) start(slot int) int {
	if slot == 0 {
		return 0
	}
	return s.entries[slot-1].end
}

func (s *slab) size(slot int) int { return s.entries[slot].end - s.start(slot) }

func (s *slab) record(slot int) Record {
	e := &s.entries[slot]
	return Record{ID: e.id.uuid(), Body: s.buf[s.start(slot):e.end:e.end], home: s, slot: slot}
}

// holds reports whether r is one of the slab's events and not settled: a record
// settled twice may come back when its slab already holds others.
func (s *slab) holds(r *Record) bool {
	return s != nil && r.slot < len(s.entries) && s.entries[r.slot].id.uuid() == r.ID && !s.entries[r.slot].settled
}

func (s *slab) reset() {
	clear(s.entries) // for the next ones, and to let go of epochs
	s.buf, s.entries, s.next, s.live, s.after = s.buf[:0], s.entries[:0], 0, 0, nil
}

// slabs is a list of slabs in use, oldest first, and the empty ones kept for reuse.
// The last one is where events are added. It is guarded by the queue's lock.
type slabs struct {
	size        int // capacity of each in bytes, but for events larger than that
	first, last *slab
	spare       *slab
	spares      int
}

// maxSpares slabs are kept after a burst; the rest goes back to the runtime.
const maxSpares = 64

func (l *slabs) add(id eventID, body []byte, e *epoch) {
	if l.last == nil || !l.last.fits(len(body)) {
		l.push(l.empty(len(body)))
	}
	l.last.add(id, body, e)
}

// empty returns a slab with room for n bytes. A larger event has a slab of its own.
func (l *slabs) empty(n int) *slab {
	if n > l.size {
		return &slab{buf: make([]byte, 0, n)}
	}
	if s := l.spare; s != nil {
		l.spare, s.after = s.after, nil
		l.spares--
		return s
	}
	return &slab{buf: make([]byte, 0, l.size)}
}

func (l *slabs) push(s *slab) {
	if l.last == nil {
		l.first = s
	} else {
		l.last.after = s
	}
	l.last = s
}

// take returns the oldest record not taken yet. There must be one.
func (l *slabs) take() Record {
	for l.first.next == len(l.first.entries) {
		l.first = l.first.after // taken as a whole; its records come back through settled
	}
	s := l.first
	s.next++
	return s.record(s.next - 1)
}

// settled is told that a record of s has ended.
func (l *slabs) settled(s *slab) {
	s.live--
	if s.live > 0 || s.next < len(s.entries) {
		return
	}
	if s == l.last {
		s.reset()
		l.first = s // nothing is waiting, in this slab or any other
		return
	}
	if s == l.first {
		l.first = s.after
	}
	s.reset()
	if l.spares < maxSpares && cap(s.buf) == l.size {
		s.after, l.spare = l.spare, s
		l.spares++
	}
}
