package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// errTaken is returned if another process has the file open for writing.
var errTaken = errors.New("in use by another collector")

// lock ensures that this process is the only writer, because the writer caches the state of
// the file. It holds a SQLite lock on an empty file beside it, which works on every system
// and ends with the process.
func (s *Store) lock(ctx context.Context) (err error) {
	if err := makeFile(s.file + "-lock"); err != nil {
		return err
	}
	if s.locking, err = sql.Open("sqlite", dsn(s.file+"-lock")+"&_pragma=busy_timeout(0)"); err != nil {
		return err
	}
	s.locking.SetMaxOpenConns(1)
	if _, err := s.locking.ExecContext(ctx, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE"); err != nil {
		return fmt.Errorf("%w: %w", errTaken, err)
	}
	return nil
}
