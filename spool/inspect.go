package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// contents is the result of reading a file.
type contents struct {
	events    int
	bytes     int64
	last      uint64        // key
	clock     time.Duration // last reading of the file's clock
	own       int           // events of this run that are not loaded
	uncertain []uint64      // keys of a transaction that may have failed
	damaged   int
}

// expect describes the expected contents of a file that is opened again.
type expect struct {
	run       uint64
	loaded    uint64 // records below are in memory
	uncertain uint64 // records from here on were being written when the file failed
	fault     error  // error of guard, after which the file must be replaced
}

// nothing returns the expectation for a file of another process.
func nothing(run uint64) expect { return expect{run: run, uncertain: none} }

func (t *contents) add(r *record, e *expect) {
	t.clock = max(t.clock, r.stored)
	if r.key == clockKey {
		return
	}
	t.events++
	t.bytes += int64(r.size)
	t.last = max(t.last, r.key)
	switch {
	case r.key >= e.uncertain:
		t.uncertain = append(t.uncertain, r.key)
	case r.key >= e.loaded && r.run == e.run:
		t.own++
	}
}

// inspect verifies a file and returns its contents. A missing file is empty.
func inspect(path string, e expect) (t contents, err error) {
	err = walk(path, func(k, v []byte) error {
		r, err := decode(k, v)
		if err != nil {
			if !bytes.Equal(k, appendKey(nil, clockKey)) {
				t.damaged++
			}
			return nil // verify reports it
		}
		t.add(&r, &e)
		return nil
	})
	return t, err
}

// walk verifies a file.
func walk(path string, visit func(k, v []byte) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	return verify(f, info.Size(), visit)
}

// openClaimed opens a file. It sets a damaged file aside, and copies its readable records to a
// new file with the same keys.
func (s *Spool) openClaimed(c *claim, e expect) (*store, contents, error) {
	_ = os.Remove(c.draft())
	t, err := inspect(c.path, e)
	if err == nil {
		err = e.fault
	}
	if errors.Is(err, errDamaged) {
		if err = s.salvage(c, t, err); err != nil {
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
func (s *Spool) salvage(c *claim, t contents, why error) error {
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
	s.log.Error("spool: a file is damaged and was set aside; its readable events are kept",
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
	err := walk(path, func(k, v []byte) error {
		if _, err := decode(k, v); err != nil {
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
