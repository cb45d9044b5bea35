package sqlite

import (
	"context"
	"errors"
)

// errBusy is about a log that cannot be emptied now.
var errBusy = errors.New("a report is being read: its snapshot is in the log")

// Scrub sees to it that nothing of what was removed stands in any of the store's files:
// what secure_delete has written over is copied from the log into the file, and the log
// is emptied. It does not wait for reports, for all writing would wait with it; while
// one is being read it fails, and is to be tried again.
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
