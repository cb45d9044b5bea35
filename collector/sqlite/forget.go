package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"time"
)

// Forgetting goes on in small transactions, so that events come in between them.
const (
	forgottenEvents = 5000
	forgottenTexts  = 1000
)

// Forget implements store.Store. Texts that no event has any more are removed as well.
func (s *Store) Forget(ctx context.Context, site string, before time.Time) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if err := s.forgetting.wait(ctx); err != nil {
		return err
	}
	defer s.forgetting.done()
	end := int64(math.MaxInt64)
	if !before.IsZero() {
		end = millis(before)
	}
	some := false
	for more := true; more; {
		err := s.write(ctx, func(w *writer) (err error) {
			more, err = w.forget(site, end)
			return err
		})
		if err != nil {
			return err
		}
		some = some || more
	}
	if !some {
		return nil
	}
	return s.sweep(ctx)
}

// forget removes some events before a time, the oldest first, with all that was made of
// them, and reports whether there were any.
func (w *writer) forget(site string, end int64) (more bool, err error) {
	id, err := w.intern.id(site)
	if err != nil {
		return false, err
	}
	var last sql.NullInt64 // of those that go now
	err = w.conn.QueryRowContext(background, "SELECT max(at) FROM (SELECT at FROM event WHERE site = ? AND at < ? ORDER BY at LIMIT ?)", id, end, forgottenEvents).Scan(&last)
	if err != nil || !last.Valid {
		return false, err
	}
	if w.watch != nil {
		w.watch.changed = true
	}
	for _, statement := range []string{
		"DELETE FROM rollup WHERE site = ?1 AND day <= ?3",
		"DELETE FROM piece WHERE site = ?1 AND first <= ?2",
		"DELETE FROM event WHERE site = ?1 AND at <= ?2",
	} {
		if _, err := w.conn.ExecContext(background, statement, id, last.Int64, floorDiv(last.Int64, msPerDay)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// sweep removes the texts that nothing refers to. It looks for them beside the writer,
// which meanwhile notes the ids that it gives out: those stay.
func (s *Store) sweep(ctx context.Context) error {
	if err := s.note(ctx, make(map[int64]struct{})); err != nil {
		return err
	}
	unused, err := s.unused(ctx)
	if err == nil {
		err = s.removeTexts(ctx, unused)
	}
	// Not ctx: the notes must end, whatever happened.
	return s.failed(ctx, cmp.Or(err, s.note(context.WithoutCancel(ctx), nil)))
}

// note lets the writer note the ids that it gives out, or if given is nil no more.
func (s *Store) note(ctx context.Context, given map[int64]struct{}) error {
	return s.write(ctx, func(w *writer) error {
		w.intern.given = given
		return nil
	})
}

func (s *Store) removeTexts(ctx context.Context, ids []int64) error {
	for some := range slices.Chunk(ids, forgottenTexts) {
		if err := s.write(ctx, func(w *writer) error { return w.removeTexts(some) }); err != nil {
			return err
		}
	}
	return nil
}

// marks are ids, as bits.
type marks []uint64

// Scan implements sql.Scanner: it marks an id.
func (m *marks) Scan(value any) error {
	id, ok := value.(int64)
	if !ok || id < 0 || id > math.MaxUint32 {
		return errDamaged
	}
	if word := int(id / 64); word >= len(*m) {
		*m = append(*m, make([]uint64, word+1-len(*m)+len(*m)/2)...)
	}
	(*m)[id/64] |= 1 << (id % 64)
	return nil
}

func (m marks) has(id int64) bool {
	return id/64 < int64(len(m)) && m[id/64]>>(id%64)&1 != 0
}

// unused returns the ids of texts that nothing refers to. It goes through all events
// once, which takes a second for a million.
func (s *Store) unused(ctx context.Context) (unused []int64, err error) {
	tx, err := s.reading.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	var used marks
	m := &used
	for _, in := range []struct {
		query string
		into  []any
	}{
		{"SELECT site, name, path, referrer, source, medium, campaign, origin FROM event", []any{m, m, m, m, m, m, m, m}},
		{"SELECT DISTINCT site FROM key", []any{m}},
	} {
		if err := eachRow(ctx, tx, in.query, in.into, func() {}); err != nil {
			return nil, err
		}
	}
	var id int64
	err = eachRow(ctx, tx, "SELECT id FROM text", []any{&id}, func() {
		if !used.has(id) {
			unused = append(unused, id)
		}
	})
	return unused, err
}

// eachRow scans each row that a query finds, and calls f after it.
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

func (w *writer) removeTexts(ids []int64) error {
	for _, id := range ids {
		if _, given := w.intern.given[id]; given {
			continue
		}
		if _, err := w.conn.ExecContext(background, "DELETE FROM text WHERE id = ?", id); err != nil {
			return err
		}
	}
	w.intern.reset()
	return nil
}
