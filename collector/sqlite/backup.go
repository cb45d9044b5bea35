package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
)

// Backup writes a consistent copy of a store's file to a new file. The copy is readable only
// by its owner, and synced to disk when Backup returns. The store may be open, also in
// another process. Records of the kinds in leaveOut are not copied. After an error there is
// no new file. Backup notes its time in a file beside the store's file, for [Stats], if it may. Every user
// may read the note.
func Backup(ctx context.Context, file, to string, leaveOut ...string) error {
	err := copyTo(ctx, file, to, leaveOut...)
	if err == nil {
		_ = noteBackup(resolve(file)) // the copy is good without it
	}
	return err
}

// copyTo is Backup without a note.
func copyTo(ctx context.Context, file, to string, leaveOut ...string) error {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if foreign, err := isForeign(ctx, file); err != nil {
		return err
	} else if foreign && hasLog(file) {
		return errForeignLog
	}
	f, err := os.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = vacuumInto(ctx, file, to)
	if err == nil {
		err = makeOwn(ctx, to, leaveOut)
	}
	if isFull(err) {
		err = &fileError{to, err}
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = syncDir(filepath.Dir(to))
	}
	if err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// vacuumInto uses its own connection, because the readers' connections refuse writes.
func vacuumInto(ctx context.Context, file, to string) error {
	db, err := sql.Open("sqlite", dsn(file)+"&mode=ro")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1) // the setting is of the connection
	_, err = inspect(ctx, db)
	if err == nil {
		err = requireEntries(ctx, db)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	}
	return errors.Join(err, db.Close())
}

// makeOwn gives a copy its own identity, and removes records from it and overwrites them. It does
// not migrate the copy, which an older program may have written.
func makeOwn(ctx context.Context, file string, kinds []string) error {
	db, err := sql.Open("sqlite", dsn(file)+"&_pragma=journal_mode(memory)&_pragma=secure_delete(1)")
	if err != nil {
		return err
	}
	version, err := inspect(ctx, db)
	for _, kind := range kinds {
		if err == nil && version > 0 {
			_, err = db.ExecContext(ctx, "DELETE FROM record WHERE kind = ?", kind)
		}
	}
	if err == nil && version >= versionWithIdentity {
		_, err = db.ExecContext(ctx, newIdentity)
	}
	return errors.Join(err, db.Close())
}
