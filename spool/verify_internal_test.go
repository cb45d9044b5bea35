package spool

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/footfall-dev/footfall"
)

// image is a file whose tree has a branch page, with offsets.
type image struct {
	data   []byte
	branch int // offset of the branch page
}

func newImage(t *testing.T, events int) image {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events-0.db")
	var records []footfall.Record
	for i := range events {
		records = append(records, footfall.Record{ID: [16]byte{14: byte(i >> 8), 15: byte(i)}, Body: bytes.Repeat([]byte{'x'}, 200)})
	}
	require.NoError(t, Plant(file, records))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, verifyAll(data), "as it was written")
	for at := 2 * os.Getpagesize(); at < len(data); at += os.Getpagesize() {
		if native.Uint16(data[at+8:]) == branchPage {
			return image{data, at}
		}
	}
	t.Fatal("no branch page")
	return image{}
}

func verifyAll(data []byte) error {
	return verify(bytes.NewReader(data), int64(len(data)), func(_, _ []byte, _ record, _ error) error { return nil })
}

// elementAt returns the head of the nth element of the page at an offset.
func elementAt(data []byte, page, n int) []byte {
	start := page + pageHeader + n*elementSize
	return data[start : start+elementSize]
}

func (im image) child(n int) uint64 { return native.Uint64(elementAt(im.data, im.branch, n)[8:]) }

func (im image) setChild(n int, id uint64) {
	native.PutUint64(elementAt(im.data, im.branch, n)[8:], id)
}

func TestAFileWhosePagesAreMixedUpIsNotTrusted(t *testing.T) {
	t.Parallel()
	size := os.Getpagesize()
	for name, damage := range map[string]func(im image){
		"a page refers to itself":     func(im image) { im.setChild(1, uint64(im.branch/size)) },
		"two refer to the same page":  func(im image) { im.setChild(1, im.child(2)) },
		"two pages change places":     func(im image) { a, b := im.child(1), im.child(2); im.setChild(1, b); im.setChild(2, a) },
		"beyond the end":              func(im image) { im.setChild(1, 1<<40) },
		"a meta page as a child":      func(im image) { im.setChild(1, 0) },
		"a branch without elements":   func(im image) { native.PutUint16(im.data[im.branch+10:], 0) },
		"more elements than fit":      func(im image) { native.PutUint16(im.data[im.branch+10:], 0xffff) },
		"a key behind the page":       func(im image) { native.PutUint32(elementAt(im.data, im.branch, 0)[4:], 1<<31) },
		"a key of another offset":     func(im image) { native.PutUint32(elementAt(im.data, im.branch, 1), 1<<31) },
		"overflow into other pages":   func(im image) { native.PutUint32(im.data[im.branch+12:], 2) },
		"overflow out of the file":    func(im image) { native.PutUint32(im.data[im.branch+12:], 1<<31) },
		"two events change places":    func(im image) { swap(im.data, int(im.child(1))*size) },
		"an event that is a bucket":   func(im image) { native.PutUint32(elementAt(im.data, int(im.child(1))*size, 0), isBucket) },
		"a leaf that is a free list":  func(im image) { native.PutUint16(im.data[int(im.child(1))*size+8:], freelistPage) },
		"a key of the branch is high": func(im image) { raise(im.data, im.branch, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			im := newImage(t, 400)
			damage(im)
			assert.ErrorIs(t, verifyAll(im.data), errDamaged)
		})
	}
}

// swap exchanges the first two events of a leaf. They have the same size, so each is valid but
// out of order.
func swap(data []byte, leaf int) {
	at := func(n int) []byte {
		start := leaf + pageHeader + n*elementSize
		head := data[start : start+elementSize]
		start += int(native.Uint32(head[4:]))
		return data[start : start+int(native.Uint32(head[8:])+native.Uint32(head[12:]))]
	}
	first, second := at(0), at(1)
	kept := bytes.Clone(first)
	copy(first, second)
	copy(second, kept)
}

// raise makes the key of a branch's element larger than the first key below it.
func raise(data []byte, branch, n int) {
	start := branch + pageHeader + n*elementSize
	key := start + int(native.Uint32(data[start:]))
	data[key+keySize-1]++
}

