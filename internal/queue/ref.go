package queue

import "github.com/google/uuid"

// Ref is the queue's reference to an event that was taken. The zero Ref is of no event.
type Ref struct {
	home *slab
	slot int
	seed uint64 // of home, which changes when home is used again
	turn int32  // of home, which changes when a delayed event is given back
}

// ID returns the event's id. The event must not be settled.
func (r Ref) ID() uuid.UUID { return r.home.id(r.slot) }

// Body returns the encoded event, which does not change until the event is settled. The event
// must not be settled.
func (r Ref) Body() []byte { return r.home.body(r.slot) }

func (r Ref) size() int { return r.home.size(r.slot) }
