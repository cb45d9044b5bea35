package footfall

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/footfall-dev/footfall/internal/envelope"
	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/retry"
	"github.com/footfall-dev/footfall/internal/safelog"
	"github.com/footfall-dev/footfall/internal/senders"
	"github.com/footfall-dev/footfall/internal/wire"
)

// Record is an encoded event and its id. Two records may be of events with the same [Event.ID].
type Record struct {
	ID   EventID // of this record only
	Key  []byte  // Event.ID, or nil; valid and unchanged until the record is settled
	Body []byte  // JSON body of the POST; the same

	ref          queue.Ref
	attempts     retry.Attempts
	interruption *senders.Interruption // of the attempt in flight
}

// IdempotencyKey returns the Idempotency-Key of every attempt: Event.ID, or else ID as text.
func (r *Record) IdempotencyKey() string {
	if len(r.Key) > 0 {
		return string(r.Key)
	}
	return r.ID.String()
}

// AppendIdempotencyKey appends the Idempotency-Key to dst.
func (r *Record) AppendIdempotencyKey(dst []byte) []byte {
	if len(r.Key) > 0 {
		return append(dst, r.Key...)
	}
	dst = hex.AppendEncode(dst, r.ID[:4])
	for _, group := range [][]byte{r.ID[4:6], r.ID[6:8], r.ID[8:10], r.ID[10:]} {
		dst = hex.AppendEncode(append(dst, '-'), group)
	}
	return dst
}

// Encode is for stores that keep events outside of the tracker, such as module outbox, whose events commit
// with a transaction of the application. It checks and encodes e as [Tracker.TrackEvent] does, with the page
// and the site of ctx, and returns the Record that would be queued, with a new ID. The tracker does not queue
// it and counts it neither as Tracked nor as Redacted; the caller owns Key and Body, and delivers them with a
// [NewSource]. The error is a [*FieldError] or [ErrNoURL]; Stats.Invalid counts it and, until Close, the
// tracker logs it. Encode works after Close, too. A nil or disabled tracker returns a Record without a Body, and so
// does one whose Config.BeforeSend drops the event.
func (t *Tracker) Encode(ctx context.Context, e Event) (Record, error) {
	if t.inactive() {
		return Record{}, nil
	}
	d := e.draft(ctx)
	s := t.scratches.Get().(*scratch)
	defer t.scratches.Put(s)
	packed, _, err := t.encode(s, &d)
	if err != nil || packed == nil {
		return Record{}, err
	}
	key, body := envelope.Clone(envelope.Split(packed))
	return Record{ID: EventID(queue.NewID(time.Now().UnixNano(), rand.Uint64())), Key: key, Body: body}, nil
}

// name adds the event to an error about it, if the application has named it.
func (r *Record) name(err error) error {
	if len(r.Key) == 0 {
		return err
	}
	return &eventError{"event " + string(r.Key), err}
}

// OnInterrupt is for a [Poster], which may call it in Post. It registers f in place of an earlier
// function. The transport calls f, at most once and before Post returns, to end the attempt early:
// the attempt takes long, no other sender is free, and other events wait. Post should then return an
// error soon, and the event gets another attempt later with all its time. f must not block; nil
// registers none. A Poster that does not call OnInterrupt has all its time in each attempt.
//
// OnInterrupt returns false if the attempt should have ended already. It then has not registered f.
func (r Record) OnInterrupt(f func()) bool { return r.interruption == nil || r.interruption.On(f) }

// Outcome says how a record was settled.
type Outcome uint8

const (
	// OutcomeLost is the zero Outcome: the record was given up, because the tracker closes or a
	// store has no room.
	OutcomeLost Outcome = iota
	// OutcomeDelivered means that the API accepted the event.
	OutcomeDelivered
	// OutcomeRejected means that the API refused the event for good.
	OutcomeRejected
	// OutcomeStored means that the transport has stored the event so that it survives the process.
	OutcomeStored
)

// String returns the name of o in lower case, such as "delivered", or "Outcome(9)" for an
// unknown value.
func (o Outcome) String() string {
	switch o {
	case OutcomeLost:
		return "lost"
	case OutcomeDelivered:
		return "delivered"
	case OutcomeRejected:
		return "rejected"
	case OutcomeStored:
		return "stored"
	}
	return "Outcome(" + strconv.Itoa(int(o)) + ")"
}

// Transport delivers the records of a [Source]. The default one posts them to the API. Others
// may store them on disk or pass them to a broker.
type Transport interface {
	// Deliver takes records from src until [Source.Wait] returns false and it has no record
	// left. It must settle each record once, or give it back with [Source.Retry]. The tracker
	// calls Deliver once, on a separate goroutine. Deliver may start goroutines that take and
	// settle records; they must have ended when it returns.
	//
	// After src.Closing is closed, every record needs an attempt without delay. When ctx ends,
	// Deliver must settle the records that it has taken as OutcomeLost or OutcomeStored, take no
	// others, and return.
	Deliver(ctx context.Context, src *Source)
}