func TestAWrongListOfFreePagesIsNotTrusted(t *testing.T) {
	t.Parallel()
	size := os.Getpagesize()
	list := func(im image) int {
		for at := 2 * size; at < len(im.data); at += size {
			if native.Uint16(im.data[at+8:]) == freelistPage && native.Uint64(im.data[at:]) == im.freelist() {
				return at
			}
		}
		panic("none")
	}
	for name, damage := range map[string]func(im image, at int){
		"a page in use is free": func(im image, at int) { native.PutUint64(im.data[at+pageHeader:], im.child(0)) },
		"longer than its page":  func(im image, at int) { native.PutUint16(im.data[at+10:], 0xfffe) },
		"without an end": func(im image, at int) {
			native.PutUint16(im.data[at+10:], 0xffff)
			native.PutUint64(im.data[at+pageHeader:], 1<<40)
		},
		"shorter":    func(im image, at int) { native.PutUint16(im.data[at+10:], 0) },
		"not a list": func(im image, at int) { native.PutUint16(im.data[at+8:], leafPage) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			im := newImage(t, 400)
			damage(im, list(im))
			assert.ErrorIs(t, verifyAll(im.data), errDamaged)
		})
	}
}

// freelist returns the page of the free list in the last transaction.
func (im image) freelist() uint64 {
	w := &walker{file: bytes.NewReader(im.data)}
	w.findMeta()
	return w.meta.Freelist
}

func TestRecordsAreReadWithTheOlderMeta(t *testing.T) {
	t.Parallel()
	im := newImage(t, 400)
	clear(im.data[:100])
	n := 0
	err := verify(bytes.NewReader(im.data), int64(len(im.data)), func(_, _ []byte, _ record, _ error) error { n++; return nil })
	require.ErrorIs(t, err, errDamaged)
	t.Log(n, "events")
}

// These faults of bbolt are the reason for verify. Each child process opens a damaged file without
// it, as carefully as a program can.
func TestAProcessThatTrustsADamagedFileEnds(t *testing.T) {
	t.Parallel()
	const variable = "FOOTFALL_SPOOL_TRUSTED_FILE"
	for name, test := range map[string]struct {
		damage func(im image)
		use    func(s *store) error
		dies   string // in this function
	}{
		"a page refers to itself, and a cursor reads it": {
			damage: func(im image) { im.setChild(0, uint64(im.branch/os.Getpagesize())) },
			use: func(s *store) error {
				_, err := s.read(0, func(_, _ []byte) error { return nil })
				return err
			},
			dies: "bbolt.(*Cursor).search(",
		},
		"a page refers to itself, and a transaction writes it": {
			damage: func(im image) { im.setChild(0, uint64(im.branch/os.Getpagesize())) },
			use:    func(s *store) error { return s.commit(&change{remove: []uint64{1}}) },
			dies:   "bbolt.(*Cursor).search(",
		},
		"a list of free pages is too long, and bbolt opens the file": {
			damage: func(im image) {
				at := int(im.freelist()) * os.Getpagesize()
				native.PutUint16(im.data[at+10:], 0xffff)
				native.PutUint64(im.data[at+pageHeader:], 1<<44)
			},
			use:  func(*store) error { return nil },
			dies: "freelist.(*shared).Read(",
		},
		"a key is beyond the file, and bbolt checks it": {
			damage: func(im image) { native.PutUint32(elementAt(im.data, im.branch, 0), 1<<29) },
			use: func(s *store) error {
				return s.db.View(func(tx *bolt.Tx) error {
					for err := range tx.Check() {
						return err
					}
					return nil
				})
			},
			dies: "bbolt.(*Tx).check(",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if path := os.Getenv(variable); path != "" {
				debug.SetMaxStack(1 << 20) // the limit is 1 GB otherwise
				s, err := openStore(path, contents{})
				if err == nil {
					err = s.guard(func() error { return test.use(s) })
				}
				t.Log("no crash: ", err)
				return
			}
			im := newImage(t, 400)
			test.damage(im)
			path := filepath.Join(t.TempDir(), "events-0.db")
			require.NoError(t, os.WriteFile(path, im.data, 0o600))
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
			child.Env = append(os.Environ(), variable+"="+path)
			out, err := child.CombinedOutput()
			require.Error(t, err, "%s", out)
			assert.Contains(t, string(out), "fatal error: ")
			assert.Contains(t, string(out), test.dies)
			assert.ErrorIs(t, verifyAll(im.data), errDamaged)
		})
	}
}
