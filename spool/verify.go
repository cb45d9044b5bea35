package spool

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
)

// bbolt trusts its file. A page that refers to itself overflows the stack, a list of free pages
// that is too long exhausts the memory, and a page that is both free and in use is overwritten. A
// program cannot recover from the first two. So verify reads a file before bbolt opens it.
// DESIGN.md names the functions of bbolt.

// meta is the header of a transaction. bbolt keeps the last two, in the first two pages.
type meta struct {
	_                                 [pageHeader]byte
	Magic, Version, PageSize, _       uint32
	Root, _, Freelist, End, Txid, Sum uint64 // pages from End on are not in use
}

const (
	metaSize    = 80
	minPageSize = 1 << 10
	maxPageSize = 1 << 16
	pageHeader  = 16 // id 8, kind 2, count 2, overflow 4
	elementSize = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	isBucket     = 0x01
)

var native = binary.NativeEndian

// visitor is given a record, and the error of decode. The arguments are valid until it returns.
type visitor func(k, v []byte, r record, err error) error

// walker reads the file of a spool that no process writes.
type walker struct {
	file   io.ReaderAt
	meta   meta
	seen   []bool // pages that are used or free
	walked []bool // pages that are in the tree, without overflow pages, or free
	damage error  // the first problem
	visit  visitor
	err    error // of visit
}

// verify checks the whole file. It calls visit for each record that it can reach, in order unless
// the file is damaged. The error is visit's, or wraps errDamaged.
func verify(file io.ReaderAt, size int64, visit visitor) error {
	w := &walker{file: file, visit: visit}
	if w.findMeta(); w.meta.PageSize == 0 {
		return w.damage
	}
	pages := min(uint64(size)/uint64(w.meta.PageSize), w.meta.End)
	w.seen, w.walked = make([]bool, pages), make([]bool, pages)
	w.mark(0, 2)
	w.page(w.meta.Root, 0, none)
	w.others()
	if w.err != nil {
		return w.err
	}
	return w.damage
}

func (w *walker) report(page uint64, problem string) {
	if w.damage == nil {
		w.damage = fmt.Errorf("%w: page %d: %s", errDamaged, page, problem)
	}
}

// findMeta finds the last transaction. In a valid file both metas are correct, because bbolt
// writes one at a time and a meta fits into a sector. The second one is at the page size, which
// is unknown if the first one is damaged.
func (w *walker) findMeta() {
	found := 0
	for at := int64(0); at <= maxPageSize; at = max(2*at, minPageSize) {
		m, ok := w.readMeta(at)
		if !ok || at != 0 && at != int64(m.PageSize) || found > 0 && m.PageSize != w.meta.PageSize {
			continue
		}
		if found++; m.Txid >= w.meta.Txid {
			w.meta = m
		}
	}
	if found < 2 {
		w.report(0, "this page or page 1 is not a meta page")
	}
}

func (w *walker) readMeta(at int64) (m meta, ok bool) {
	const magic, version = 0xED0CDAED, 2
	var buf [metaSize]byte
	if _, err := w.file.ReadAt(buf[:], at); err != nil {
		return m, false
	}
	_, _ = binary.Decode(buf[:], native, &m) // it fits
	sum := fnv.New64a()
	_, _ = sum.Write(buf[pageHeader : metaSize-8])
	return m, m.Magic == magic && m.Version == version && m.Sum == sum.Sum64() && m.PageSize >= minPageSize
}

// mark marks n pages as used. It returns false if they do not exist.
func (w *walker) mark(id, n uint64) bool {
	if end := uint64(len(w.seen)); id >= end || n > end-id {
		w.report(id, "beyond the end of the file")
		return false
	}
	for i := id; i < id+n; i++ {
		if w.seen[i] {
			w.report(i, "used twice")
		}
		w.seen[i] = true
	}
	return true
}

// read returns a page with its overflow pages. kind is 0 if it cannot be read. A page that seems
// to be an overflow page of another is read, because the header of the other may be wrong.
func (w *walker) read(id uint64) (data []byte, kind uint16) {
	size := uint64(w.meta.PageSize)
	var header [pageHeader]byte
	if _, err := w.file.ReadAt(header[:], int64(id*size)); err != nil || native.Uint64(header[:]) != id {
		w.report(id, "unreadable, or has another number")
		return nil, 0
	}
	n := uint64(native.Uint32(header[12:])) + 1
	if !w.mark(id, n) || w.walked[id] {
		return nil, 0
	}
	w.walked[id] = true
	data = make([]byte, n*size)
	if _, err := w.file.ReadAt(data, int64(id*size)); err != nil {
		w.report(id, err.Error())
		return nil, 0
	}
	return data, native.Uint16(header[8:])
}

