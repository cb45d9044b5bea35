package sqlite

import (
	"context"

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
	all, err := s.records(ctx, kind)
	return all, s.failed(ctx, err)
}

func (s *Store) records(ctx context.Context, kind string) ([]store.Record, error) {
	rows, err := s.reading.QueryContext(ctx, "SELECT id, data FROM record WHERE kind = ? ORDER BY id", kind)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []store.Record
	for rows.Next() {
		var r store.Record
		if err := rows.Scan(&r.ID, &r.Data); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}
