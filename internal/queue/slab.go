package queue

import (
	"bytes"
	"math/rand/v2"
	"runtime/debug"
	"sort"

	"github.com/google/uuid"
)

// slab is a block of memory that holds encoded events one after another. Adding an event costs
// a copy and no allocation. A slab is used again once all its events are settled.
//
// The shard's lock guards filled, after, and the parts of mem and entries that are not counted
// yet. The queue's lock guards the rest. Put writes seed and unixStart before the first entry,
// and the queue reads them after it has counted that entry.
type slab struct {
	shard     *shard  // nil for a slab of one delayed event
	owner     *spares // of the slab's queue; set once, because a Ref of an earlier use reads it
	mem       []byte
	entries   []entry
	seed      uint64 // random, another one each time the slab is used
	unixStart int64  // of the clock, at that time
	mapped    bool   // mem is a part of Options.Memory
	sum       uint32 // of the header of mapped memory
	filled    int    // number of entries, once the shard has a slab after it
	after     *slab

	states  []state // of counted entries
	runs    []run   // of counted entries
	counted int     // entries that the queue has counted
	next    int     // index of the first waiting entry
	live    int     // entries counted and not settled
	returns int32   // how often its event was given back, in a slab of one delayed event
	passed  bool    // all its events are taken and the shard uses a later slab
}

// state is where the event of an entry is.
type state uint8

const (
	waiting state = iota
	taken         // in flight
	settled       // or no longer in this slab
)

// entry is one event of a slab. Its body begins where the body before it ends, or a header later.
type entry struct {
	at  int64 // when it was added, on the queue's clock
	end int   // offset in mem behind the body
}

// run is a run of entries of one epoch. It begins where the run before it ends.
type run struct {
	end   int
	epoch *epoch
}

// slabEntries is how many events a slab holds at most. Events of usual size fill it before.
const slabEntries = 512

func newSlab(owner *spares, mem []byte) *slab {
	return &slab{owner: owner, mem: mem, entries: make([]entry, slabEntries), states: make([]state, slabEntries)}
}

// split copies an event into a slab for it alone, with the same id. It returns false if the memory
// has a fault.
func (s *slab) split(slot int) (r Ref, ok bool) {
	mem, ok := s.clone(slot)
	if !ok {
		return r, false
	}
	own := &slab{
		mem:       mem,
		owner:     s.owner,
		seed:      s.seed + uint64(slot),
		unixStart: s.unixStart,
		states:    []state{taken},
		runs:      []run{{1, s.epoch(slot)}},
		counted:   1,
	}
	own.entries = []entry{{at: s.entries[slot].at, end: len(own.mem)}}
	return own.ref(0), true
}

// clone copies the body of an event. It returns false if the memory has a fault.
func (s *slab) clone(slot int) (body []byte, ok bool) {
	if s.mapped {
		defer endGuard(debug.SetPanicOnFault(true))
	}
	return bytes.Clone(s.body(slot)), true
}

// fits reports whether an event of size bytes fits behind n events of used bytes.
func (s *slab) fits(n, used, size int) bool {
	return n < len(s.entries) && used+s.header()+size <= len(s.mem)
}

// header is the number of bytes in front of a body.
func (s *slab) header() int {
	if s.mapped {
		return bodyHeader
	}
	return 0
}

// end is the offset in mem behind an entry. It is the first one that is free if slot is -1.
func (s *slab) end(slot int) int {
	switch {
	case slot >= 0:
		return s.entries[slot].end
	case s.mapped:
		return slabHeader
	}
	return 0
}

// start is the offset in mem where a body begins.
func (s *slab) start(slot int) int { return s.end(slot-1) + s.header() }

func (s *slab) size(slot int) int { return s.entries[slot].end - s.start(slot) }

func (s *slab) ref(slot int) Ref { return Ref{slab: s, slot: slot, seed: s.seed, returns: s.returns} }

// body returns the body of an event. Its capacity ends where the next body begins.
func (s *slab) body(slot int) []byte {
	end := s.entries[slot].end
	return s.mem[s.start(slot):end:end]
}

// id counts up from the seed (RFC 9562, section 6.2, method 2), because a random number for
// each event would be a tenth of the cost of adding it.
func (s *slab) id(slot int) uuid.UUID {
	return NewID(s.entries[slot].at+s.unixStart, s.seed+uint64(slot))
}

// begin prepares the slab for its first event.
func (s *slab) begin(c *clock) {
	s.seed = rand.Uint64()
	s.unixStart = c.unixStart()
}

// put copies an event to the slab and returns its end, or false if the memory has a fault.
func (s *slab) put(slot, used int, at int64, body []byte) (end int, ok bool) {
	if s.mapped {
		return s.write(slot, used, at, body)
	}
	return used + copy(s.mem[used:], body), true
}

// has reports whether r is an event of the slab that is in flight, and the slab is of the
// queue with those spares. An event may be settled twice, the second time when its slab has
// other events.
func (s *slab) has(r Ref, of *spares) bool {
	return s != nil && s.owner == of && r.returns == s.returns && r.slot < s.counted && r.seed == s.seed && s.states[r.slot] == taken
}

// countAdded counts the entries up to n, which belong to e, and returns their bytes.
func (s *slab) countAdded(n int, e *epoch) (bytes int) {
	if n == s.counted {
		return 0
	}
	bytes = s.end(n-1) - s.end(s.counted-1) - (n-s.counted)*s.header()
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

// take takes the first waiting event.
func (s *slab) take() Ref {
	slot := s.next
	s.states[slot] = taken
	s.next++
	return s.ref(slot)
}

// drained reports whether all counted events are settled.
func (s *slab) drained() bool { return s.live == 0 && s.next == s.counted }

func (s *slab) reset() {
	clear(s.states[:s.counted])
	clear(s.runs) // so that it keeps no epoch alive
	s.runs = s.runs[:0]
	s.filled, s.after, s.counted, s.next, s.live, s.passed = 0, nil, 0, 0, 0, false
}
