package footfall

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/safelog"
)

// Record is an encoded event: bytes and the id they are sent with.
type Record struct {
	ID   uuid.UUID // UUIDv7, the Idempotency-Key of every attempt
	Body []byte    // JSON body of the POST; valid and unchanging until the record is settled

	ref      queue.Ref
	attempts retry.Attempts
}

// Outcome is how a record ended.
type Outcome uint8

const (
	// Lost is the zero Outcome: given up, because the tracker closes or a store has no
	// room for it.
	Lost Outcome = iota
	// Delivered means that the API accepted the event.
	Delivered
	// Rejected means that the API refused the event for good.
	Rejected
	// Stored means that the transport keeps the event where it outlives the process.
	Stored
)

// Transport carries records from a Source to their end. The default one posts
// them to the API; others may keep them on disk or hand them to a broker.
type Transport interface {
	// Deliver takes records from src. It settles every record it took once, or
	// gives it back with [Source.Retry]. It is called once, on a goroutine of its
	// own, and runs as long as the tracker: it returns when src.Wait has returned
	// false while it had no record. It may take and settle on goroutines that
	// it starts, and has ended them when it returns.
	//
	// When src.Closing is closed, no record may wait any more without an attempt.
	// When ctx ends there is no time for that either: what was taken is settled as
	// Lost, or Stored, and nothing more is taken.
	Deliver(ctx context.Context, src *Source)
}

// Flusher is a Transport that settles records as Stored before they are delivered.
// Tracker.Flush calls it when every event is settled.
type Flusher interface {
	// Flush returns when everything that was Stored before the call has ended
	// otherwise, or ctx has: then with an error.
	Flush(ctx context.Context) error
}

// NewHTTPTransport returns the Transport that a tracker has by default, for one that
// stands in front of it. Of cfg it takes what is about the API: BaseURL, APIKey,
// AllowHTTP, HTTPClient, MaxInFlight, the times of attempts, backoff and probes, Logger
// and OnError; and FlushInterval, which says how many senders start. It may be given to one tracker. The error joins a *FieldError for every
// problem.
func NewHTTPTransport(cfg Config) (Transport, error) {
	return newReportingTransport(cfg, func(cfg *Config) (Poster, error) { return newNetPoster(cfg), nil })
}

// newReportingTransport makes a transport that is not yet a tracker's.
func newReportingTransport(cfg Config, open func(*Config) (Poster, error)) (Transport, error) {
	cfg = cfg.withDefaults()
	cfg.SiteID = cmp.Or(cfg.SiteID, "any") // not the transport's
	cfg.Transport = nil                    // which would stand for the API
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Logger = safelog.New(cfg.Logger)
	poster, err := open(&cfg)
	if err != nil {
		return nil, err
	}
	r := newReporter(cfg.Logger, cfg.OnError)
	return &reportingTransport{newHTTPTransport(&cfg, poster, r), r}, nil
}

// reportingTransport is an HTTP transport that tells of refusals by itself.
type reportingTransport struct {
	*httpTransport
	reporter *reporter
}

// Deliver implements Transport.
func (t *reportingTransport) Deliver(ctx context.Context, src *Source) {
	defer t.reporter.close(ctx)
	t.httpTransport.Deliver(ctx, src)
}
