package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// errTaken is about a store that would not be the only writer.
var errTaken = errors.New("in use by another collector")

// lock makes sure that nobody else writes the file: a writer relies on what it remembers
// of it. The lock is one of SQLite's, on an empty file beside it, so that it works on
// every system and ends with the process.
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
