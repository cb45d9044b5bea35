package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// bbolt trusts its file. A page that refers to itself overflows the stack, a count that is too
// large allocates without bound, and an offset may point outside of the mapped memory. bbolt's
// own check meets these faults on another goroutine, and a program cannot recover from them. So
// verify reads a file as plain bytes before bbolt opens it. It reads only what is needed to
// trust the file.

// walker reads the file of a spool that no process writes.
type walker struct {
	file     io.ReaderAt
	size     int64
	pageSize int64
	meta     meta
	seen     []bool // pages that are used or free
	problems []error
	visit    func(k, v []byte) error
	depth    int
}

// meta is the header of a transaction. bbolt keeps one in each of the first two pages.
type meta struct {
	pageSize uint32
	root     uint64 // page of the bucket of buckets
	freelist uint64 // page
	end      uint64 // pages before it are in use
	txid     uint64
}

const (
	pageHeader  = 16 // id 8, flags 2, count 2, overflow 4
	elementSize = 16
	metaSize    = 64
	maxDepth    = 32
	maxProblems = 8

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	isBucket     = 0x01
)

var native = binary.NativeEndian

// verify checks the whole file. It calls visit for each record that it can reach, in order,
// even in a damaged file; k and v are valid until visit returns. The error is visit's, or joins
// errDamaged with the problems.
func verify(file io.ReaderAt, size int64, visit func(k, v []byte) error) error {
	w := &walker{file: file, size: size, visit: visit}
	if err := w.findMeta(); err != nil {
		return errors.Join(errDamaged, err)
	}
	if int64(w.meta.end)*w.pageSize > size {
		w.report("%d bytes long, and should have %d pages of %d", size, w.meta.end, w.pageSize)
	}
	w.seen = make([]bool, min(int64(w.meta.end), size/w.pageSize))
	w.mark(0, 2)
	if err := w.page(w.meta.root, nil, nil, w.rootLeaf); err != nil {
		return err
	}
	w.checkFree()
	if len(w.problems) == 0 {
		return nil
	}
	return errors.Join(append([]error{errDamaged}, w.problems...)...)
}

func (w *walker) report(format string, args ...any) {
	if len(w.problems) < maxProblems {
		w.problems = append(w.problems, fmt.Errorf(format, args...))
	}
}

// findMeta finds the last transaction. In a valid file both metas are correct, because bbolt
// writes one at a time and a meta fits into a sector.
func (w *walker) findMeta() error {
	first, err := w.readMeta(0)
	if err != nil {
		w.report("meta page 0: %w", err)
		return w.findSecondMeta(err)
	}
	w.meta, w.pageSize = first, int64(first.pageSize)
	second, err := w.readMeta(w.pageSize)
	switch {
	case err != nil:
		w.report("meta page 1: %w", err)
	case second.pageSize != first.pageSize:
		w.report("meta page 1: other page size")
	case second.txid > first.txid:
		w.meta = second
	}
	return nil
}

// findSecondMeta looks for meta page 1 with an unknown page size.
func (w *walker) findSecondMeta(first error) error {
	for size := int64(1 << 10); size <= 1<<16; size *= 2 {
		if m, err := w.readMeta(size); err == nil && int64(m.pageSize) == size {
			w.meta, w.pageSize = m, size
			return nil
		}
	}
	return first
}

func (w *walker) readMeta(offset int64) (meta, error) {
	const magic, version = 0xED0CDAED, 2
	buf := make([]byte, pageHeader+metaSize)
	if _, err := w.file.ReadAt(buf, offset); err != nil {
		return meta{}, err
	}
	b := buf[pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSize-8])
	m := meta{
		pageSize: native.Uint32(b[8:]), root: native.Uint64(b[16:]), freelist: native.Uint64(b[32:]),
		end: native.Uint64(b[40:]), txid: native.Uint64(b[48:]),
	}
	switch {
	case native.Uint32(b) != magic || native.Uint32(b[4:]) != version || native.Uint64(b[56:]) != sum.Sum64():
		return meta{}, errors.New("magic number, version or checksum is wrong")
	case m.pageSize < 1<<10 || m.pageSize > 1<<16 || m.pageSize&(m.pageSize-1) != 0 || m.end > 1<<40:
		return meta{}, errors.New("sizes are impossible")
	}
	return m, nil
}

// mark marks n pages as used. It reports whether they exist and were not marked before.
func (w *walker) mark(id, n uint64) bool {
	if end := uint64(len(w.seen)); id >= end || n > end-id {
		w.report("page %d: beyond the end", id)
		return false
	}
	for i := id; i < id+n; i++ {
		if w.seen[i] {
			w.report("page %d: used twice", i)
			return false
		}
		w.seen[i] = true
	}
	return true
}

// read returns a page with its overflow pages, or nil.
func (w *walker) read(id uint64) (data []byte) {
	header := make([]byte, pageHeader)
	if id >= uint64(len(w.seen)) {
		w.report("page %d: beyond the end", id)
		return nil
	}
	if _, err := w.file.ReadAt(header, int64(id)*w.pageSize); err != nil {
		w.report("page %d: %w", id, err)
		return nil
	}
	n := uint64(native.Uint32(header[12:])) + 1
	if native.Uint64(header) != id {
		w.report("page %d: has another number", id)
		return nil
	}
	if !w.mark(id, n) {
		return nil
	}
	data = make([]byte, int64(n)*w.pageSize)
	if _, err := w.file.ReadAt(data, int64(id)*w.pageSize); err != nil {
		w.report("page %d: %w", id, err)
		return nil
	}
	return data
}

