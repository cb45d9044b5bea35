package queue

// Counters counts events. At every instant
//
//	Tracked = Delivered + Rejected + Dropped + Stored + Queued
type Counters struct {
	Tracked     uint64 // accepted
	Delivered   uint64
	Rejected    uint64
	Dropped     uint64 // Lost
	Stored      uint64
	Queued      uint64 // accepted, not settled
	QueuedBytes uint64 // of Queued
	Refused     uint64 // not accepted, because the queue was full or closed
	Redacted    uint64 // what callers of Put said
}

// Outcome is how an event ended.
type Outcome uint8

// The values match the Outcome of package footfall.
const (
	Lost Outcome = iota
	Delivered
	Rejected
	Stored
)

func (c *Counters) count(o Outcome, n uint64) {
	switch o {
	case Delivered:
		c.Delivered += n
	case Rejected:
		c.Rejected += n
	case Stored:
		c.Stored += n
	default:
		c.Dropped += n
	}
}
