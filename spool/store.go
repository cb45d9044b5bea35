package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/footfall-dev/footfall"
)

// maxEvents, maxTransaction and maxRemoved bound a transaction in events, bytes and removed
// records.
const (
	maxEvents      = 1024
	maxTransaction = 1 << 20
	maxRemoved     = 4096
)

// store is a file of records. Only one goroutine uses it.
type store struct {
	path   string
	db     *bolt.DB
	file   *os.File // of db
	size   int64    // of the file
	events int
	bytes  int64
	next   uint64        // key of the next record
	clock  time.Duration // as written last
}

// openStore opens a verified file or creates one.
func openStore(path string, found contents) (*store, error) {
	s := &store{path: path, events: found.events, bytes: found.bytes, next: found.last + 1, clock: found.clock}
	err := s.guard(func() error {
		db, err := bolt.Open(path, 0o600, &bolt.Options{
			Timeout:      time.Second, // another process may read the file; none may write it without the lock
			FreelistType: bolt.FreelistMapType,
			NoStatistics: true,
			OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
				f, err = os.OpenFile(name, flag, mode)
				s.file = f
				return f, err
			},
		})
		if err != nil {
			return err
		}
		s.db = db
		return db.Update(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists(bucketName)
			return err
		})
	})
	if err != nil {
		s.close()
		return nil, err
	}
	s.measure()
	return s, nil
}

// guard converts panics of bbolt, and faults of the mapped memory of a truncated file, to
// errDamaged. After a panic, bbolt's locks are not usable, so the database is not closed. Its
// mapping and the system's lock on the file remain, so the file must be replaced.
func (s *store) guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			s.db = nil
			err = fmt.Errorf("%w: %s: %v", errDamaged, s.path, v)
		}
	}()
	return do()
}

// close may be called at any time, and more than once.
func (s *store) close() {
	if db := s.db; db != nil {
		s.db = nil
		_ = s.guard(db.Close)
	}
	if s.file != nil {
		_ = s.file.Close() // an error if bbolt has closed it
		s.file = nil
	}
}

func (s *store) measure() {
	if info, err := s.file.Stat(); err == nil {
		s.size = info.Size()
	}
}

// change is the content of one transaction.
type change struct {
	keys, values [][]byte // to add, in order
	remove       []uint64
	clock        time.Duration // to write, unless zero
}

// add adds copies of k and v.
func (c *change) add(k, v []byte) {
	c.keys = append(c.keys, bytes.Clone(k))
	c.values = append(c.values, bytes.Clone(v))
}

// commit returns when the change is on disk. The keys of its records follow s.next. If it returns an error, the change may be on disk
// nevertheless.
func (s *store) commit(c *change) error {
	events, size := s.events, s.bytes
	err := s.guard(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucketName)
			b.FillPercent = 1 // keys only count up
			for i, k := range c.keys {
				if err := b.Put(k, c.values[i]); err != nil {
					return err
				}
				size += int64(len(c.values[i]))
			}
			events += len(c.keys)
			if c.clock != 0 {
				v := encode(nil, clockKey, 0, c.clock, &footfall.Record{})
				if err := b.Put(appendKey(nil, clockKey), v); err != nil {
					return err
				}
			}
			for _, key := range c.remove {
				var buf [keySize]byte
				k := appendKey(buf[:0], key)
				v := b.Get(k)
				if v == nil {
					continue
				}
				events--
				size -= int64(len(v))
				if err := b.Delete(k); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	s.events, s.bytes, s.next = events, size, s.next+uint64(len(c.keys))
	s.clock = max(s.clock, c.clock)
	s.measure()
	return nil
}

// errEnough ends an iteration over records.
var errEnough = errors.New("enough")

// read calls visit for each event from the given key on, oldest first, until visit returns
// errEnough. more is then true. k and v are valid until visit returns.
func (s *store) read(from uint64, visit func(k, v []byte) error) (more bool, err error) {
	err = s.guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			c := tx.Bucket(bucketName).Cursor()
			for k, v := c.Seek(appendKey(nil, max(from, clockKey+1))); k != nil; k, v = c.Next() {
				if err := visit(k, v); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}
