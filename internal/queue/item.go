package queue

import "github.com/google/uuid"

// Item is an event that was taken.
type Item struct {
	ID   uuid.UUID
	Body []byte // unchanging until the event is settled
	Ref  Ref
}

// Ref says which event of the queue an Item is.
type Ref struct {
	home *slab // where the queue keeps it
	slot int
	seed uint64 // home's: another when it is used again
	turn int32  // home's: another when the record was given back
}

// Queue is the bounded queue.
type Queue = queue
