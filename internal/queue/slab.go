package queue

import (
	"bytes"
	"math/rand/v2"
	"sort"
	"sync"

	"github.com/google/uuid"
)

// slab is a block of memory that holds encoded events one after another, so that
// queueing one costs a copy and no allocation. It is handed out from the front
// and used again once everything in it is settled.
//
// Track writes mem and entries behind what is counted, and filled and after, with the
// lock of the lane; all else is guarded by the queue's. What the ids are made of is written
// before the first entry, and not read before that is counted.
type slab struct {
	lane      *lane   // nil for a slab of one delayed event
	owner     *spares // of the queue that it belongs to
	mem       []byte
	entries   []entry
	seed      uint64 // random, anew each time the slab is used
	unixStart int64  // clock.unixStart when that began
	filled    int    // entries, once the lane goes on in the one after
	after     *slab

	states  []state // of the entries that are counted
	runs    []run   // of the same
	counted int     // entries that the queue knows of
	next    int     // index of the first entry that waits
	live    int     // entries counted and not settled
	turn    int32   // how often its one event was given back, if it is a delayed one's
	passed  bool    // the lane has taken all and gone on
}

// state is where the event of an entry is.
type state uint8

const (
	waiting state = iota
	taken         // in flight
	settled       // or no longer in this slab
)

// entry is one event of a slab.
type entry struct {
	at  int64 // when it was added, on the queue's clock
	end int   // offset in mem behind the body; it begins where the one before ends
}

// run is entries of one epoch; it begins where the one before ends.
type run struct {
	end   int
	epoch *epoch
}

// slabEntries is how many events a slab holds at most. Those of usual size fill it before.
const slabEntries = 512

func newSlab(size int) *slab {
	return &slab{mem: make([]byte, size), entries: make([]entry, slabEntries), states: make([]state, slabEntries)}
}

// split copies an event into a slab of its own, with the same id.
func (s *slab) split(slot int) Item {
	own := &slab{
		mem:       bytes.Clone(s.mem[s.start(slot):s.entries[slot].end]),
		owner:     s.owner,
		seed:      s.seed + uint64(slot),
		unixStart: s.unixStart,
		states:    []state{taken},
		runs:      []run{{1, s.epoch(slot)}},
		counted:   1,
	}
	own.entries = []entry{{at: s.entries[slot].at, end: len(own.mem)}}
	return own.item(0)
}

// fits reports whether an event of size bytes fits behind n others of used bytes.
func (s *slab) fits(n, used, size int) bool { return n < len(s.entries) && used+size <= len(s.mem) }

// start is the offset in mem where an entry begins.
func (s *slab) start(slot int) int {
	if slot == 0 {
		return 0
	}
	return s.entries[slot-1].end
}

func (s *slab) size(slot int) int { return s.entries[slot].end - s.start(slot) }

func (s *slab) item(slot int) Item {
	end := s.entries[slot].end
	return Item{ID: s.id(slot), Body: s.mem[s.start(slot):end:end], Ref: Ref{home: s, slot: slot, seed: s.seed, turn: s.turn}}
}

// id counts up from the seed (RFC 9562, section 6.2, method 2): a random number for each
// event would be a tenth of the cost of adding it.
func (s *slab) id(slot int) uuid.UUID {
	return NewID(s.entries[slot].at+s.unixStart, s.seed+uint64(slot))
}

// begin is told that the first event is about to come.
func (s *slab) begin(c *clock) {
	s.seed = rand.Uint64()
	s.unixStart = c.unixStart()
}

// holds reports whether r is in flight, and one of the slab's events, and the slab is of the
// queue with those spares: a record settled twice may come back when its slab already holds
// others.
func (s *slab) holds(r Ref, of *spares) bool {
	return s != nil && s.owner == of && r.turn == s.turn && r.slot < s.counted && r.seed == s.seed && s.states[r.slot] == taken
}

// count takes note of the entries up to n, which are e's, and returns their bytes.
func (s *slab) count(n int, e *epoch) (bytes int) {
	if n == s.counted {
		return 0
	}
	bytes = s.start(n) - s.start(s.counted)
	s.live += n - s.counted
	s.counted = n
	if last := len(s.runs) - 1; last >= 0 && s.runs[last].epoch == e {
		s.runs[last].end = n
	} else {
		s.runs = append(s.runs, run{n, e})
	}
	return bytes
}

func (s *slab) epoch(slot int) *epoch {
	if len(s.runs) == 1 {
		return s.runs[0].epoch
	}
	i := sort.Search(len(s.runs), func(i int) bool { return slot < s.runs[i].end })
	return s.runs[i].epoch
}

// take returns the event of a slot that waits.
func (s *slab) take(slot int) Item {
	s.states[slot] = taken
	for s.next < s.counted && s.states[s.next] != waiting {
		s.next++
	}
	return s.item(slot)
}

// any returns a slot that waits. There must be one.
func (s *slab) any() int {
	slot := s.next + rand.IntN(s.counted-s.next)
	for s.states[slot] != waiting {
		slot-- // the one at next waits
	}
	return slot
}

// newest returns the last slot that waits. There must be one.
func (s *slab) newest() int {
	slot := s.counted - 1
	for s.states[slot] != waiting {
		slot--
	}
	return slot
}

// drained reports whether all that was counted has ended.
func (s *slab) drained() bool { return s.live == 0 && s.next == s.counted }

func (s *slab) reset() {
	clear(s.states[:s.counted])
	clear(s.runs) // to let go of epochs
	s.runs = s.runs[:0]
	s.filled, s.after, s.counted, s.next, s.live, s.passed = 0, nil, 0, 0, 0, false
}

// spares are empty slabs kept for reuse.
type spares struct {
	size int // of a slab in bytes; a larger event has one of its own

	mu    sync.Mutex // locked last
	first *slab
	n     int
}

// maxSpares slabs are kept after a burst; the rest goes back to the runtime.
const maxSpares = 64

// get returns a slab with room for an event of n bytes.
func (p *spares) get(n int) *slab {
	if n <= p.size {
		if s := p.pop(); s != nil {
			return s
		}
	}
	s := newSlab(max(n, p.size))
	s.owner = p
	return s
}

func (p *spares) pop() *slab {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.first
	if s != nil {
		p.first, s.after = s.after, nil
		p.n--
	}
	return s
}

func (p *spares) put(s *slab) {
	s.reset()
	if len(s.mem) != p.size {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n < maxSpares {
		s.after, p.first = p.first, s
		p.n++
	}
}
