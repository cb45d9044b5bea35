package sqlite

import (
	"context"
	"database/sql"

	"github.com/footfall-dev/footfall/collector/store"
)

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, kind string, rec store.Record) error {
	data := append([]byte{}, rec.Data...) // not NULL, and not shared with the caller
	return s.write(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(background, "INSERT OR REPLACE INTO record VALUES (?, ?, ?)", kind, rec.ID, data)
		return err
	})
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, kind, id string) error {
	return s.write(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(background, "DELETE FROM record WHERE kind = ? AND id = ?", kind, id)
		return err
	})
}

// Records implements store.Store.
func (s *Store) Records(ctx context.Context, kind string) ([]store.Record, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var all []store.Record
	err := s.view(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		all, err = recordsOf(ctx, tx, kind)
		return err
	})
	return all, s.failed(ctx, err)
}

func recordsOf(ctx context.Context, tx *sql.Tx, kind string) (all []store.Record, err error) {
	var r store.Record
	err = eachRow(ctx, tx, "SELECT id, data FROM record WHERE kind = ? ORDER BY id", []any{&r.ID, &r.Data}, func() {
		all = append(all, r)
	}, kind)
	return all, err
}
