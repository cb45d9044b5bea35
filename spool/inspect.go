package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// tally is what a file was found to hold.
type tally struct {
	events    int
	bytes     int64
	last      uint64        // key
	clock     time.Duration // what the clock of the file showed last
	own       int           // of these, those of this run that are not loaded
	uncertain []uint64      // keys of a transaction whose end is not known
	damaged   int
}

// expect is what is known of a file that is opened again.
type expect struct {
	run       uint64
	loaded    uint64 // records below are in memory
	uncertain uint64 // records from here on were being written when the file failed
	fault     error  // why it cannot be opened again whatever it holds; see guard
}

// nothing is known of a file that somebody else wrote.
func nothing(run uint64) expect { return expect{run: run, uncertain: none} }

func (t *tally) add(r *record, e *expect) {
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

// inspect verifies a file and says what it holds. There may be none yet.
func inspect(path string, e expect) (t tally, err error) {
	err = walk(path, func(k, v []byte) error {
		r, err := decode(k, v)
		if err != nil {
			if !bytes.Equal(k, appendKey(nil, clockKey)) {
				t.damaged++
			}
			return nil // verify has noticed too
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

// openClaimed opens a file. One that is damaged is set aside, and what can be read of it
// goes into a new one, with the same keys.
func (s *Spool) openClaimed(c *claim, e expect) (*store, tally, error) {
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

// salvage sets a damaged file aside.
func (s *Spool) salvage(c *claim, t tally, why error) error {
	fresh, err := openStore(c.draft(), tally{})
	if err != nil {
		return err
	}
	defer fresh.close()
	if err := copyGood(c.path, fresh); err != nil {
		return err
	}
	fresh.close()
	aside, err := c.setAside(time.Now())
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // somebody has removed it
		return err
	}
	if err := c.adoptDraft(); err != nil {
		return err
	}
	s.log.Error("spool: a file is damaged and was set aside; the events that could be read of it are kept",
		"file", c.path, "aside", aside, "kept", t.events, "damaged", t.damaged, "error", why)
	return nil
}

// copyGood copies the records of a damaged file whose checksums are right.
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
