package sqlite

import (
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// backupNote is the time of the last backup of a store's file, in a file beside it.
type backupNote struct {
	file       string // the note
	logger     *slog.Logger
	unreadable atomic.Bool // at the last reading
}

// nameOfNote returns the file of the note of a store's file.
func nameOfNote(file string) string { return file + "-last-backup" }

// noteBackup replaces the note. Every user may read it: a backup is often made by root, and the store
// belongs to another user.
func noteBackup(file string) error {
	const mode = 0o644
	note := nameOfNote(file)
	if err := writeFile(note, time.Now().UTC().Format(time.RFC3339), mode); err != nil {
		return err
	}
	return os.Chmod(note, mode) // the umask may be 077
}

// last returns when the last backup was made. It is the zero time without a note, and if the note
// cannot be read, which it logs once.
func (n *backupNote) last() time.Time {
	at, err := readNote(n.file)
	if was := n.unreadable.Swap(err != nil); err != nil && !was {
		n.logger.Warn("the time of the last backup cannot be read; metrics have 0 until the next backup", "error", err)
	}
	return at
}

func readNote(file string) (time.Time, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return time.Time{}, &os.PathError{Op: "read", Path: file, Err: err}
	}
	return at, nil
}
