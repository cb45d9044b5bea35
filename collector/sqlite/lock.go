package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
)

// errTaken is returned if another process has the file open for writing.
var errTaken = errors.New("in use by a running service; stop it first")

// fileLock ensures that this process is the only writer of a file, because the writer caches the
// state of the file. It ends with the process.
type fileLock struct {
	beside *sql.DB // holds a SQLite lock on an empty file beside the file, on every system
	own    io.Closer
}

// lockFile locks a file, which may not exist. On Linux it locks the file itself, too, so that it
// also refuses another path of the file, such as a hard link or a mount.
func lockFile(ctx context.Context, file string) (*fileLock, error) {
	own, err := lockItself(file)
	if err != nil {
		return nil, err
	}
	beside, err := lockBeside(ctx, file)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return &fileLock{beside, own}, nil
}

// Close ends the lock. All connections to the file must be closed: closing any descriptor of a
// file ends the locks that SQLite holds on it.
func (l *fileLock) Close() error { return errors.Join(l.own.Close(), l.beside.Close()) }

func lockBeside(ctx context.Context, file string) (*sql.DB, error) {
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
