package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/outbox/internal/relay"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

// Box writes events into a table, in transactions of the application, and delivers those that are committed.
// Its methods may be called from several goroutines at once. A nil or disabled Box does nothing.
type Box struct {
	encoder *footfall.Tracker // with a Transport that delivers nothing
	table   *rows.Table
	relay   *relay.Relay // nil if it is write-only

	tracked  atomic.Uint64
	invalid  atomic.Uint64
	filtered atomic.Uint64
}

// Open checks the configuration and starts delivery. It does no I/O itself: a database that cannot be reached
// is not an error, and [Check] looks at the tables. Transport of tracker must be nil. Of the fields about the
// API, a Box uses those that footfall.NewHTTPTransport uses. The error joins a [*footfall.FieldError] for
// every problem of both. If the tracker is disabled, cfg is ignored and the Box does nothing.
func Open(tracker footfall.Config, cfg Config) (*Box, error) {
	if tracker.Disabled {
		encoder, err := footfall.New(tracker)
		return &Box{encoder: encoder}, err
	}
	cfg = cfg.withDefaults(tracker.Logger)
	encoder, err := newEncoder(tracker, cfg.WriteOnly || cfg.Next != nil)
	next := cfg.Next
	if err == nil && !cfg.WriteOnly && next == nil {
		next, err = footfall.NewHTTPTransport(tracker)
	}
	if err := errors.Join(err, cfg.check()); err != nil {
		return nil, err
	}
	maxBody := max(tracker.MaxEventBytes, leastMaxBody)
	b := &Box{
		encoder: encoder,
		table:   rows.New(rows.Options{DB: cfg.DB, Dialect: rows.For(cfg.Dialect.String()), Names: cfg.names(), MaxBody: maxBody}),
	}
	if !cfg.WriteOnly {
		b.relay = relay.Start(relay.Config{
			Table: b.table, Next: next, Poll: cfg.Poll, Lease: cfg.Lease, Timeout: cfg.Timeout,
			MaxWait: max(8*cfg.Lease, cmp.Or(tracker.MaxRetryAfter, 5*time.Minute)), MaxHeld: cfg.MaxHeld, MaxBody: maxBody, Logger: cfg.Logger, Where: cfg.RejectedTable,
		})
	}
	return b, nil
}

// leastMaxBody is the size of an event that every process sends, also if it has less as its MaxEventBytes
// than the process that has written the event.
const leastMaxBody = 1 << 20

// newEncoder returns a tracker that encodes events and delivers nothing. Unless the fields about the API are
// not used, it checks them, too, by opening and closing a tracker that has no Transport, without I/O.
func newEncoder(cfg footfall.Config, unused bool) (*footfall.Tracker, error) {
	if cfg.Transport != nil {
		return nil, &footfall.FieldError{Field: "Config.Transport", Reason: "set: an outbox delivers with outbox.Config.Next"}
	}
	if !unused {
		probe, err := footfall.New(cfg)
		if err != nil {
			return nil, err
		}
		if err := probe.Close(context.Background()); err != nil {
			return nil, err
		}
	}
	cfg.Transport = idle{}
	return footfall.New(cfg)
}

// idle is a Transport that delivers nothing.
type idle struct{}

// Deliver implements footfall.Transport.
func (idle) Deliver(context.Context, *footfall.Source) {}

// orBackground returns a context for a nil one, as the methods of footfall.Tracker take it. With a nil context, package
// database/sql panics with a lock of the application's DB.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// Track writes an event into the table, as a part of tx. It is delivered after tx has committed; if tx rolls
// back, there is no event. Track checks and encodes the event as [footfall.Tracker.Track] does, with the page
// and the site of ctx, and executes one INSERT. It works after Close, too: another process delivers the event,
// or the next one. It does not keep props.
//
// The error is a [*footfall.FieldError] or footfall.ErrNoURL if the event is bad, which leaves tx as it was,
// or wraps the error of the database. After that PostgreSQL refuses everything in tx except a rollback.
func (b *Box) Track(ctx context.Context, tx Execer, name string, props ...footfall.Prop) error {
	return b.TrackEvent(ctx, tx, footfall.Event{Name: name, Props: props})
}

// TrackEvent is [Box.Track] for an event that sets its own site, URL or ID.
func (b *Box) TrackEvent(ctx context.Context, tx Execer, e footfall.Event) error {
	if b == nil || b.table == nil {
		return nil
	}
	ctx = orBackground(ctx)
	r, err := b.encode(ctx, e)
	if err != nil {
		return err
	}
	if r.Body == nil { // Config.BeforeSend has dropped it
		b.filtered.Add(1)
		return nil
	}
	if err := b.table.Insert(ctx, tx, r.ID.String(), string(r.Key), r.Body); err != nil {
		return fmt.Errorf("outbox: the event was not written: %w", err)
	}
	b.tracked.Add(1)
	return nil
}

