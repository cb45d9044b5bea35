package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
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

func (r *reading) state(f func() error) (err error) {
	if r.tx, err = r.s.reading.BeginTx(r.ctx, nil); err != nil {
		return err
	}
	defer func() { _ = r.tx.Rollback() }() // nothing to commit
	return f()
}

// span is a day, or the part of it in the range.
type span struct {
	*reading
	day      int64
	from, to int64
	rolled   bool // there is a rollup of the day
}

// full reports whether the span is the whole day.
func (d *span) full() bool { return d.to-d.from == colstore.MsPerDay }

// days calls f with each day that has events in the range.
func (s *Store) days(ctx context.Context, q store.Query, f func(*span) error) error {
	return s.read(ctx, q, func(r *reading) error { return r.days(f) })
}

func (r *reading) days(f func(*span) error) error {
	rolled, err := r.rolledDays()
	if err != nil {
		return err
	}
	next, err := r.tx.PrepareContext(r.ctx, "SELECT at FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at LIMIT 1")
	if err != nil {
		return err
	}
	defer func() { _ = next.Close() }()
	for from := r.from; ; {
		var at int64
		err := next.QueryRowContext(r.ctx, r.site, from, r.to).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		day := colstore.DayOf(at)
		begin, end := day*colstore.MsPerDay, (day+1)*colstore.MsPerDay
		d := &span{reading: r, day: day, from: max(begin, r.from), to: min(end, r.to), rolled: rolled[day]}
		if err := f(d); err != nil {
			return err
		}
		from = end
	}
}

// rolledDays returns the days of the range that have a rollup.
func (r *reading) rolledDays() (map[int64]bool, error) {
	rows, err := r.tx.QueryContext(r.ctx, "SELECT day FROM rollup WHERE site = ? AND part = ? AND day BETWEEN ? AND ?",
		r.site, colstore.PartTotals, colstore.DayOf(r.from), colstore.DayOf(r.to))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	rolled := make(map[int64]bool)
	for rows.Next() {
		var day int64
		if err := rows.Scan(&day); err != nil {
			return nil, err
		}
		rolled[day] = true
	}
	return rolled, rows.Err()
}

// part reads a part of the day's rollup. A missing part is empty.
func (d *span) part(part int) (data []byte, err error) {
	err = d.tx.QueryRowContext(d.ctx, "SELECT data FROM rollup WHERE site = ? AND day = ? AND part = ?", d.site, d.day, part).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return data, err
}