// Flusher is a [Transport] that settles records as OutcomeStored before they are delivered.
// [Tracker.Flush] calls its Flush after every event is settled.
type Flusher interface {
	// Flush returns when every record that was stored before the call has another outcome, or
	// returns an error when ctx has ended.
	Flush(ctx context.Context) error
}

// Memory is a [Transport] that supplies the memory of the tracker's queue. If that memory outlives
// the process, such as a file that is mapped into memory, then so do the events that Track has
// accepted. [ReadMemory] finds them.
type Memory interface {
	// Memory returns n bytes, all zero, or nil if the queue must be on the heap. [New] calls it
	// once, before Deliver. The tracker uses the memory until Deliver has returned.
	Memory(n int) []byte

	// MemoryFailed is called when writing to the memory was a fault, such as on a disk that is
	// full. Events are on the heap from then on. It is called while callers of Track wait, so it
	// must not block.
	MemoryFailed()
}

// memoryOf returns the memory of the queue and a function to call if it fails.
func memoryOf(cfg *Config) (memory []byte, failed func()) {
	t, ok := cfg.Transport.(Memory)
	if !ok {
		return nil, nil
	}
	return t.Memory(queue.MemorySize(cfg.MaxQueueEvents, cfg.MaxQueueBytes)), t.MemoryFailed
}

