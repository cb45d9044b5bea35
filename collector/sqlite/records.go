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
	err := s.view(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var r store.Record
		return eachRow(ctx, tx, "SELECT id, data FROM record WHERE kind = ? ORDER BY id", []any{&r.ID, &r.Data}, func() {
			all = append(all, r)
		}, kind)
	})
	return all, s.failed(ctx, err)
}
