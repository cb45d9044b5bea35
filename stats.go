package footfall

import "github.com/footfall-dev/footfall/internal/queue"

// Stats counts events since New. The counts are one consistent snapshot: at every instant
//
//	Tracked = Delivered + Rejected + Dropped + Stored + Queued
//
// Events for which Track returned an error were not accepted. Invalid or Refused counts them,
// and no other field does.
type Stats struct {
	Tracked   uint64 // accepted: Track returned nil
	Delivered uint64 // the API answered 202
	Rejected  uint64 // the API refused the event for good; passed to OnRejected
	Dropped   uint64 // lost since: the oldest of a full queue (Config.DropOldest), undelivered when Close ended, given up by the Transport, or beyond the bounds of a store
	Stored    uint64 // kept by the Transport: on disk, not delivered yet; with a stream, all that NATS has acknowledged
	Queued    uint64 // waiting, held for another attempt, or in flight

	QueuedBytes uint64 // bytes of encoded events in Queued

	Invalid  uint64 // Track returned an error: bad input
	Refused  uint64 // Track returned ErrQueueFull or ErrClosed
	Filtered uint64 // Track returned nil, and Config.BeforeSend dropped the event; no other field counts it
	Redacted uint64 // values and segments of paths that the personal-data guard replaced or left out

	// Sanitized counts events whose request contained something that was not sent unchanged: a
	// host that is invalid or not in Config.Hosts, a URL that was too long, or a value of
	// Rule.PathProps that was too long or not text. It includes events that Track then refused.
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
