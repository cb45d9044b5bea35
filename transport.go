package footfall

import (
	"cmp"
	"context"

	"github.com/google/uuid"
)

// Record is an encoded event: bytes and the id they are sent with.
type Record struct {
	ID   uuid.UUID // UUIDv7, the Idempotency-Key of every attempt
	Body []byte    // JSON body of the POST; valid and unchanging until the record is settled

	home *slab // where the queue keeps it
	slot int
	seed uint64 // home's: another when it is used again
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
	// Deliver takes records from src and settles every record it took, each
	// once. It is called once, on a goroutine of its own, and runs as long as
	// the tracker: it returns when src.Wait has returned false and all it took
	// is settled. It may take and settle from goroutines it starts, and has
	// ended them when it returns.
	//
	// Once src.Closing is closed nothing may wait any more: each record left
	// gets one attempt. When ctx ends there is no time for that either: what
	// was taken is settled as Lost, or Stored, and nothing more is taken.
	Deliver(ctx context.Context, src Source)
}

// Source is what a Transport takes records from: the tracker's queue. Its methods
// may be called from several goroutines at once.
type Source interface {
	// Wait returns when a batch is due: Config.BatchSize records are waiting, or
	// one has waited Config.FlushInterval, or Flush or Close was called. It
	// returns the number of records to take, or false when ctx has ended or the
	// tracker is closed and no record is left to take.
	Wait(ctx context.Context) (waiting int, ok bool)

	// Take moves up to len(dst) waiting records, oldest first, into dst and
	// returns how many. It never waits.
	Take(dst []Record) int

	// Settle gives records back that ended the same way; err says why they were
	// not delivered. Their Body must not be used afterwards. The slice stays
	// the caller's.
	Settle(records []Record, o Outcome, err error)

	// Moved is told that n records which were settled as Stored have ended as o
	// since, so that Stats counts them there. It is for records of this Source
	// only, not for those that a store has from an earlier process.
	Moved(n int, o Outcome)

	// Closing is closed when Close is called on the tracker.
	Closing() <-chan struct{}
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
// and OnError. It may be given to one tracker. The error joins a *FieldError for every
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
	cfg.Logger = safeLogger(cfg.Logger)
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
func (t *reportingTransport) Deliver(ctx context.Context, src Source) {
	defer t.reporter.close(ctx)
	t.httpTransport.Deliver(ctx, src)
}
