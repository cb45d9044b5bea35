package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/footfall-dev/footfall/collector/store"
)

// errBusy is returned if the log cannot be emptied now.
var errBusy = fmt.Errorf("the log cannot be emptied while a report is read: %w", store.ErrBusy)

// Scrub erases removed data from all files of the store: it copies the overwritten pages from
// the log into the file and empties the log. It does not wait for reports, because that would
// block all writes: while a report is being read it returns store.ErrBusy.
func (s *Store) Scrub(ctx context.Context) error {
	return s.do(&job{ctx: ctx, run: (*writer).scrub, alone: true})
}

func (w *writer) scrub() error {
	if _, err := w.conn.ExecContext(background, "PRAGMA busy_timeout(0)"); err != nil {
		return err
	}
	var busy, pages, copied int
	err := w.conn.QueryRowContext(background, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
	if err == nil && busy != 0 {
		err = errBusy
	}
	_, reset := w.conn.ExecContext(background, "PRAGMA busy_timeout(5000)")
	return errors.Join(err, reset)
}
