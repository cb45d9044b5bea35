package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"time"
)

// contents is the result of reading a file.
type contents struct {
	events    int
	bytes     int64
	last      uint64        // key
	clock     time.Duration // last reading of the file's clock
	own       int           // events of this run that are in the file only
	uncertain []uint64      // keys of a transaction that may have failed
	damaged   int
}

// expect describes the expected contents of a file that is opened again.
type expect struct {
	run       uint64
	known     map[uint64]bool // keys of records that are in memory or have ended
	uncertain uint64          // records from here on were being written when the file failed
	fault     error           // error of guard, after which the file must be replaced
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
	case r.run == e.run && !e.known[r.key]:
		t.own++
	}
}

// inspect verifies a file and returns its contents. A missing file is empty.
func inspect(path string, e expect) (t contents, err error) {
	err = walk(path, func(k, _ []byte, r record, err error) error {
		if err == nil {
			t.add(&r, &e)
		} else if !bytes.Equal(k, appendKey(nil, clockKey)) {
			t.damaged++ // verify reports it
		}
		return nil
	})
	return t, err
}

// walk verifies a file.
func walk(path string, visit visitor) error {
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
