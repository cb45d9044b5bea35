package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
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

// turn is a lock whose wait a context can end.
type turn chan struct{}

// wait acquires the turn. Call done to release it.
func (t turn) wait(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) done() { <-t }

// textsOf returns the texts of ids, by ID.
func (r *reading) textsOf(ids []uint32) (map[uint32]string, error) {
	of := make(map[uint32]string, len(ids))
	for _, id := range ids {
		of[id] = ""
	}
	for some := range slices.Chunk(r.s.texts.known(of), 500) {
		if err := r.lookTexts(some, of); err != nil {
			return nil, err
		}
	}
	return of, nil
}

func (r *reading) lookTexts(ids []uint32, of map[uint32]string) error {
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendUint(list, uint64(id), 10)
	}
	rows, err := r.tx.QueryContext(r.ctx, "SELECT id, value FROM text WHERE id IN (SELECT value FROM json_each(?))", string(append(list, ']')))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id uint32
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		of[id] = text
		r.s.texts.remember(id, text)
	}
	return rows.Err()
}

// idOf returns the ID of a text, or false if it has none.
func (r *reading) idOf(text string) (id uint32, found bool, err error) {
	err = r.tx.QueryRowContext(r.ctx, "SELECT id FROM text WHERE value = ?", text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// sites returns the sites with events, with one look-up each.
func (r *reading) sites() (all []uint32, err error) {
	var site uint32
	err = eachRow(r.ctx, r.tx, `WITH RECURSIVE site (id) AS (SELECT min(site) FROM event
		UNION ALL SELECT (SELECT min(site) FROM event WHERE site > id) FROM site WHERE id IS NOT NULL)
		SELECT id FROM site WHERE id IS NOT NULL`, []any{&site}, func() { all = append(all, site) })
	return all, err
}

// timeOfEvent returns the time of the nth event of a span, counted from 1.
func (r *reading) timeOfEvent(from, to int64, n int) (at int64, found bool, err error) {
	err = r.tx.QueryRowContext(r.ctx, "SELECT at FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at LIMIT 1 OFFSET ?",
		r.site, from, to, n-1).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return at, err == nil, err
}

// nameID is like idOf for the name of an event. Pageviews have no name and ID 0.
func (r *reading) nameID(name string) (id uint32, found bool, err error) {
	if name == "" {
		return 0, true, nil
	}
	return r.idOf(name)
}

// readOf is like read for reports about the events with a name, whose ID f gets. It does not call
// f if there are none.
func (s *Store) readOf(ctx context.Context, q store.Query, event string, f func(r *reading, id uint32) error) error {
	return s.read(ctx, q, func(r *reading) error {
		id, found, err := r.nameID(event)
		if err != nil || !found {
			return err
		}
		return f(r, id)
	})
}

func recordsOf(ctx context.Context, tx *sql.Tx, kind string) (all []store.Record, err error) {
	var r store.Record
	err = eachRow(ctx, tx, "SELECT id, data FROM record WHERE kind = ? ORDER BY id", []any{&r.ID, &r.Data}, func() {
		all = append(all, r)
	}, kind)
	return all, err
}
