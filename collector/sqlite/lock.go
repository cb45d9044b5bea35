package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// errTaken is returned if another process has the file open for writing.
var errTaken = errors.New("in use by another collector")

// lockFile ensures that this process is the only writer of a file, because the writer caches the
// state of the file, until the returned connection is closed. It holds a SQLite lock on an empty
// file beside it, which works on every system and ends with the process.
func lockFile(ctx context.Context, file string) (*sql.DB, error) {
	if err := makeFile(file + "-lock"); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(file+"-lock")+"&_pragma=busy_timeout(0)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE"); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errTaken, err), db.Close())
	}
	return db, nil
}