// ReadMemory returns the records that were in the memory of a tracker's queue when its process
// was killed, and were not settled, oldest first. They have the ids that they had then. Their
// Key and Body are parts of memory. ReadMemory also returns how many damaged records it has found. After
// a kill there are none, only after a power failure, or if the memory was changed.
func ReadMemory(memory []byte) (records []Record, damaged int) {
	damaged = queue.ReadMemory(memory, func(id uuid.UUID, packed []byte) {
		key, body := envelope.Split(packed)
		records = append(records, Record{ID: EventID(id), Key: key, Body: body})
	})
	slices.SortStableFunc(records, func(a, b Record) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return records, damaged
}

// NewHTTPTransport returns the default Transport of a tracker. A Transport that passes records
// on can use it. It uses the fields of cfg about the API: BaseURL, APIKey, AllowHTTP,
// HTTPClient, MaxInFlight, AttemptTimeout, MaxRetryAfter, the fields for backoff and probes,
// Logger and OnRejected. FlushInterval determines how many senders start. Other fields are not checked.
// A Transport serves one tracker only. The error joins a [*FieldError] for every problem.
func NewHTTPTransport(cfg Config) (Transport, error) {
	return newReportingTransport(cfg, false, func(cfg *Config) (Poster, error) { return newNetPoster(cfg), nil })
}

// newReportingTransport returns a transport with a reporter, because it has no tracker yet. If
// stores is true, the Poster stores events and does not use the API.
func newReportingTransport(cfg Config, stores bool, open func(*Config) (Poster, error)) (Transport, error) {
	cfg = cfg.withDefaults()
	if err := cfg.checkTransport(!stores); err != nil {
		return nil, err
	}
	cfg.Logger = safelog.New(cfg.Logger)
	poster, err := open(&cfg)
	if err != nil {
		return nil, err
	}
	r := newReporter(cfg.Logger, cfg.OnRejected)
	t := newHTTPTransport(&cfg, poster, r)
	if stores {
		t.accepted, t.patience = OutcomeStored, storePatience
		t.log.Of = "the store"
	}
	return &reportingTransport{t, r}, nil
}

// reportingTransport is an HTTP transport with its own reporter.
type reportingTransport struct {
	*httpTransport
	reporter *reporter
}

// Outage is a time when no events are accepted: events wait, and only probes are sent.
type Outage struct {
	Since time.Time // when an attempt failed first, of those since the last event that was accepted
	Err   error     // of the latest failed attempt
}

// OutageReporter is a [Transport] that knows whether events are accepted, such as the transports of
// [NewHTTPTransport], [NewPostingTransport] and [NewStoringTransport]. [Tracker.Outage] asks it.
type OutageReporter interface {
	// Outage returns the current outage, or false if there is none, as far as is known. Failures of
	// single events are no outage. It may be called at any time, from any goroutine.
	Outage() (o Outage, out bool)
}

var (
	_ Transport      = (*reportingTransport)(nil)
	_ OutageReporter = (*httpTransport)(nil)
)

// Outage implements OutageReporter.
func (t *httpTransport) Outage() (o Outage, out bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	since, err, out := t.scopes.Outage(time.Now())
	if !out {
		return o, false
	}
	return Outage{since, err}, true
}

// Deliver implements Transport.
func (t *reportingTransport) Deliver(ctx context.Context, src *Source) {
	defer t.reporter.close(ctx)
	t.httpTransport.Deliver(ctx, src)
}

// Poster sends single events to the API. It is the replaceable part of an HTTP transport. The
// transport limits concurrency, interprets answers, retries events and calls OnRejected.
type Poster interface {
	// Post sends r as one POST /v1/events below Config.BaseURL, with [Record.IdempotencyKey],
	// and stores the answer in a. An answer with any status is not an error. An error means
	// that there was no answer; a is then ignored.
	//
	// Post makes one attempt and follows no redirect. It must return within
	// Config.AttemptTimeout, and as soon as ctx ends. All calls have the ctx of
	// Transport.Deliver, so a Poster may register for its end once. Post may send the request
	// again, with the same id, only if a reused connection turns out to be closed. See
	// [Record.OnInterrupt] for attempts that take long.
	//
	// Post is called from at most Config.MaxInFlight goroutines at once. It must not use r.Key,
	// r.Body or a after it returns. A panic in Post counts as an error. The API key is removed from
	// errors before they are reported.
	Post(ctx context.Context, r Record, a *Answer) error

	// Close closes the connections. It is called once, after the last call of Post has
	// returned.
	Close()
}

// Answer is the API's answer to a POST, as a [Poster] received it.
type Answer struct {
	// Status is the HTTP status code. The only informational one is 101.
	Status int

	// RetryAfter is the value of the Retry-After header, unchanged.
	RetryAfter string

	// Date is the value of the Date header, unchanged. A date in RetryAfter counts from it. It may
	// be empty if RetryAfter is.
	Date string

	// Body is the beginning of the answer's body. Only the first 16 KiB are used. Body is empty
	// when Post is called, and Post appends to it; its capacity may be reused.
	Body []byte

	// Cut says why Body ends before 16 KiB and before the end of the body, such as a broken
	// connection. Otherwise it is nil.
	Cut error
}

// reset empties the Answer for the next event.
func (a *Answer) reset() { *a = Answer{Body: a.Body[:0]} }

// NewPostingTransport is [NewHTTPTransport] with the [Poster] that open returns in place of
// net/http. It calls open once, with a Config that is checked and has its defaults. The
// transport does not use Config.HTTPClient: open should return an error if it is set and the
// Poster does not use it.
func NewPostingTransport(cfg Config, open func(Config) (Poster, error)) (Transport, error) {
	if open == nil {
		return nil, errors.New("footfall: NewPostingTransport needs a function that returns a Poster")
	}
	return newReportingTransport(cfg, false, func(cfg *Config) (Poster, error) {
		p, err := open(*cfg)
		if err == nil && p == nil {
			err = errors.New("footfall: the function of NewPostingTransport returned no Poster")
		}
		return &applicationPoster{p, wire.NewCleaner(cfg.BaseURL, cfg.APIKey)}, err
	})
}

// NewStoringTransport returns a transport with a [Poster] that stores events where they survive
// the process, such as with a broker. The transport has the retries and the circuit breaker of the
// default one. Close retries until its context ends, or until no event was stored for 30 seconds.
// Events that Post answers with 202 are settled as [OutcomeStored].
// BaseURL and APIKey of cfg are not required. p must not be nil. Errors of p are reported as
// they are, so they must not contain secrets.
func NewStoringTransport(cfg Config, p Poster) (Transport, error) {
	if p == nil {
		return nil, errors.New("footfall: NewStoringTransport needs a Poster")
	}
	return newReportingTransport(cfg, true, func(*Config) (Poster, error) { return &storingPoster{p}, nil })
}

// storingPoster wraps a Poster that stores events. It turns panics into errors.
type storingPoster struct{ Poster }

// Post implements Poster.
func (p *storingPoster) Post(ctx context.Context, r Record, a *Answer) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("footfall: panic in the Poster: %v", v)
		}
	}()
	err = p.Poster.Post(ctx, r, a)
	a.Body = a.Body[:min(len(a.Body), wire.MaxBody)]
	return err
}

// applicationPoster wraps the application's Poster. It turns panics into errors, and removes
// the API key from errors.
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
	r.OnInterrupt(attempt.Interrupt)
	defer func() {
		r.OnInterrupt(nil) // before another attempt has the deadline
		p.attempts.End(attempt)
	}()
	a := p.api.Post(attempt, r.IdempotencyKey(), r.Body, into.Body)
	if a.Err != nil && attempt.Err() != nil {
		return p.api.Clean(context.Cause(attempt))
	}
	*into = Answer{Status: a.Status, RetryAfter: a.RetryAfter, Date: a.Date, Body: a.Body, Cut: a.Cut}
	return a.Err
}

// Close implements Poster.
func (p *netPoster) Close() {
	p.attempts.Close()
	p.api.Close()
}
