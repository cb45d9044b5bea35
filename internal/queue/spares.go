package queue

import "sync"

// spares are empty slabs kept for reuse.
type spares struct {
	size  int // of a slab in bytes; a larger event has a larger slab for it alone
	fault func()

	mu     sync.Mutex // locked after the locks of the queue and the shards
	mapped bool       // slabs are in Options.Memory, as far as there is room
	memory []byte     // the part of Options.Memory that is not a slab yet
	first  *slab
	n      int
}

// maxSpares is how many slabs of the heap are kept after a burst. The garbage collector frees
// the rest.
const maxSpares = 64

// get returns a slab with room for an event of n bytes.
func (p *spares) get(n int) *slab {
	s := p.pop(n)
	if s == nil {
		s = newSlab(p, make([]byte, max(n, p.size)))
	}
	return s
}

// pop returns a slab for reuse, or from Options.Memory. It returns nil if there is none.
func (p *spares) pop(n int) *slab {
	p.mu.Lock()
	defer p.mu.Unlock()
	room := p.size
	if p.mapped {
		room -= slabHeader + bodyHeader
	}
	switch s := p.first; {
	case n > room:
		return nil
	case s != nil:
		p.first, s.after = s.after, nil
		p.n--
		return s
	case len(p.memory) < p.size:
		return nil
	}
	s := newSlab(p, p.memory[:p.size:p.size])
	s.mapped = true
	p.memory = p.memory[p.size:]
	return s
}

// put keeps an empty slab. If there is Options.Memory, it keeps only slabs of that, and all of
// them.
func (p *spares) put(s *slab) {
	s.reset()
	if len(s.mem) != p.size {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.mapped == p.mapped && (s.mapped || p.n < maxSpares) {
		s.after, p.first = p.first, s
		p.n++
	}
}

// leaveMemory gives up Options.Memory, which has a fault, and returns a slab for an event of n
// bytes.
func (p *spares) leaveMemory(n int) *slab {
	p.mu.Lock()
	reported := !p.mapped
	p.mapped, p.memory, p.first, p.n = false, nil, nil, 0
	p.mu.Unlock()
	if !reported {
		p.fault()
	}
	return p.get(n)
}
