package queue

import (
	"runtime/debug"

	"github.com/google/uuid"
)

// Ref is the queue's reference to an event that was taken. The zero Ref is of no event.
type Ref struct {
	slab    *slab
	slot    int
	seed    uint64 // of slab, which changes when the slab is used again
	returns int32  // of slab, which changes when a delayed event is given back
}

// ID returns the event's id. The event must not be settled.
func (r Ref) ID() uuid.UUID { return r.slab.id(r.slot) }

// Body returns the encoded event, which does not change until the event is settled. The event
// must not be settled.
func (r Ref) Body() []byte { return r.slab.body(r.slot) }

// Read calls read with the body. It returns false if the memory of the body has a fault.
func (r Ref) Read(read func(body []byte)) (ok bool) {
	if r.slab.mapped {
		defer endGuard(debug.SetPanicOnFault(true))
	}
	read(r.Body())
	return true
}

func (r Ref) size() int { return r.slab.size(r.slot) }
