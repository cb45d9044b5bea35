package rows

import (
	"context"
	"database/sql"
)

// Rejected is an event that the API rejected.
type Rejected struct {
	ID, Key string
	Body    []byte
	At      int64 // when it was rejected, in milliseconds since 1970
	Status  int
	Code    string
	Message string
}

// First returns the lowest id.
func (t *Table) First() string { return t.dialect.start }

// List returns up to n rejected events, beginning with an id.
func (t *Table) List(ctx context.Context, from string, n int) ([]Rejected, error) {
	return scanRejected(t.db.QueryContext(ctx, t.s.listed, from, n))
}

func scanRejected(from *sql.Rows, err error) (all []Rejected, _ error) {
	if err != nil {
		return nil, err
	}
	defer from.Close()
	for from.Next() {
		var r Rejected
		if err := from.Scan(&r.ID, &r.Key, &r.Body, &r.At, &r.Status, &r.Code, &r.Message); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, from.Err()
}

// Retry moves rejected events back, and returns how many. It first locks them, because another process may
// move them at the same time.
func (t *Table) Retry(ctx context.Context, ids []string) (n int64, err error) {
	err = t.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := t.exec(ctx, tx, t.s.lockRejected, ids); err != nil {
			return err
		}
		if n, err = t.exec(ctx, tx, t.s.retry, ids); err != nil {
			return err
		}
		_, err = t.exec(ctx, tx, t.s.purge, ids)
		return err
	})
	return n, err
}

// Purge removes rejected events, and returns how many.
func (t *Table) Purge(ctx context.Context, ids []string) (n int64, err error) {
	err = t.inTx(ctx, func(tx *sql.Tx) error {
		n, err = t.exec(ctx, tx, t.s.purge, ids)
		return err
	})
	return n, err
}