// page walks the tree below a page, whose keys are at least low and less than high. Only the
// leaves check this, because wrong keys in a branch make leaves wrong.
func (w *walker) page(id uint64, low, high []byte, leaf leafFunc) error {
	if w.depth++; w.depth > maxDepth {
		w.report("page %d: too deep", id)
		w.depth--
		return nil
	}
	defer func() { w.depth-- }()
	data := w.read(id)
	if data == nil {
		return nil
	}
	switch native.Uint16(data[8:]) {
	case branchPage:
		return w.branch(id, data, high, leaf)
	case leafPage:
		return w.leaf(id, data, low, high, leaf)
	}
	w.report("page %d: of the wrong kind", id)
	return nil
}

// elements returns the elements of a page.
func (w *walker) elements(id uint64, data []byte, keyOf func(e []byte) (pos, key, value uint32)) (parts []element) {
	count := uint64(native.Uint16(data[10:]))
	if pageHeader+count*elementSize > uint64(len(data)) {
		w.report("page %d: more elements than fit", id)
		return nil
	}
	for i := range count {
		at := pageHeader + i*elementSize
		e := data[at : at+elementSize]
		pos, key, value := keyOf(e)
		start := at + uint64(pos)
		if start+uint64(key)+uint64(value) > uint64(len(data)) {
			w.report("page %d: element %d: beyond the end of the page", id, i)
			continue
		}
		parts = append(parts, element{head: e, key: data[start : start+uint64(key)], value: data[start+uint64(key) : start+uint64(key)+uint64(value)]})
	}
	return parts
}

type element struct{ head, key, value []byte }

func (w *walker) branch(id uint64, data, high []byte, leaf leafFunc) error {
	parts := w.elements(id, data, func(e []byte) (pos, key, value uint32) {
		return native.Uint32(e), native.Uint32(e[4:]), 0
	})
	if len(parts) == 0 {
		w.report("page %d: empty", id)
	}
	for i, e := range parts {
		end := high
		if i+1 < len(parts) {
			end = parts[i+1].key
		}
		if err := w.page(native.Uint64(e.head[8:]), e.key, end, leaf); err != nil {
			return err
		}
	}
	return nil
}

func within(key, low, high []byte) bool {
	return bytes.Compare(key, low) >= 0 && (high == nil || bytes.Compare(key, high) < 0)
}

// leafFunc is given what a leaf holds.
type leafFunc func(id uint64, e element) error

func (w *walker) leaf(id uint64, data, low, high []byte, leaf leafFunc) error {
	parts := w.elements(id, data, func(e []byte) (pos, key, value uint32) {
		return native.Uint32(e[4:]), native.Uint32(e[8:]), native.Uint32(e[12:])
	})
	for i, e := range parts {
		if !within(e.key, low, high) || i > 0 && bytes.Compare(parts[i-1].key, e.key) >= 0 {
			w.report("page %d: element %d: out of order", id, i)
		}
		if err := leaf(id, e); err != nil {
			return err
		}
	}
	return nil
}

// rootLeaf checks the file's only bucket. While the bucket is small it has no page, and its
// contents follow its header.
func (w *walker) rootLeaf(id uint64, e element) error {
	const bucketHeader = 16
	if native.Uint32(e.head) != isBucket || !bytes.Equal(e.key, bucketName) || len(e.value) < bucketHeader {
		w.report("page %d: not the bucket of events", id)
		return nil
	}
	if root := native.Uint64(e.value); root != 0 {
		return w.page(root, nil, nil, w.recordLeaf)
	}
	inline := e.value[bucketHeader:]
	if len(inline) < pageHeader || native.Uint16(inline[8:]) != leafPage {
		w.report("page %d: bucket without a page", id)
		return nil
	}
	return w.leaf(id, inline, nil, nil, w.recordLeaf)
}

func (w *walker) recordLeaf(id uint64, e element) error {
	if native.Uint32(e.head) != 0 {
		w.report("page %d: a bucket among the events", id)
		return nil
	}
	if _, err := decode(e.key, e.value); err != nil {
		w.report("page %d: event: %w", id, err)
	}
	return w.visit(e.key, e.value)
}

// checkFree checks that each page is either used or free. bbolt would overwrite a used page
// that is also free.
func (w *walker) checkFree() {
	data := w.read(w.meta.freelist)
	if data == nil {
		return
	}
	if native.Uint16(data[8:]) != freelistPage {
		w.report("page %d: not the list of free pages", w.meta.freelist)
		return
	}
	ids := data[pageHeader:]
	count := uint64(native.Uint16(data[10:]))
	if count == 0xFFFF {
		count, ids = native.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids))/8 {
		w.report("page %d: more free pages than fit", w.meta.freelist)
		return
	}
	for i := range count {
		w.mark(native.Uint64(ids[8*i:]), 1)
	}
	for id, used := range w.seen {
		if !used {
			w.report("page %d: neither used nor free", id)
		}
	}
}
