package footfall

import "github.com/footfall-dev/footfall/internal/queue"

// Stats counts events since New. It is one consistent reading: at every instant
//
//	Tracked = Delivered + Rejected + Dropped + Stored + Queued
//
// Events that a tracker's methods returned an error for were never accepted; they are in
// Invalid or Refused, and in none of the others.
type Stats struct {
	Tracked   uint64 // accepted: Track returned nil
	Delivered uint64 // the API answered 202
	Rejected  uint64 // the API refused the event for good; OnError was told
	Dropped   uint64 // given up: the oldest of a full queue (Config.DropOldest), left over when Close ended, or beyond the bounds of a store
	Stored    uint64 // kept on disk by a Transport that can, not delivered yet
	Queued    uint64 // waiting or on the way

	QueuedBytes uint64 // bytes of encoded events in Queued

	Invalid  uint64 // Track returned an error: bad input
	Refused  uint64 // Track returned ErrQueueFull or ErrClosed
	Redacted uint64 // values and segments of paths that the personal-data guard replaced or left out

	// Sanitized counts events of which a request had something that could not be sent as it
	// came: a host that is none or not in Config.Hosts, a URL that was too long, or a value
	// of Rule.PathProps that was too long or not text. Events that Track then refused are
	// counted, too.
	Sanitized uint64
}

func newStats(c queue.Counters) Stats {
	return Stats{
		Tracked:     c.Tracked,
		Delivered:   c.Delivered,
		Rejected:    c.Rejected,
		Dropped:     c.Dropped,
		Stored:      c.Stored,
		Queued:      c.Queued,
		QueuedBytes: c.QueuedBytes,
		Refused:     c.Refused,
		Redacted:    c.Redacted,
	}
}
