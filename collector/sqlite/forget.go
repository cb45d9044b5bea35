package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
)

// Forget uses small transactions, so that events are added between them.
const (
	forgottenEvents = 5000
	forgottenTexts  = 1000
)

// Forget implements store.Store. It also removes texts that no event uses any more.
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

// forget removes the oldest events before a time, with their segments and rollups, and reports
// whether there were any.
func (w *writer) forget(site string, end int64) (more bool, err error) {
	id, err := w.intern.id(site)
	if err != nil {
		return false, err
	}
	var last sql.NullInt64 // time of the last event to remove
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
		if _, err := w.conn.ExecContext(background, statement, id, last.Int64, colstore.DayOf(last.Int64)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// sweep removes unused texts. It searches for them concurrently with the writer, which
// notes the IDs that it returns meanwhile, so that their texts stay.
func (s *Store) sweep(ctx context.Context) error {
	if err := s.noteIDs(ctx, make(map[int64]struct{})); err != nil {
		return err
	}
	unused, err := s.unused(ctx)
	if err == nil {
		err = s.removeTexts(ctx, unused)
	}
	// Not ctx: noting must end in any case.
	return s.failed(ctx, cmp.Or(err, s.noteIDs(context.WithoutCancel(ctx), nil)))
}

// noteIDs starts noting the IDs that the writer returns, or ends it if given is nil.
func (s *Store) noteIDs(ctx context.Context, given map[int64]struct{}) error {
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

// marks is a set of IDs, as bits.
type marks []uint64

// Scan implements sql.Scanner. It adds an ID.
func (m *marks) Scan(value any) error {
	id, ok := value.(int64)
	if !ok || id < 0 || id > math.MaxUint32 {
		return colstore.ErrDamaged
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

// unused returns the IDs of unused texts. It reads all events, which takes a second for a
// million.
func (s *Store) unused(ctx context.Context) (unused []int64, err error) {
	err = s.view(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		unused, err = unusedTexts(ctx, tx)
		return err
	})
	return unused, err
}

func unusedTexts(ctx context.Context, tx *sql.Tx) (unused []int64, err error) {
	var used marks
	m := &used
	texts := []any{m, m} // site and origin
	for range textColumns {
		texts = append(texts, m)
	}
	for _, in := range []struct {
		query string
		into  []any
	}{
		{"SELECT site, origin, " + textColumnNames + " FROM event", texts},
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
