package sqlite

import "math/bits"

// index finds places of ids. A map of a million ids takes twice the time: what is new is
// looked for and put in at once here, in one place of the memory.
type index struct {
	slots []slot // a power of two, of which no more than half are taken
	taken int
}

// slot has the place of an id, from 1. A free slot has none.
type slot struct{ id, place uint32 }

// slot returns that of an id, or a free one that the caller must fill.
func (x *index) slot(id uint32) *slot {
	if 2*(x.taken+1) > len(x.slots) {
		x.grow(2 * x.taken)
	}
	s := x.find(id)
	if s.place == 0 {
		s.id = id
		x.taken++
	}
	return s
}

func (x *index) find(id uint32) *slot {
	const golden = 0x9e3779b1 // spreads ids that follow each other
	last := uint32(len(x.slots) - 1)
	for i := id * golden >> bits.LeadingZeros32(last); ; i++ {
		if s := &x.slots[i&last]; s.place == 0 || s.id == id {
			return s
		}
	}
}

// grow makes room for that many ids.
func (x *index) grow(ids int) {
	const least = 16
	size := 1 << bits.Len(uint(max(2*ids, least)))
	if size <= len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]slot, size)
	for _, s := range old {
		if s.place != 0 {
			*x.find(s.id) = s
		}
	}
}