// encode counts an event that is bad, or for which Config.BeforeSend ends the goroutine.
func (b *Box) encode(ctx context.Context, e footfall.Event) (r footfall.Record, err error) {
	good := false
	defer func() {
		if !good {
			b.invalid.Add(1)
		}
	}()
	r, err = b.encoder.Encode(ctx, e)
	good = err == nil
	return r, err
}

// Wake makes the Box look for events now rather than within Config.Poll. Call it after a commit. It returns
// at once.
func (b *Box) Wake() {
	if b != nil && b.relay != nil {
		b.relay.Wake()
	}
}

// flushLook is how often Flush looks whether events have left the table.
const flushLook = 20 * time.Millisecond

// Flush returns when all events whose transactions had committed before the call have left the table: they
// are delivered or rejected, by any process. It is for tests and for programs that end soon. If ctx ends
// before, the error wraps the end of ctx, and the last failure of an attempt of this Box or of the database. A nil ctx never
// ends.
func (b *Box) Flush(ctx context.Context) error {
	if b == nil || b.table == nil {
		return nil
	}
	ctx = orBackground(ctx)
	since, failed := int64(-1), error(nil) // the failure of the last question to the database
	for ctx.Err() == nil {
		var left bool
		if since, left, failed = b.left(ctx, since); failed == nil && !left {
			return nil
		}
		b.Wake()
		select {
		case <-time.After(flushLook):
		case <-ctx.Done():
		}
	}
	if failed == nil && b.relay != nil {
		failed = b.relay.Failure()
	}
	err := fmt.Errorf("outbox: flush: events are left: %w", context.Cause(ctx))
	if failed == nil {
		return err
	}
	return fmt.Errorf("%w; the last attempt failed: %w", err, failed)
}

// left reports whether rows from before the time since are in the table. If since is negative, it is now.
func (b *Box) left(ctx context.Context, since int64) (_ int64, left bool, err error) {
	if since < 0 {
		if since, err = b.table.Clock(ctx); err != nil {
			return -1, false, err
		}
	}
	left, err = b.table.HasOlder(ctx, since)
	return since, left, err
}

// Close stops delivery. Events that are in flight get their answer as long as ctx allows; all others go back
// to the table at once, where other processes, or the next one, take them. The error is nil if all answers
// came, or else wraps the end of ctx; nothing is lost then, either. Call Close before the database is closed.
func (b *Box) Close(ctx context.Context) error {
	if b == nil || b.table == nil {
		return nil
	}
	ctx = orBackground(ctx)
	var err error
	if b.relay != nil {
		err = b.relay.Close(ctx)
	}
	_ = b.encoder.Close(ctx) // it has no events
	if err != nil {
		return fmt.Errorf("outbox: close: not all answers of the API came; these events stay in the table: %w", err)
	}
	return nil
}

// Stats counts the events of a Box since Open. Claimed is the sum of Repeated, Delivered, Rejected, Returned
// and Held.
type Stats struct {
	Tracked  uint64 // events that Track has written; their transactions may have rolled back
	Invalid  uint64 // Track returned an error, because the event was bad
	Filtered uint64 // Config.BeforeSend dropped the event

	Claimed   uint64 // rows, by this process
	Repeated  uint64 // of Claimed: rows that this process still had; each is settled once
	Delivered uint64 // of Claimed: the API answered 202
	Rejected  uint64 // of Claimed: moved to the table of rejected events
	Returned  uint64 // of Claimed: given back to the table, or claimed by another process after the lease
	Held      int    // of Claimed: in the memory of this process
}

// Stats returns the counts so far.
func (b *Box) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	s := Stats{Tracked: b.tracked.Load(), Invalid: b.invalid.Load(), Filtered: b.filtered.Load()}
	if b.relay != nil {
		r := b.relay.Stats()
		s.Claimed, s.Repeated, s.Delivered, s.Rejected, s.Returned, s.Held = r.Claimed, r.Repeated, r.Delivered, r.Rejected, r.Returned, r.Held
	}
	return s
}

// Outage returns the current outage of the API, or false if there is none, as far as this Box knows. See
// [footfall.Tracker.Outage].
func (b *Box) Outage() (o footfall.Outage, out bool) {
	if b == nil || b.relay == nil {
		return o, false
	}
	return b.relay.Outage()
}

// Lag describes the tables.
type Lag struct {
	Events   int64         // committed, and neither delivered nor rejected
	Oldest   time.Duration // age of the oldest of them, by the clock of the database; 0 if there is none
	Rejected int64         // events in the table of rejected events
}

// Lag reads the tables, for metrics and alerts. It reads every row of both once.
func (b *Box) Lag(ctx context.Context) (l Lag, err error) {
	if b == nil || b.table == nil {
		return l, nil
	}
	if l.Events, l.Oldest, l.Rejected, err = b.table.Lag(orBackground(ctx)); err != nil {
		return Lag{}, fmt.Errorf("outbox: %w", err)
	}
	return l, nil
}
