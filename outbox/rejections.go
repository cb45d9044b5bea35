package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

// ErrNotRejected matches the error of a call about an event that is not among the rejected ones.
var ErrNotRejected = errors.New("outbox: no such rejected event")

// Rejected is an event that the API rejected, or a row that is no event.
type Rejected struct {
	Row     string    // the id of its row, for Retry and Purge
	ID      string    // the Idempotency-Key of its requests
	Time    time.Time // when it was rejected, by the clock of the database
	Status  int       // of the API's answer; 0 if the row was no event
	Code    string    // of the API's answer, or "not_an_event"; may be empty
	Message string    // why
	Body    []byte    // JSON, as it was sent
}

// Rejections reads the table of rejected events. Its methods may be called from several goroutines at once.
type Rejections struct{ table *rows.Table }

// OpenRejections returns the rejected events of an outbox. It does no I/O. The error is about cfg.
func OpenRejections(cfg Config) (*Rejections, error) {
	cfg = cfg.withDefaults(nil)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Rejections{rows.New(rows.Options{DB: cfg.DB, Dialect: rows.For(cfg.Dialect.String()), Names: cfg.names()})}, nil
}

// atOnce is how many rejected events are read or moved at once.
const atOnce = 100

// All yields the rejected events, those first whose Track was first. It ends with an error if the database
// cannot be used.
func (r *Rejections) All(ctx context.Context) iter.Seq2[Rejected, error] {
	ctx = orBackground(ctx)
	return func(yield func(Rejected, error) bool) {
		from, again := r.table.First(), false // whether the first row was yielded before
		for {
			some, err := r.table.List(ctx, from, atOnce)
			if err != nil {
				yield(Rejected{}, fmt.Errorf("outbox: rejected events: %w", err))
				return
			}
			for _, one := range some {
				if again && one.ID == from {
					continue
				}
				if !yield(rejectedOf(one), nil) {
					return
				}
			}
			if len(some) < atOnce {
				return
			}
			from, again = some[len(some)-1].ID, true
		}
	}
}

func rejectedOf(r rows.Rejected) Rejected {
	return Rejected{
		Row: r.ID, ID: cmp.Or(r.Key, r.ID), Time: time.UnixMilli(r.At),
		Status: r.Status, Code: r.Code, Message: r.Message, Body: r.Body,
	}
}

// Retry moves rejected events back to the outbox, and a Box sends them again with their ids. Without rows it
// moves all. It returns how many it has moved, also with an error. Rows without an event are skipped, and the
// error matches [ErrNotRejected]. Several calls may run at once: each event is moved by one of them.
func (r *Rejections) Retry(ctx context.Context, rows ...string) (n int, err error) {
	return r.each(ctx, rows, r.table.Retry)
}

// Purge removes rejected events for good. Without rows it removes all. It returns as Retry does.
func (r *Rejections) Purge(ctx context.Context, rows ...string) (n int, err error) {
	return r.each(ctx, rows, r.table.Purge)
}

// each calls f for some rejected events after another.
func (r *Rejections) each(ctx context.Context, ids []string, f func(context.Context, []string) (int64, error)) (n int, err error) {
	ctx = orBackground(ctx)
	all := len(ids) == 0
	if all {
		for one, err := range r.All(ctx) {
			if err != nil {
				return 0, err
			}
			ids = append(ids, one.Row)
		}
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // one may be there twice
	for some := range slices.Chunk(ids, atOnce) {
		done, err := f(ctx, some)
		n += int(done)
		if err != nil {
			return n, fmt.Errorf("outbox: rejected events: %w", err)
		}
	}
	if !all && n < len(ids) {
		return n, fmt.Errorf("%w: %d of %d", ErrNotRejected, len(ids)-n, len(ids))
	}
	return n, nil
}
