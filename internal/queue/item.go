package queue

import "github.com/google/uuid"

// Item is an event that was taken.
type Item struct {
	ID   uuid.UUID
	Body []byte // unchanging until the event is settled
	Ref  Ref
}

// Ref is the queue's reference to an event. The zero Ref is of no event.
type Ref struct {
	home *slab
	slot int
	seed uint64 // of home, which changes when home is used again
	turn int32  // of home, which changes when a delayed event is given back
}
