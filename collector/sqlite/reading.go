package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// reading is a snapshot of the file, used by one report.
type reading struct {
	s    *Store
	ctx  context.Context
	tx   *sql.Tx
	q    store.Query
	site uint32

	from, to        int64 // of q, in milliseconds
	lastAt, lastSeq int64 // of the last event read
}

// read calls f with a snapshot of the file, unless it cannot contain events of q.
func (s *Store) read(ctx context.Context, q store.Query, f func(*reading) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	return s.failed(ctx, s.snapshot(ctx, q, f))
}

func (s *Store) snapshot(ctx context.Context, q store.Query, f func(*reading) error) error {
	r := &reading{s: s, ctx: ctx, q: q, from: millis(q.From), to: millis(q.To)}
	if r.from >= r.to {
		return nil
	}
	return r.state(func() error {
		var found bool
		var err error
		if r.site, found, err = r.idOf(q.Site); err != nil || !found {
			return err
		}
		return f(r)
	})
}

// stateOf is like snapshot for a site with a known ID.
func (s *Store) stateOf(ctx context.Context, site uint32, from, to int64, f func(*reading) error) error {
	r := &reading{s: s, ctx: ctx, site: site, from: from, to: to}
	return r.state(func() error { return f(r) })
}

func (r *reading) state(f func() error) error {
	return r.s.view(r.ctx, func(ctx context.Context, tx *sql.Tx) error {
		r.ctx, r.tx = ctx, tx
		return f()
	})
}

// view calls f with a snapshot of the file. Close ends the context of f.
func (s *Store) view(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	tx, err := s.reading.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to commit
	return f(ctx, tx)
}

// waitForViews waits until no snapshot has a connection. If the context of a transaction ends,
// database/sql rolls it back in another goroutine, which may be after view has returned.
func (s *Store) waitForViews() {
	for range readers {
		if conn, err := s.reading.Conn(background); err == nil {
			defer func() { _ = conn.Close() }()
		}
	}
}

// eachRow scans each row of a query and then calls f.
func eachRow(ctx context.Context, tx *sql.Tx, query string, into []any, f func(), args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		f()
	}
	return rows.Err()
}

// millis returns t in milliseconds, rounded up.
func millis(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// timeOf returns the time of milliseconds since 1970.
func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
