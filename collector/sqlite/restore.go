package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Restore puts a copy of the backup in the place of a store's file, which may not exist yet. It
// keeps the file that was there and its log under other names, which it returns. It refuses while
// a store has the file open, and it reads all of the backup first, and calls each of records: if it
// is damaged, the file is unchanged. Records of the kinds in leaveOut are not restored.
func Restore(ctx context.Context, file, backup string, leaveOut []string, records ...RecordCheck) (kept []string, err error) {
	file = resolve(file)
	lock, err := lockFile(ctx, file)
	if err != nil {
		return nil, &fileError{file, err}
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if same(file, backup) {
		return nil, &fileError{backup, errors.New("is the file to replace, not a backup of it")}
	}
	if err := verify(ctx, backup, records); err != nil {
		return nil, &fileError{backup, err}
	}
	next := file + ".restoring"
	_ = os.Remove(next) // of a Restore that was interrupted
	if err := copyTo(ctx, backup, next, leaveOut...); err != nil {
		return nil, named(backup, err)
	}
	return replace(file, next)
}

func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// verify reads all of a backup, and checks its records.
func verify(ctx context.Context, backup string, records []RecordCheck) error {
	if _, err := os.Stat(backup); err != nil {
		return err
	}
	return snapshotOf(ctx, dsn(backup)+"&mode=ro", func(tx *sql.Tx, _ int) error {
		if err := integrity(ctx, tx); err != nil {
			return err
		}
		var problems []error
		for _, check := range records {
			problems = append(problems, checkRecords(ctx, tx, check))
		}
		return errors.Join(problems...)
	})
}

// replace puts next in the place of file. Until the log is moved, too, Open refuses the file.
func replace(file, next string) (kept []string, err error) {
	old := file + time.Now().UTC().Format(".replaced-20060102T150405.000")
	err = os.Link(file, old)
	if err != nil {
		err = os.Rename(file, old) // a file system without links
	}
	switch {
	case err == nil:
		kept = append(kept, old)
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	if err := os.Rename(next, file); err != nil {
		return kept, err
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		switch err := os.Rename(file+suffix, old+suffix); {
		case err == nil:
			kept = append(kept, old+suffix)
		case !errors.Is(err, os.ErrNotExist):
			return kept, err
		}
	}
	return kept, syncDir(filepath.Dir(file))
}
