package spool

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// openClaimed opens a file. It sets a damaged file aside, and copies its readable records to a
// new file with the same keys.
func openClaimed(c *claim, e expect, log *slog.Logger) (*store, contents, error) {
	_ = os.Remove(c.draft())
	t, err := inspect(c.path, e)
	if err == nil {
		err = e.fault
	}
	if errors.Is(err, errDamaged) {
		if err = salvage(c, t, err, log); err != nil {
			return nil, t, err
		}
		damaged := t.damaged
		t, err = inspect(c.path, e)
		t.damaged = damaged
	}
	if err != nil {
		return nil, t, err
	}
	st, err := openStore(c.path, t)
	if err == nil {
		syncDir(filepath.Dir(c.path))
	}
	return st, t, err
}

// salvage sets a damaged file aside and replaces it by its readable records.
func salvage(c *claim, t contents, why error, log *slog.Logger) error {
	fresh, err := openStore(c.draft(), contents{})
	if err != nil {
		return err
	}
	defer fresh.close()
	if err := copyGood(c.path, fresh); err != nil {
		return err
	}
	fresh.close()
	aside, err := c.setAside(time.Now())
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the file may be missing
		return err
	}
	if err := c.adoptDraft(); err != nil {
		return err
	}
	log.Error("spool: a file is damaged and was set aside; its readable events are kept",
		"file", c.path, "aside", aside, "kept", t.events, "damaged", t.damaged, "error", why)
	return nil
}

// copyGood copies the records of a damaged file that have correct checksums.
func copyGood(path string, to *store) error {
	var c change
	size := 0
	flush := func() error {
		err := to.commit(&c)
		c, size = change{}, 0
		return err
	}
	err := walk(path, func(k, v []byte, _ record, err error) error {
		if err != nil {
			return nil
		}
		c.add(k, v)
		if size += len(v); size < maxTransaction {
			return nil
		}
		return flush()
	})
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	return flush()
}
