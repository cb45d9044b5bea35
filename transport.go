package footfall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/safelog"
	"github.com/footfall-dev/footfall/internal/wire"
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

// String returns the name of o in lower case, such as "delivered", and "Outcome(9)" for a
// value that is none of the four.
func (o Outcome) String() string {
	switch o {
	case Lost:
		return "lost"
	case Delivered:
		return "delivered"
	case Rejected:
		return "rejected"
	case Stored:
		return "stored"
	}
	return "Outcome(" + strconv.Itoa(int(o)) + ")"
}

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

// Poster sends single events to the API. It is the exchangeable part of an HTTP
// transport: how many events are under way, what an answer means, what is tried again
// and when, what Close still sends and what OnError is told stay with the transport.
type Poster interface {
	// Post sends r as one POST /v1/events below Config.BaseURL, with r.ID as
	// Idempotency-Key, and notes in a what came back: whatever the status, an
	// answer is no error. An error means that there was none; a is then not
	// looked at.
	//
	// It makes one attempt, follows no redirect, and is back within
	// Config.AttemptTimeout, or as soon as ctx ends. All calls have the ctx of
	// Transport.Deliver, so who must be told of its end may ask once. It may try
	// again, with the same id, only where a connection that was kept turns out to
	// have been closed meanwhile.
	//
	// It is called from at most Config.MaxInFlight goroutines at once. When it
	// has returned, neither r.Body nor a may be used any more. A panic in it is
	// an error, and errors are freed of the API key before anybody reads them.
	Post(ctx context.Context, r Record, a *Answer) error

	// Close lets go of connections. It is called once, when no Post runs or will.
	Close()
}

// Answer is what a Poster got back for an event.
type Answer struct {
	// Status is the HTTP status code, and no informational one but 101.
	Status int

	// RetryAfter is the header of that name, as it came.
	RetryAfter string

	// Body is the beginning of the answer's body, of which up to 16 KiB are
	// looked at. A Poster gets it empty and appends: what it has of capacity is
	// left by earlier answers.
	Body []byte

	// Cut says why Body ends before those 16 KiB and before the body does, such
	// as a connection that broke. Nil if it does not.
	Cut error
}

// reset empties the Answer for the next event.
func (a *Answer) reset() { *a = Answer{Body: a.Body[:0]} }

// NewPostingTransport returns an HTTP transport as NewHTTPTransport does, whose events
// are sent by what open returns in place of net/http. It calls open once, with a Config
// that has been checked and has its defaults. Config.HTTPClient means nothing to the
// transport, so that open should refuse it if it has no use for it either.
func NewPostingTransport(cfg Config, open func(Config) (Poster, error)) (Transport, error) {
	return newReportingTransport(cfg, func(cfg *Config) (Poster, error) {
		p, err := open(*cfg)
		if err == nil && p == nil {
			err = errors.New("footfall: no Poster to send events with")
		}
		return &applicationPoster{p, wire.NewCleaner(cfg.BaseURL, cfg.APIKey)}, err
	})
}

// applicationPoster is the application's Poster. Its panics are errors, and its errors never
// contain the API key.
type applicationPoster struct {
	Poster
	wire.Cleaner
}

// Post implements Poster.
func (p *applicationPoster) Post(ctx context.Context, r Record, a *Answer) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("footfall: panic in the Poster: %s", p.Scrub(fmt.Sprint(v)))
		}
	}()
	if err = p.Poster.Post(ctx, r, a); err != nil {
		return p.Clean(err)
	}
	if a.Cut != nil {
		a.Cut = p.Clean(a.Cut)
	}
	a.Body = a.Body[:min(len(a.Body), wire.MaxBody)]
	return nil
}

// netPoster posts with net/http.
type netPoster struct {
	api      *wire.API
	attempts retry.Deadlines
}

var _ Poster = (*netPoster)(nil)

func newNetPoster(cfg *Config) *netPoster {
	return &netPoster{
		api:      wire.New(cfg.BaseURL, cfg.APIKey, cfg.HTTPClient, cfg.MaxInFlight),
		attempts: retry.NewDeadlines(cfg.AttemptTimeout, cfg.MaxInFlight),
	}
}

// Post implements Poster.
func (p *netPoster) Post(ctx context.Context, r Record, into *Answer) error {
	attempt := p.attempts.Begin(ctx)
	defer p.attempts.End(attempt)
	a := p.api.Post(attempt, r.ID, r.Body, into.Body)
	if a.Err != nil && attempt.Err() != nil {
		return p.api.Clean(context.Cause(attempt))
	}
	*into = Answer{Status: a.Status, RetryAfter: a.RetryAfter, Body: a.Body, Cut: a.Cut}
	return a.Err
}

// Close implements Poster.
func (p *netPoster) Close() {
	p.attempts.Close()
	p.api.Close()
}
