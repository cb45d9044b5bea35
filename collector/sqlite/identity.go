package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
)

// SQLite replays the log beside a file when it opens the file. If the file was replaced, such as
// by a backup, and the log was not, that ruins the file. So each file has a random identity, which
// each start and each backup changes, and a small file beside the log names the owner of the log.

// errForeignLog is returned if the log does not belong to the file.
var errForeignLog = errors.New("was replaced, but its log (-wal) belongs to the file before and would ruin it: " +
	"put the old file back, or move the files that end with -wal and -shm away; footfall-collector restore does this")

// newIdentity gives a file another identity.
const newIdentity = "UPDATE identity SET id = hex(randomblob(16))"

// checkLog refuses a log that belongs to another file. It does not change the file.
func checkLog(ctx context.Context, file string) error {
	foreign, err := isForeign(ctx, file)
	if err != nil || !foreign {
		return err
	}
	if hasLog(file) {
		return errForeignLog
	}
	return removeFile(file + "-id")
}

// isForeign reports whether the note beside a file names another file.
func isForeign(ctx context.Context, file string) (bool, error) {
	owner, err := os.ReadFile(file + "-id")
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // an earlier version of the collector wrote the log
	}
	if err != nil {
		return false, err
	}
	id, err := identityOf(ctx, file)
	return err == nil && id != string(owner), nil // opening the file tells what is wrong with it
}

func hasLog(file string) bool {
	log, err := os.Stat(file + "-wal")
	return err == nil && log.Size() > 0
}

// claimLog gives the file another identity and notes it as the owner of the log. A copy of the
// file that was made before does not have it. There is no note while the file changes, so that
// the log belongs to the file wherever the process ends.
func claimLog(ctx context.Context, file string, conn *sql.Conn) error {
	if err := removeFile(file + "-id"); err != nil {
		return err
	}
	var id string
	if err := conn.QueryRowContext(ctx, newIdentity+" RETURNING id").Scan(&id); err != nil {
		return err
	}
	// The identity must not be in the log alone.
	var busy, pages, copied int
	err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &copied)
	if err != nil || busy != 0 {
		return err // a backup reads the file: the next start notes it
	}
	return writeFile(file+"-id", id, 0o600)
}

// identityOf returns the identity in a file, without its log. It is empty if the file has none.
func identityOf(ctx context.Context, file string) (id string, err error) {
	db, err := sql.Open("sqlite", dsn(file)+"&mode=ro&immutable=1")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'identity'").Scan(&tables); err != nil || tables == 0 {
		return "", err
	}
	return id, db.QueryRowContext(ctx, "SELECT id FROM identity").Scan(&id)
}

// removeFile removes a file, which may not exist, durably.
func removeFile(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(file))
}

// writeFile replaces a file, durably and as a whole. The mode is for a new file, before the umask.
func writeFile(file, text string, mode os.FileMode) error {
	next := file + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(file))
}
