package queue

import "sync"

// spares are empty slabs kept for reuse.
type spares struct {
	size int // of a slab in bytes; a larger event has a larger slab for it alone

	mu    sync.Mutex // locked after the locks of the queue and the shards
	first *slab
	n     int
}

// maxSpares is how many slabs are kept after a burst. The garbage collector frees the rest.
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
