package queue

import (
	"time"
)

// Options configures a Queue.
type Options struct {
	MaxEvents  int
	MaxBytes   int
	DropOldest bool // a full queue drops the oldest event and does not refuse the new one
	BatchSize  int
	Interval   time.Duration // after which a batch is due that is not full
	Delayed    Delayed
	Memory     []byte // for slabs; see ReadMemory. The heap is used without it, and beside it if it is too small
	Dropped    func() // called for each dropped event, with the queue locked
	Fault      func() // called, with a shard locked, when Memory has a fault and is used no more
}

// Delayed holds the events that wait for another attempt. The queue calls its methods with the
// queue locked.
type Delayed interface {
	// Size returns how many events there are, and their bytes.
	Size() (events, bytes int)

	// Reclaim takes the oldest event out.
	Reclaim() (r Ref, ok bool)

	// Blocks reports whether any events wait because others of their name or site are not
	// accepted, and IsBlocked whether the event with that body would.
	Blocks() bool
	IsBlocked(body []byte) bool
}