// page walks the tree below a page, whose keys are at least low and less than high.
func (w *walker) page(id, low, high uint64) {
	switch data, kind := w.read(id); kind {
	case branchPage:
		w.branch(id, data, high)
	case leafPage:
		w.leaf(id, data, low, high)
	default:
		w.report(id, "of the wrong kind")
	}
}

// element is a child of a branch, or a record or bucket of a leaf.
type element struct {
	child      uint64
	flags      uint32
	key, value []byte
}

// number returns the key of a branch, or none.
func (e *element) number() uint64 {
	if len(e.key) != keySize {
		return none
	}
	return binary.BigEndian.Uint64(e.key)
}

// elements returns the elements of a page.
func (w *walker) elements(id uint64, data []byte, kind uint16) (all []element) {
	count := uint64(native.Uint16(data[10:]))
	if pageHeader+count*elementSize > uint64(len(data)) {
		w.report(id, "more elements than fit")
		return nil
	}
	for i := range count {
		rest := data[pageHeader+i*elementSize:]
		e := element{child: native.Uint64(rest[8:])}
		at, key, value := native.Uint32(rest), native.Uint32(rest[4:]), uint32(0)
		if kind == leafPage {
			e.flags, at, key, value = at, key, native.Uint32(rest[8:]), native.Uint32(rest[12:])
		}
		if uint64(at)+uint64(key)+uint64(value) > uint64(len(rest)) {
			w.report(id, "an element beyond the end of the page")
			continue
		}
		e.key, e.value = rest[at:][:key], rest[at:][key:][:value]
		all = append(all, e)
	}
	return all
}

// branch does not check the keys, because wrong keys make the leaves wrong.
func (w *walker) branch(id uint64, data []byte, high uint64) {
	children := w.elements(id, data, branchPage)
	if len(children) == 0 {
		w.report(id, "empty")
	}
	for i, e := range children {
		end := high
		if i+1 < len(children) {
			end = children[i+1].number()
		}
		w.page(e.child, e.number(), end)
	}
}

func (w *walker) leaf(id uint64, data []byte, low, high uint64) {
	for _, e := range w.elements(id, data, leafPage) {
		if string(e.key) == string(bucketName) {
			w.bucket(id, &e)
			continue
		}
		r, err := decode(e.key, e.value)
		if err != nil || e.flags != 0 || r.key < low || r.key >= high {
			w.report(id, "an event is damaged or out of order")
		}
		low = r.key + 1
		if w.err == nil {
			w.err = w.visit(e.key, e.value, r, err)
		}
	}
}

// bucket walks the file's only bucket. While the bucket is small it has no page, and its contents
// follow its header.
func (w *walker) bucket(id uint64, e *element) {
	const header = 16
	if e.flags != isBucket || len(e.value) < header {
		w.report(id, "not a bucket")
		return
	}
	if root := native.Uint64(e.value); root != 0 {
		w.page(root, 0, none)
	} else if inline := e.value[header:]; len(inline) >= pageHeader && native.Uint16(inline[8:]) == leafPage {
		w.leaf(id, inline, 0, none)
	} else {
		w.report(id, "a bucket without a page")
	}
}

// others checks that each page outside of the tree is free. bbolt would overwrite a used page that
// is also free. In a damaged tree another page has lost its parent, and its events are not removed.
// A wrong header may present it as an overflow page.
func (w *walker) others() {
	damaged := w.damage != nil
	id := w.meta.Freelist
	data, kind := w.read(id)
	if kind != freelistPage {
		w.report(id, "not the list of free pages")
		return
	}
	ids, count := data[pageHeader:], uint64(native.Uint16(data[10:]))
	if count == math.MaxUint16 {
		count, ids = native.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		w.report(id, "more free pages than fit")
		return
	}
	for i := range count {
		if free := native.Uint64(ids[8*i:]); w.mark(free, 1) {
			w.walked[free] = true
		}
	}
	for i, seen := range w.seen {
		if !seen {
			w.report(uint64(i), "neither used nor free")
		}
		if damaged && !w.walked[i] && i > 1 {
			w.page(uint64(i), 0, none)
		}
	}
}
