package colstore

import (
	"encoding/binary"
	"errors"
)

// ErrDamaged is returned for encoded bytes that cannot be decoded.
var ErrDamaged = errors.New("damaged: restore a backup")

// encoder encodes numbers and texts.
type encoder []byte

func (e *encoder) number(n uint64) { *e = binary.AppendUvarint(*e, n) }

func (e *encoder) bytes(s string) {
	e.number(uint64(len(s)))
	*e = append(*e, s...)
}

// front encodes text relative to last: the length of their common prefix and the remaining
// bytes. Sorted texts take the least room.
func (e *encoder) front(last, text string) {
	shared := 0
	for shared < min(len(last), len(text)) && last[shared] == text[shared] {
		shared++
	}
	e.number(uint64(shared))
	e.bytes(text[shared:])
}

// indexes encodes the indexes of a dictionary's rows.
func (e *encoder) indexes(rows []uint32) {
	e.number(uint64(len(rows)))
	for _, index := range rows {
		e.number(uint64(index))
	}
}

func (e *encoder) tally(t Tally) {
	e.number(uint64(t.Count))
	e.number(uint64(t.Visitors))
}

// decoder decodes the bytes of an encoder. It accepts any bytes: after the first invalid ones
// it returns zero values, and err reports ErrDamaged.
type decoder struct {
	data []byte // not yet decoded
	bad  bool
}

func (d *decoder) more() bool { return len(d.data) > 0 && !d.bad }

func (d *decoder) err() error {
	if d.bad {
		return ErrDamaged
	}
	return nil
}

func (d *decoder) number() uint64 {
	if len(d.data) > 0 && d.data[0] < 0x80 && !d.bad {
		n := d.data[0]
		d.data = d.data[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(d.data)
	if size <= 0 || d.bad {
		d.bad, d.data = true, nil
		return 0
	}
	d.data = d.data[size:]
	return n
}

// length decodes the number of following items. Each item takes at least a byte.
func (d *decoder) length() int {
	n := d.number()
	if n > uint64(len(d.data)) {
		d.bad, d.data = true, nil
		return 0
	}
	return int(n)
}

// bytes decodes a byte string. It shares memory with the decoder.
func (d *decoder) bytes() []byte {
	n := d.length()
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

// front decodes the text that follows last, and overwrites last.
func (d *decoder) front(last []byte) []byte {
	shared := d.number()
	added := d.bytes()
	if shared > uint64(len(last)) || d.bad {
		d.bad, d.data = true, nil
		return last[:0]
	}
	return append(last[:shared], added...)
}

// short decodes a number of one or two bytes. The size of others is 0.
func short(data []byte) (n uint64, size int) {
	switch {
	case len(data) > 0 && data[0] < 0x80:
		return uint64(data[0]), 1
	case len(data) > 1 && data[1] < 0x80:
		return uint64(data[0]&0x7f) | uint64(data[1])<<7, 2
	}
	return 0, 0
}

// numbers decodes numbers. Reports decode millions of them, so the loop holds the bytes in a
// variable: writing them through d would pass the garbage collector's write barrier.
func numbers[N uint32 | uint64 | int64](d *decoder, into []N) (greatest uint64) {
	data := d.data
	for i := range into {
		n, size := short(data)
		if size == 0 {
			if n, size = binary.Uvarint(data); size <= 0 || d.bad {
				d.bad, data = true, nil
				break
			}
		}
		into[i], greatest, data = N(n), max(greatest, n), data[size:]
	}
	d.data = data
	return greatest
}

// indexes decodes indexes of a dictionary with this many values.
func (d *decoder) indexes(values int) []uint32 {
	rows := make([]uint32, d.length())
	if greatest := numbers(d, rows); len(rows) > 0 && greatest >= uint64(values) {
		d.bad, d.data = true, nil
		clear(rows)
	}
	return rows
}

func (d *decoder) tally() Tally {
	return Tally{Count: int64(d.number()), Visitors: int64(d.number())}
}
